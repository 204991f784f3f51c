"""A watcher for tests: in the test's own loop, or in a process of its own that is stopped, or has no room.

As a program: `python watching.py FOLDER` watches FOLDER as `ada` and says what it hears, a line of JSON each. It reads
`follow FOLDER`, `coverage`, `figures`, `check`, `retry` (what found no room), `write TEXT FILE`, and ends with its
input.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_daemon.watch import folder_watches, loop_mailbox
from lifeboat_daemon.watch.agent_watcher import CHANGED, AgentWatcher
from lifeboat_daemon.watch.watch_plan import PlannedFolder, WatchPlan
from lifeboat_daemon.watch.watch_signals import WatchCoverage, WatchSignal
from support.patience import patience
from support.waiting import until_async

ADA = "ada"
FENCE = "fence"


class Watching:
    """A watcher with its signals. For every followed agent, a listener waits for the file `fence` in the same folder.
    Once that event has arrived, so have all earlier ones."""

    def __init__(self) -> None:
        self.told: list[WatchSignal] = []
        self.watcher = AgentWatcher(asyncio.get_running_loop(), self.told.append, poll_every=0.0)

    def of(self, agent: str = ADA) -> list[str]:
        """Return the signals about an agent, in order."""
        return [signal.kind for signal in self.told if signal.agent == agent]

    async def follow(self, folder: Path, **options: Any) -> None:
        """Follow ADA in a folder until it is watched and that was reported, and forget the signals."""
        self.begin(folder, **options)
        await until_async(
            lambda: (
                self.coverage().reason != "Lifeboat is still setting up the watches"
                and bool(self.of())
                and bool(self.of(FENCE))
            )
        )
        self.told.clear()

    def begin(self, folder: Path, **options: Any) -> None:
        """Follow without waiting."""
        ignored = (*options.pop("ignored", ()), FENCE)
        self.watcher.follow(ADA, WatchPlan((PlannedFolder(str(folder), ignored=ignored, **options),)))
        self.fence(folder)

    def fence(self, folder: Path) -> None:
        """Listen for the file `fence` in a folder alone."""
        self.watcher.follow(FENCE, WatchPlan((PlannedFolder(os.path.realpath(folder), only=(FENCE,)),)))

    def coverage(self, agent: str = ADA) -> WatchCoverage:
        return self.watcher.coverage(agent)

    async def heard(self, folder: Path) -> list[str]:
        """Return the signals about ADA since the last call, of everything done in a folder until now."""
        before = self.of(FENCE).count(CHANGED)
        (folder / FENCE).write_text(str(time.monotonic_ns()))
        await until_async(lambda: self.of(FENCE).count(CHANGED) > before)
        found = self.of()
        self.told.clear()
        return found

    async def told_of(self, *kinds: str) -> None:
        """Wait for a signal of some kinds about ADA, and forget the signals."""
        await until_async(lambda: any(kind in kinds for kind in self.of()))
        self.told.clear()


def watching(story: Callable[[Watching], Awaitable[None]], *, rest: float = 0.02) -> None:
    """Run a test with a watcher that rests for some seconds between deliveries, and check that no thread of it is
    left."""
    before = set(threading.enumerate())

    async def run() -> None:
        made = Watching()
        try:
            await story(made)
        finally:
            made.watcher.stop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop_mailbox, "REST", rest)
        asyncio.run(run())
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(patience())
    assert not any(thread.is_alive() for thread in left)


class Process:
    """This module as a program."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[Any] = []
        self._arrived = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._arrived:
                self.lines.append(json.loads(line))
                self._arrived.notify_all()

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait(self, condition: Callable[[list[Any]], bool]) -> None:
        """Wait until the output fulfils a condition."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: condition(self.lines), patience()), self.lines

    def ask(self, line: str = "coverage") -> JsonObject:
        """Return the answer to a line."""
        with self._arrived:
            before = sum(1 for line in self.lines if isinstance(line, dict))
        self.say(line)
        self.wait(lambda lines: sum(1 for line in lines if isinstance(line, dict)) > before)
        found: JsonObject = [line for line in self.lines if isinstance(line, dict)][-1]
        return found


@contextmanager
def in_process(folder: Path, *before: str, environment: dict[str, str] | None = None) -> Iterator[Process]:
    """Run the program with the command `before`. It must end with it, and write nothing to standard error."""
    process = subprocess.Popen(
        [*before, sys.executable, __file__, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **(environment or {})},
    )
    try:
        yield Process(process)
        assert process.stdin is not None and process.stderr is not None
        process.stdin.close()
        assert process.wait(patience()) == 0
        assert process.stderr.read() == ""
    finally:
        process.kill()
        process.wait()


def _main(folder: str) -> None:
    async def run() -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        watcher = AgentWatcher(loop, lambda signal: print(json.dumps(signal.kind), flush=True), poll_every=0.0)
        watcher.follow(ADA, WatchPlan((PlannedFolder(folder),)))

        def said(line: str) -> None:
            if line == "check":
                watcher.check()
            elif line.startswith("follow "):
                watcher.follow(ADA, WatchPlan((PlannedFolder(line.removeprefix("follow ")),)))
                print(json.dumps({"was": watcher.coverage(ADA).reason}), flush=True)
            elif line == "figures":
                print(json.dumps({"cpu": time.process_time(), "rss": _rss()}), flush=True)
            elif line == "retry":
                folder_watches.RETRY = 0.0
            elif line.startswith("write "):
                _, text, path = line.split(" ")
                Path(path).write_text(text)
            elif line == "coverage":
                found = watcher.coverage(ADA)
                print(json.dumps({name: getattr(found, name) for name in found.__struct_fields__}), flush=True)

        def read() -> None:
            for line in sys.stdin:
                loop.call_soon_threadsafe(said, line.strip())
            loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=read, daemon=True).start()
        await ended.wait()
        watcher.stop()

    asyncio.run(run())


def _rss() -> int:
    """Return the memory in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    _main(sys.argv[1])
