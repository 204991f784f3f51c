"""Child processes: they end in time with all that they started, and what they print stays within its bound."""

from __future__ import annotations

import ast
import os
import sys
import warnings
from pathlib import Path

import pytest

from lifeboat_keys.child_processes import OUTPUT_BYTES, ChildResult, run_child, start_socket_child
from support.patience import patience
from support.waiting import until

ROOT = Path(__file__).parents[2]
PACKAGES = ("alf", "keys", "vault", "adapters", "formats", "core", "daemon", "cli", "endpoint", "tui")
STARTING = {f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen")}
STARTING |= {"asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell"}
RUNNER = "keys/lifeboat_keys/child_processes.py"
PAGER = "cli/lifeboat_cli/terminal/pager.py"
"""A pager is an interactive program of the user. It has the terminal until the user ends it."""
DETACHED = "core/lifeboat_core/processes/own_interpreter.py"
"""Starts a sync that outlives the hook which asked for it, so nothing waits for it."""
PLUGIN = "adapters/lifeboat_adapters/hermes/hook/plugin_code.py"
"""Runs inside of Hermes, where Lifeboat cannot be imported."""
FOREGROUND = "cli/lifeboat_cli/commands/daemon_commands.py"
"""On Windows `daemon run` starts the daemon in the foreground, with the streams of the terminal."""


def run_python(text: str, *, seconds: float = 0.0, end_of_output: int | None = None, input: bytes = b"") -> ChildResult:
    command = (sys.executable, "-c", text)
    limit = seconds or patience()
    return run_child(command, environment=os.environ, seconds=limit, input=input, end_of_output=end_of_output)


def test_output_errors_and_status_are_told_apart() -> None:
    found = run_python("import sys; print(input()); print('no', file=sys.stderr); sys.exit(3)", input=b"ada")
    assert (found.exit_status, found.output.strip(), found.errors.strip()) == (3, b"ada", b"no")


def test_a_program_is_talked_with_over_one_socket_and_ends_with_it() -> None:
    text = (
        "import sys; sys.stdout.write(sys.stdin.readline().upper()); sys.stdout.flush(); sys.stdin.read();"
        "print('bye', file=sys.stderr)"
    )
    child = start_socket_child((sys.executable, "-c", text), environment=os.environ, keeps_terminal=False)
    child.connection.settimeout(patience())
    child.connection.sendall(b"ada\n")
    assert child.connection.recv(10) == b"ADA\n"
    for _ in range(2):
        found = child.finish(patience())
        assert (found.exit_status, found.errors.strip(), found.problem) == (0, b"bye", "")


@pytest.mark.parametrize("keeps_terminal", [True, False])
def test_a_program_that_does_not_end_with_its_socket_is_killed(keeps_terminal: bool) -> None:
    text = "import sys, time; sys.stderr.write('x' * 100_000 + 'end'); sys.stderr.flush(); time.sleep(600)"
    child = start_socket_child((sys.executable, "-c", text), environment=os.environ, keeps_terminal=keeps_terminal)
    until(lambda: len(child._errors.data) == 1 << 14 and child._errors.data.endswith(b"end"))
    found = child.finish(0.5)
    assert found.timed_out and found.exit_status is None
    assert not _is_running(child.pid)


def test_a_program_for_a_socket_that_is_not_there_raises_and_leaves_nothing_open() -> None:
    with pytest.raises(FileNotFoundError), warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        start_socket_child(["/no/such/program"], environment={}, keeps_terminal=False)


def test_a_program_that_is_not_there_is_a_problem_and_no_exception() -> None:
    found = run_child(["/no/such/program"], environment={}, seconds=1.0)
    assert found.exit_status is None and found.problem.startswith("could not be started")


def test_a_program_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path) -> None:
    text = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
time.sleep(600)
"""
    found = run_python(text, seconds=5.0)
    assert found.timed_out and found.exit_status is None
    pid = int((tmp_path / "pid").read_text())
    until(lambda: not _is_running(pid))


def test_a_program_that_reads_nothing_of_a_large_input_still_has_a_time_limit() -> None:
    assert run_python("import time; time.sleep(600)", seconds=2.0, input=bytes(1 << 20)).timed_out


def test_a_program_that_prints_without_end_is_a_problem() -> None:
    found = run_python("import sys\nwhile True: sys.stdout.buffer.write(bytes(1 << 16))")
    assert found.exit_status is None and str(OUTPUT_BYTES) in found.problem


def test_only_the_end_of_a_long_output_is_kept_where_it_is_asked_for() -> None:
    found = run_python("for n in range(1_000_000): print(n)", end_of_output=20)
    assert found.exit_status == 0 and len(found.output) == 20 and found.output.endswith(b"999999\n")


def test_a_process_that_a_program_leaves_running_is_not_waited_for() -> None:
    text = """
import subprocess, sys
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid)
"""
    found = run_python(text)
    assert found.exit_status == 0 and not found.timed_out
    os.kill(int(found.output), 9)


def test_no_other_module_starts_a_process() -> None:
    found: set[str] = set()
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in STARTING:
                found.add(str(path.relative_to(ROOT)))
    assert found == {RUNNER, FOREGROUND, PAGER, DETACHED, PLUGIN}


def _is_running(pid: int) -> bool:
    """Whether a process is there and has not ended: one that nobody has waited for yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
