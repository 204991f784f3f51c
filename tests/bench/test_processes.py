"""What the benchmarks read of processes, and how they compare it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from benchmarks import idle_rows, measure, processes, served
from benchmarks.idle_rows import Idle
from benchmarks.processes import Effort, Memory
from benchmarks.served import Moments

from lifeboat_alf.seams.crash_points import CrashPoint
from support.short_folders import short

__all__ = ["short"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

_PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
print(child.pid, flush=True)
sys.stdin.read()
child.communicate()
"""


@contextmanager
def _family() -> Iterator[tuple[int, int]]:
    """A process that has started one, until the end of the block."""
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        yield parent.pid, int(parent.stdout.readline())
        parent.communicate()


def test_a_family_is_a_process_and_what_it_started() -> None:
    with _family() as (parent, child):
        assert processes.family(parent) == [parent, child]
        assert processes.rss(parent) > 0 < processes.peak(child)
        assert processes.memory(parent).rss > processes.rss(child)
        assert processes.effort(parent).switches > 0
    assert processes.rss(parent) == processes.peak(child) == 0


def test_processes_that_end_while_they_are_looked_at_are_no_failure() -> None:
    """Which moment it is that one ends in nobody can choose, so many of them do: each is hit dozens of times."""
    with subprocess.Popen(["sh", "-c", "while true; do (true)& (true)& wait; done"]) as parent:
        try:
            seen = {len(processes.family(parent.pid)) for _ in range(3000)}
        finally:
            parent.kill()
    assert max(seen) > 1


def test_time_that_a_process_spends_is_counted_and_so_is_that_of_children_that_ended() -> None:
    before = processes.effort(os.getpid())
    busy = "import time\nwhile time.process_time() < 0.4: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert processes.effort(os.getpid()).since(before).cpu >= 0.2


def test_a_socket_to_a_network_is_told_from_one_of_the_file_system(short: Path) -> None:
    before = processes.inet_sockets(os.getpid())
    assert before is not None
    with socket.socket(socket.AF_UNIX) as local, socket.socket() as network:
        local.bind(str(short / "socket"))
        local.listen()
        assert processes.inet_sockets(os.getpid()) == before
        network.bind(("127.0.0.1", 0))
        network.listen()
        found = processes.inet_sockets(os.getpid())
        assert found is not None and len(found - before) == 1


def test_moments_are_those_since_the_last_look_in_the_order_in_which_they_were(tmp_path: Path) -> None:
    moments = Moments(tmp_path / "moments")
    with moments.file.open("a") as stream:
        stream.write(f"{CrashPoint.DAEMON_QUEUED.value} 1.0\n")
        stream.flush()
        moments.forget()
        stream.write(
            f"{CrashPoint.CAPTURE_COMMITTED.value} 3.5\n{CrashPoint.DAEMON_QUEUED.value} 2.0\n"
            f"{CrashPoint.DAEMON_ANSWERED.value}"
        )
        stream.flush()
        assert moments.all() == [(CrashPoint.DAEMON_QUEUED.value, 2.0), (CrashPoint.CAPTURE_COMMITTED.value, 3.5)]
        stream.write(" 4.0\n")
    assert moments.of_capture() == (2.0, 3.5)


def _idle(**other: float) -> Idle:
    return Idle(
        seconds=10.0,
        memory=Memory(int(other.get("rss", 30 << 20)), None),
        effort=Effort(other.get("cpu", 0.0), int(other.get("switches", 0)), 0),
        sockets=int(other.get("sockets", 0)),
        touched=int(other.get("touched", 0)),
        started=0,
    )


@pytest.mark.parametrize(
    "over", [{}, {"rss": 70 << 20}, {"cpu": 0.01}, {"switches": 8}, {"sockets": 1}, {"touched": 1}]
)
def test_whatever_an_idle_service_does_too_much_of_misses_a_budget(over: dict[str, float]) -> None:
    verdicts = [row.verdict for row in idle_rows.rows("idle", _idle(**over), _idle(cpu=1.0))]
    assert verdicts.count("miss") == len(over)
    assert verdicts.count("pass") == 5 - len(over)


def test_without_another_tool_an_idle_service_is_held_against_its_budgets_all_the_same() -> None:
    rows = list(idle_rows.rows("idle", _idle(), None))
    assert {row.theirs for row in rows} == {"not installed"}
    assert [row.verdict for row in rows].count("pass") == 5


def test_things_are_measured_in_turn() -> None:
    order: list[str] = []
    found = measure.in_turn(2, lambda n: order.append(f"a{n}"), None, lambda n: order.append(f"b{n}"))
    assert order == ["a0", "b0", "a1", "b1"]
    assert [None if times is None else len(times) for times in found] == [2, None, 2]


def test_waiting_for_what_never_comes_ends() -> None:
    with pytest.raises(SystemExit, match="waited 0 seconds for the moon"):
        served.until(lambda: None, "the moon", patience=0)
