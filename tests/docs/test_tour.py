"""The tour of the README, command by command, as a reader would type it."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from support import preloaded
from support.adapters import openclaw_workspaces
from support.paths import ROOT

README = ROOT / "README.md"


def _commands() -> list[str]:
    """Return the commands after `$` in the console blocks of the tour."""
    tour = README.read_text().split("## A five-minute tour", 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(r"```console\n(.*?)```", tour, flags=re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_every_command_of_the_tour_works_in_the_order_it_is_told(isolated_home: Path) -> None:
    openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    programs = sysconfig.get_path("scripts")
    environment = {"HOME": str(isolated_home), "PATH": f"{programs}:{os.environ['PATH']}", "TERM": "dumb"}
    environment |= {name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "LANG", "LC_"))}
    commands = _commands()
    assert len(commands) > 15
    assert commands[0].startswith("lifeboat ")
    for number, command in enumerate(commands):
        done = _run(command, isolated_home, environment, by_exec=number == 0)
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"


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
