"""The tour of the README, command by command, as a reader would type it."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from pathlib import Path

from support.adapters import openclaw_workspaces
from support.paths import ROOT

README = ROOT / "README.md"


def _commands() -> list[str]:
    """What stands after `$` in the console blocks of the tour."""
    tour = README.read_text().split("## A five-minute tour", 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(r"```console\n(.*?)```", tour, flags=re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_every_command_of_the_tour_works_in_the_order_it_is_told(isolated_home: Path) -> None:
    openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    programs = sysconfig.get_path("scripts")
    environment = {"HOME": str(isolated_home), "PATH": f"{programs}:{os.environ['PATH']}", "TERM": "dumb"}
    commands = _commands()
    assert len(commands) > 15
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=isolated_home,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
