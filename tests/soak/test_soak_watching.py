"""Watching at size: tens of thousands of folders and files, with figures on standard output (`pytest -s`)."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_daemon.watch.agent_watcher import CHANGED, RESCAN
from support.daemon.watching import Process, in_process
from support.waiting import until

pytestmark = [
    pytest.mark.skipif(not Path("/proc/sys/fs/inotify").exists(), reason="measures inotify"),
]
MIB = 1 << 20


@pytest.fixture
def forest(tmp_path: Path) -> Iterator[Path]:
    """20,200 folders."""
    made = tmp_path / "forest"
    plant(made, 200)
    yield made


def plant(folder: Path, hundreds: int) -> None:
    for number in range(hundreds):
        for below in range(100):
            os.makedirs(folder / str(number) / str(below))


def until_watched(process: Process, folders: int) -> None:
    while (found := process.ask())["watches"] != folders or found["mode"] != "events":
        time.sleep(0.05)


def until_idle(process: Process) -> None:
    """Until a process takes no CPU; a livelock never ends."""
    until(lambda: idle_cpu(process, 1) <= 0.05, "the process to come to rest")


def idle_cpu(process: Process, seconds: float) -> float:
    """Seconds of CPU that a process takes in a time in which nothing happens."""
    before = process.ask("figures")["cpu"]
    time.sleep(seconds)
    return float(process.ask("figures")["cpu"] - before)


def test_20000_folders_are_watched_without_holding_up_the_loop_and_cost_nothing_then(
    forest: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    with in_process(tmp_path / "empty") as process:
        process.wait(lambda lines: bool(lines))
        before, began = process.ask("figures"), time.monotonic()
        # The loop answers while the folders are still being walked through.
        assert process.ask(f"follow {forest}") == {"was": "Lifeboat is still setting up the watches"}
        until_watched(process, 20_201)
        took, after = time.monotonic() - began, process.ask("figures")
        until_idle(process)
        idle = idle_cpu(process, 5)
        print(
            f"\n20,201 folders: {took:.2f} s, {after['cpu'] - before['cpu']:.2f} s of CPU, "
            f"{(after['rss'] - before['rss']) / MIB:.1f} MiB; then {idle:.3f} s of CPU in 5 s"
        )
        assert idle < 0.25


def test_an_overflow_with_20000_folders_ends(forest: Path) -> None:
    with in_process(forest) as process:
        until_watched(process, 20_201)
        process.lines.clear()
        process.process.send_signal(signal.SIGSTOP)
        for number in range(8000):
            (forest / "0" / "0" / f"{number}.md").write_text("x")
        before = time.monotonic()
        process.process.send_signal(signal.SIGCONT)
        process.wait(lambda lines: RESCAN in lines)
        heard = time.monotonic() - before
        until_watched(process, 20_201)
        until_idle(process)
        idle = idle_cpu(process, 5)
        print(f"\noverflow with 20,201 folders: heard after {heard:.2f} s; at rest {idle:.3f} s of CPU in 5 s")
        assert idle < 0.25
        process.lines.clear()
        (forest / "199" / "99" / "note.md").write_text("x")
        process.wait(lambda lines: CHANGED in lines)


def test_20000_new_files_are_told_a_few_times(tmp_path: Path) -> None:
    with in_process(tmp_path) as process:
        process.wait(lambda lines: bool(lines))
        process.lines.clear()
        before, began = process.ask("figures"), time.monotonic()
        for number in range(20_000):
            (tmp_path / f"{number}.md").write_text("x")
        wrote = time.monotonic() - began
        idle_cpu(process, 1)
        told, after = [line for line in process.lines if isinstance(line, str)], process.ask("figures")
        print(f"\n20,000 files written in {wrote:.1f} s: told {len(told)} times, "
              f"{after['cpu'] - before['cpu']:.1f} s of CPU")  # fmt: skip
        assert CHANGED in told and len(told) < 20_000 / 20


def test_what_5000_folders_more_cost(tmp_path: Path) -> None:
    forest = tmp_path / "forest"
    plant(forest, 1)
    with in_process(forest) as process:
        process.wait(lambda lines: bool(lines))
        for hundreds in (50, 100, 150):
            before = process.ask("figures")["rss"]
            more = forest / f"more{hundreds}"
            plant(more, 50)
            found = process.ask()
            while found["watches"] < 102 + (hundreds // 50) * 5051:
                time.sleep(0.05)
                found = process.ask()
            idle_cpu(process, 1)
            grown = (process.ask("figures")["rss"] - before) / MIB
            print(f"\n5,000 folders more, made while watched: {grown:.1f} MiB")
            assert grown < 20
