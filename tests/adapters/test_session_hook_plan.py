"""The command line of a session hook: what a shell runs for it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lifeboat_adapters.session_hook_plan import HookOrder, find_order_problem, notified_agent_of
from support.patience import patience
from support.waiting import until

AGENT = "01990000-0000-7000-8000-000000000001"


def _run(line: str, folder: Path) -> str:
    """Run a line as a runtime does whose own environment names another home. Returns what the program wrote down."""
    environment = {"PATH": os.environ["PATH"], "LIFEBOAT_HOME": "/srv/another"}
    ran = subprocess.run(["/bin/sh", "-c", line], env=environment, capture_output=True, timeout=patience())
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    told = folder / "told"
    return told.read_text() if told.exists() else ""


def _program(folder: Path) -> Path:
    program = folder / "a folder's" / "lifeboat"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$* ${{LIFEBOAT_HOME-usual}}" | tee {folder}/told\necho trouble >&2\n')
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(("home", "said"), [(None, "usual"), (Path("/srv/ada's home"), "/srv/ada's home")])
def test_the_line_starts_the_program_silently_with_the_right_home(tmp_path: Path, home: Path | None, said: str) -> None:
    order = HookOrder(AGENT, (str(_program(tmp_path)), "-P"), home)
    expected = f"-P sync {AGENT} --unless-paused --background {said}\n"
    _run(order.shell_line, tmp_path)
    until(lambda: _run(":", tmp_path) == expected, "nothing was started")


def test_the_line_does_nothing_once_the_program_is_gone(tmp_path: Path) -> None:
    order = HookOrder(AGENT, (str(tmp_path / "gone"),))
    assert _run(order.shell_line, tmp_path) == ""


def test_a_problem_is_named_for_each_way_in_which_a_hook_reports_nothing(tmp_path: Path) -> None:
    order = HookOrder(AGENT, (str(_program(tmp_path)),))
    told = notified_agent_of(order)
    assert find_order_problem(told, order) == ""
    assert find_order_problem(None, order) == "no Lifeboat hook is installed, so the end of a session is not reported"
    assert "another agent" in find_order_problem(told, HookOrder("another", order.program))
    assert "another LIFEBOAT_HOME" in find_order_problem(told, HookOrder(AGENT, order.program, tmp_path))
    gone = HookOrder(AGENT, (str(tmp_path / "gone"),))
    assert (
        find_order_problem(notified_agent_of(gone), gone) == f"the hook starts {tmp_path}/gone, which no longer exists"
    )
