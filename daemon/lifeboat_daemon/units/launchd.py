"""The service as a launch agent of macOS. The tests of this project check its file only; they do not run on a Mac."""

from __future__ import annotations

import os
import plistlib
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers.expat import ExpatError

from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_daemon.units.service_unit import (
    PATIENCE,
    START_PATIENCE,
    ToolResult,
    UnitProgram,
    UnitState,
    describe_unit_change,
    read_unit_file,
    refuse_other_home,
    require_success,
    run_tool,
    write_unit_file,
)

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context

LABEL = "agent-lifeboat.service"
_PAUSES = (0.2, 0.5, 1.0, 2.0)
"""Seconds."""
_PID = re.compile(r"^\s*pid = (\d+)$", re.MULTILINE)
_STATE = re.compile(r"^\s*state = (.+)$", re.MULTILINE)


def render_agent_plist(program: UnitProgram) -> bytes:
    """Return the property list of the launch agent."""
    return plistlib.dumps(_document(program))


def _document(program: UnitProgram) -> dict[str, Any]:
    return {
        "Label": LABEL,
        "ProgramArguments": list(program.command),
        "EnvironmentVariables": dict(program.variables),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 15,
        "ExitTimeOut": 60,
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 5,
        "Umask": 0o077,
        "WorkingDirectory": "/",
        "HardResourceLimits": {"Core": 0},
        "SoftResourceLimits": {"Core": 0},
    }


class Launchd:
    """launchd, for this user."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def path(self) -> Path:
        return self._context.user_home / "Library" / "LaunchAgents" / f"{LABEL}.plist"

    def text(self) -> str:
        return render_agent_plist(UnitProgram.of(self._context)).decode()

    def install(self, *, start: bool) -> list[str]:
        before = self.state()
        refuse_other_home(before, self._context)
        changed = write_unit_file(self._context, self.path, self.text().encode())
        done = [describe_unit_change(self.path, changed=changed), "The daemon starts when you log in."]
        if start:
            if before.running and changed:
                self.stop()
            self.start()
            done.append("The daemon is running.")
        return done

    def uninstall(self) -> list[str]:
        if not self.path.exists():
            return ["No service is installed."]
        self._ask("bootout", self._target(), patience=START_PATIENCE)
        with convert_system_errors():
            self._context.files.remove(self.path)
        return ["The service is stopped and will not start again.", f"{self.path} was removed."]

    def state(self) -> UnitState:
        text = read_unit_file(self._context, self.path)
        program = None if text is None else _program_of(text)
        if text is None or program is None:
            return UnitState("launchd")
        ran = self._ask("print", self._target())
        pid, state = _PID.search(ran.output), _STATE.search(ran.output)
        current = text.encode() == render_agent_plist(
            UnitProgram(UnitProgram.of(self._context).command, program.variables)
        )
        return replace(
            UnitState.of_file(self._context, "launchd", self.path, program, current=current),
            enabled=None if ran.status is None else ran.status == 0,
            running=None if ran.status is None else bool(state and state[1].strip() == "running"),
            pid=int(pid[1]) if pid else None,
            problem=ran.said if ran.status is None else None,
        )

    def start(self) -> None:
        """Start the agent. If it is not loaded, loading starts it; launchd refuses that for a moment after
        `bootout`."""
        if self._ask("kickstart", self._target(), patience=START_PATIENCE).status == 0:
            return
        for pause in (*_PAUSES, None):
            ran = self._ask("bootstrap", self._domain(), str(self.path), patience=START_PATIENCE)
            if ran.status == 0 or pause is None:
                break
            time.sleep(pause)
        require_success(ran, "launchd could not start the service")

    def stop(self) -> None:
        """Stop the agent by unloading it: after `kill` alone, launchd would start it again."""
        require_success(
            self._ask("bootout", self._target(), patience=START_PATIENCE), "launchd could not stop the service"
        )

    def _domain(self) -> str:
        return f"gui/{os.getuid() if hasattr(os, 'getuid') else 0}"

    def _target(self) -> str:
        return f"{self._domain()}/{LABEL}"

    def _ask(self, *arguments: str, patience: float = PATIENCE) -> ToolResult:
        return run_tool(self._context, ("/bin/launchctl", *arguments), patience=patience)


def _program_of(text: str) -> UnitProgram | None:
    """Return the program of a property list, or None if the list is damaged."""
    try:
        document = plistlib.loads(text.encode())
        variables = document.get("EnvironmentVariables", {})
        return UnitProgram(
            tuple(map(str, document["ProgramArguments"])), {str(k): str(v) for k, v in variables.items()}
        )
    except (plistlib.InvalidFileException, ExpatError, KeyError, ValueError, AttributeError):
        return None
