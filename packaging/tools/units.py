"""The service for other packagers: unit, launch agent and task as the program itself writes them, with placeholders.

`@PYTHON@` stands for the interpreter that has Lifeboat installed, `@USER@` (Windows) for who logs on.
"""

from __future__ import annotations

import plistlib
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from lifeboat_daemon.units import launchd, systemd, task_scheduler
from lifeboat_daemon.units.service_unit import UnitProgram

PROGRAM = UnitProgram(("@PYTHON@", "-I", "-m", "lifeboat_daemon.service", "--wait"))
FILES: dict[str, Callable[[], bytes]] = {
    "lifeboat.service": lambda: systemd.render_unit(PROGRAM).encode(),
    f"{launchd.LABEL}.plist": lambda: launchd.render_agent_plist(PROGRAM),
    "lifeboat-task.xml": lambda: task_scheduler.render_task(PROGRAM, "@USER@"),
}
_TASK = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
_TASK_NEEDS = (
    "RegistrationInfo",
    "Triggers/LogonTrigger/UserId",
    "Principals/Principal/UserId",
    "Settings/ExecutionTimeLimit",
    "Settings/RestartOnFailure/Interval",
    "Settings/RestartOnFailure/Count",
    "Actions/Exec/Command",
    "Actions/Exec/Arguments",
)


def write(target: Path) -> list[Path]:
    """Write all three into a folder, each found to be sound; returns them. Raises RuntimeError."""
    made = []
    for name, render in FILES.items():
        body = render()
        wrong = findings(name, body)
        if wrong:
            raise RuntimeError(f"{name}: {'; '.join(wrong)}")
        path = target / name
        path.write_bytes(body)
        made.append(path)
    return made


def findings(name: str, body: bytes) -> list[str]:
    """What is wrong with one of these files; empty when nothing is."""
    if name.endswith(".plist"):
        return _launch_agent(body)
    return _task(body) if name.endswith(".xml") else _unit(body.decode())


def _launch_agent(body: bytes) -> list[str]:
    document = plistlib.loads(body)
    found = [f"no {key}" for key in ("Label", "ProgramArguments", "RunAtLoad", "KeepAlive") if key not in document]
    if document.get("ProgramArguments", [""])[0] != PROGRAM.command[0]:
        found.append("it starts another program")
    if document.get("Umask") != 0o077:
        found.append("other users may read its files")
    return found


def _task(body: bytes) -> list[str]:
    text = body.decode("utf-16")
    root = ElementTree.fromstring(text.encode("utf-16"))
    found = [] if root.tag == f"{_TASK}Task" else [f"the document is a {root.tag}"]
    for path in _TASK_NEEDS:
        element = root.find("/".join(f"{_TASK}{part}" for part in path.split("/")))
        if element is None or not (len(element) or (element.text or "").strip()):
            found.append(f"no {path}")
    return found


def _unit(text: str) -> list[str]:
    sections = [line for line in text.splitlines() if line.startswith("[")]
    found = [] if sections == ["[Unit]", "[Service]", "[Install]"] else [f"sections: {sections}"]
    settings = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    for name in ("Description", "Type", "ExecStart", "Restart", "WatchdogSec", "MemoryMax", "WantedBy"):
        if not settings.get(name):
            found.append(f"no {name}")
    if not settings.get("ExecStart", "").startswith(PROGRAM.command[0]):
        found.append("it starts another program")
    return found
