"""The tour of the README, command by command, as a reader would type it."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from support import preloaded
from support.paths import ROOT

README = ROOT / "README.md"


_VARYING = (
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "ID"),
    (r"\b[0-9a-f]{32}\b", "KEY"),
)
"""What differs between two runs of the same command."""


def _blocks() -> list[tuple[str, list[str]]]:
    """Return the commands of the tour with the lines of output that the page shows, in order."""
    tour = README.read_text().split("## Five commands", 1)[1].split("## Your key", 1)[0]
    shown: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", tour, flags=re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                shown.append((line.removeprefix("$ "), []))
            else:
                shown[-1][1].append(line)
    return shown


def _make_workspace(folder: Path) -> None:
    (folder / "memory").mkdir(parents=True)
    (folder / "IDENTITY.md").write_text("# IDENTITY\n- **Name:** Juniper\n")
    (folder / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
    (folder / "MEMORY.md").write_text("# Memory\n\n## Garden\n\nBen likes tulips.\n")
    (folder / "memory" / "2026-11-20.md").write_text("# Friday\n\nWe planted the tulips.\n")


def _comparable(text: str, home: Path) -> list[str]:
    text = text.replace(str(home), "/srv/ada")
    for pattern, name in _VARYING:
        text = re.sub(pattern, name, text)
    return text.splitlines()


def test_every_command_of_the_tour_works_in_the_order_it_is_told_and_says_what_the_page_shows(
    isolated_home: Path,
) -> None:
    _make_workspace(isolated_home / ".openclaw" / "workspace")
    programs = sysconfig.get_path("scripts")
    environment = {"HOME": str(isolated_home), "PATH": f"{programs}:{os.environ['PATH']}", "TERM": "dumb"}
    environment |= {name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "LANG", "LC_"))}
    blocks = _blocks()
    assert len(blocks) > 15 and sum(bool(expected) for _, expected in blocks) >= 6
    for number, (command, expected) in enumerate(blocks):
        done = _run(command, isolated_home, environment, by_exec=number == 0)
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        if expected:
            said = _comparable(f"{done.stdout}{done.stderr}", isolated_home)
            assert said == _comparable("\n".join(expected), isolated_home), f"$ {command}"


def _run(command: str, folder: Path, environment: dict[str, str], *, by_exec: bool) -> subprocess.CompletedProcess[str]:
    """Run a command with bash. The program is a fork of the preloader, unless `by_exec`."""

    def bash(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["bash", "-c", code], stdin=subprocess.DEVNULL, **surroundings)

    surroundings: Any = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
    is_single = command.startswith("lifeboat ") and not set(command) & set("|&;<>")
    if by_exec or not is_single:
        return bash(command)
    words = bash(f"printf '%s\\0' {command}").stdout.split("\0")[1:-1]
    return preloaded.run(words, stdin=subprocess.DEVNULL, **surroundings)
