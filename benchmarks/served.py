"""The service as it is measured: a real daemon in a separate process, with real workers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from benchmarks import processes, subject

from lifeboat_alf.common import ids
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import ServiceError
from lifeboat_core.home.context import Context
from lifeboat_daemon.control.daemon_client import DaemonClient

T = TypeVar("T")
PATIENCE = 600.0
"""Time limit in seconds against hangs, so that one row cannot block the others."""
_ROOT = Path(__file__).parent.parent


def until(condition: Callable[[], T], what: str, patience: float = PATIENCE) -> T:
    """Wait until a condition holds, and return its value."""
    deadline = time.monotonic() + patience
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {patience:.0f} seconds for {what}")
        time.sleep(0.01)
    return found


def take_up(context: Context, workspace: Path, runtime: str = "openclaw") -> Agent:
    """Let the service protect an agent without capturing it here."""
    now = context.now()
    known = Agent(id=ids.make_id(now), name=workspace.name, runtime=runtime, workspace=workspace, added_at=now)
    context.create_vault(known.id).close()
    return manage_agents.save_agent(context, replace(manage_agents.register_agent(context, known), watched=True))


class Moments:
    """Times (`time.monotonic`) at which the service and its workers reached their steps."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.touch()
        self._read = 0

    def forget(self) -> None:
        """Ignore all earlier steps."""
        self._read = self.file.stat().st_size

    def all(self) -> list[tuple[str, float]]:
        """Return every step since `forget`, the earliest first."""
        with self.file.open("rb") as stream:
            stream.seek(self._read)
            lines = stream.read().decode().splitlines(keepends=True)
        words = [line.split() for line in lines if line.endswith("\n")]
        return sorted(((step, float(moment)) for step, moment in words), key=lambda one: one[1])

    def of(self, step: CrashPoint) -> list[float]:
        return [moment for name, moment in self.all() if name == step.value]

    def of_capture(self) -> tuple[float, float]:
        """Wait for the next capture with changes and for the end of its worker's requests. Return when the daemon began
        it and when it was durable."""
        until(lambda: self.of(CrashPoint.CAPTURE_COMMITTED), "a capture")
        committed = self.of(CrashPoint.CAPTURE_COMMITTED)[0]
        until(
            lambda: any(moment > committed for moment in self.of(CrashPoint.DAEMON_ANSWERED)), "the answer of a worker"
        )
        begun = [moment for moment in self.of(CrashPoint.DAEMON_QUEUED) if moment < committed]
        return begun[-1], self.of(CrashPoint.CAPTURE_COMMITTED)[-1]


class Served:
    """A running daemon. `moments` is empty unless requested, because recording steps loads another module in the
    daemon."""

    def __init__(self, context: Context, process: subprocess.Popen[bytes], moments: Moments) -> None:
        self.context = context
        self.process = process
        self.moments = moments

    @property
    def pid(self) -> int:
        return self.process.pid

    def client(self) -> DaemonClient:
        return DaemonClient.connect(self.context.home, SystemFiles(), timeout=30.0, app="benchmarks")

    def ask(self, method: str, **parameters: object) -> JsonObject:
        with self.client() as client:
            return client.call(method, **parameters)

    def workers(self) -> list[int]:
        """Return the processes of its workers."""
        return [each for each in processes.family(self.pid) if each != self.pid]

    def answers(self) -> bool:
        if self.process.poll() is not None:
            raise SystemExit(f"the service ended with status {self.process.returncode}")
        with contextlib.suppress(ServiceError):
            return bool(self.ask("daemon"))
        return False

    def settle(self, seconds: float) -> None:
        """Wait until every agent is captured and watched and nothing has run for some seconds. A new watch causes one
        more scan 2 s after the last one."""
        until(lambda: self._captures() is not None, "the service to capture")
        before, since = self._captures(), time.monotonic()
        while before is None or time.monotonic() < since + seconds:
            time.sleep(0.1)
            now = self._captures()
            if now != before:
                before, since = now, time.monotonic()

    def _captures(self) -> int | None:
        """Return the number of captures; None while something runs or waits, or an agent is not watched yet."""
        found = self.ask("daemon")
        ready = found["agents"] and all(one["watches"] and one["captures"] for one in found["agents"])
        return sum(one["captures"] for one in found["agents"]) if ready and not found["jobs"] else None

    def end_workers(self) -> None:
        """End the workers, as the daemon does after half a minute without work."""
        for pid in self.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        until(lambda: not self.workers(), "the workers to end")

    def end(self) -> None:
        """End the daemon as a service manager does."""
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(60)


@contextlib.contextmanager
def serving(context: Context, *, noting: bool = False) -> Iterator[Served]:
    """Run the daemon of a home until the end of the block."""
    moments = Moments(context.home.folder.parent / "moments")
    program = ("benchmarks.noting", "service", str(moments.file)) if noting else ("lifeboat_daemon.service",)
    environment = {**context.environment, **({"PYTHONPATH": str(_ROOT)} if noting else {})}
    with Path(context.home.folder.parent, "service.out").open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", *program],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    served = Served(context, process, moments)
    try:
        until(served.answers, "the service to answer", 60)
        yield served
    finally:
        served.end()


def home(folder: Path) -> Context:
    """Create a separate home below a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return subject.context(folder / "home")
