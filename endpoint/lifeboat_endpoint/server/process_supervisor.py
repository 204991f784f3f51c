"""The first process: it starts the serving processes, asks each for its own /livez, and replaces one that hangs.

Each is asked over a separate socket pair, through the same event loop and application as any client. A process that
died ends the server, and a service manager starts it again.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lifeboat_endpoint.server.server_log import LOGGER

Start = Callable[[socket.socket], Any]
"""Start a process with its end of the probe connection; return the process."""

_QUESTION = b"GET /livez HTTP/1.1\r\nHost: lifeboat\r\n\r\n"
_ANSWER = b"HTTP/1.1 200 "
SILENT_SECONDS = 30.0
"""Seconds until a process that does not answer counts as hanging."""


def start_method() -> Any:
    """Return the context that starts processes. Tests choose fork.

    Processes are spawned, because a fork while threads run may inherit a lock that is never released.
    """
    return multiprocessing.get_context(multiprocessing.get_start_method(allow_none=True) or "spawn")


@dataclass(slots=True)
class ServingProcess:
    """One serving process and its probe. `asked_at` is None while no probe is open."""

    process: Any
    probe: socket.socket
    asked_at: float | None = None
    answered_at: float | None = None
    ended_at: float | None = None

    def ask(self, now: float, every: float) -> None:
        """Read the response of a probe, and send another one when it is time."""
        self._read(now)
        due = self.answered_at is None or now - self.answered_at >= every
        if self.asked_at is None and due:
            with contextlib.suppress(OSError):
                self.probe.send(_QUESTION)
            self.asked_at = now

    def is_silent(self, now: float, limit: float) -> bool:
        """Whether it has not answered in time. Before its first response it may take long to open a large endpoint."""
        return self.answered_at is not None and self.asked_at is not None and now - self.asked_at > limit

    def end(self, now: float, *, kill: bool = False) -> None:
        """Tell it to end. Call this repeatedly, since a starting process may miss a signal."""
        self.ended_at = self.ended_at or now
        with contextlib.suppress(OSError, ValueError):
            self.process.kill() if kill else self.process.terminate()

    def close(self) -> None:
        self.probe.close()

    def _read(self, now: float) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):
            if _ANSWER in self.probe.recv(1 << 16):
                self.asked_at, self.answered_at = None, now


@dataclass(frozen=True, slots=True)
class SupervisionTimes:
    """Seconds between two probes (`every`), until a silent process counts as hanging (`limit`), between two checks
    (`look`), and that a process has beyond `finish` to end (`grace`)."""

    every: float = 5.0
    limit: float = SILENT_SECONDS
    look: float = 0.5
    grace: float = 3.0


@dataclass(eq=False)
class ProcessSupervisor:
    """Keeps `count` processes serving until `interrupt`.

    `answers` is called once when all of them answer for the first time, `is_well` at each check at which all do,
    `forget` with each replaced process that has ended. `reload` replaces all of them, the new ones first. `interrupt`
    and `reload` may be called from signal handlers and threads. A process that does not end within `finish` seconds is
    killed.
    """

    start: Start
    count: int
    finish: float
    answers: Callable[[], None]
    is_well: Callable[[], None]
    forget: Callable[[Any], None] = lambda process: None
    times: SupervisionTimes = SupervisionTimes()
    _ending: bool = False
    _reloading: bool = False
    _told: bool = False
    _processes: list[ServingProcess] = field(default_factory=list)
    _leaving: list[ServingProcess] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._wake, self._woken = socket.socketpair()
        self._wake.setblocking(False)
        self._woken.setblocking(False)

    def interrupt(self) -> None:
        self._ending = True
        self._wake_up()

    def reload(self) -> None:
        self._reloading = True
        self._wake_up()

    def run(self) -> bool:
        """Run until `interrupt`, or until a process died; return False if one died."""
        self._processes = [self._started() for _ in range(self.count)]
        try:
            while not self._ending:
                self._wait()
                if not self._look_after(time.monotonic()):
                    return False
            return True
        finally:
            self._end([*self._processes, *self._leaving])

    def _look_after(self, now: float) -> bool:
        self._see_off(now)
        if any(not each.process.is_alive() for each in self._processes) and not self._ending:
            LOGGER.error("a server process ended unexpectedly")
            return False
        for index, each in enumerate(self._processes):
            each.ask(now, self.times.every)
            if each.is_silent(now, self.times.limit):
                LOGGER.error(
                    "a server process did not answer /livez for %g seconds and is being replaced", self.times.limit
                )
                each.end(now, kill=True)
                self._leaving.append(each)
                self._processes[index] = self._started()
        # Replaced processes are ended only once the new ones answer.
        if all(each.answered_at is not None for each in self._processes):
            self._all_answer(now)
        return True

    def _see_off(self, now: float) -> None:
        """Forget processes that ended, and kill those that did not end in time."""
        for each in list(self._leaving):
            if not each.process.is_alive():
                each.close()
                self.forget(each.process)
                self._leaving.remove(each)
            elif each.ended_at is not None and now - each.ended_at > self.finish + self.times.grace:
                each.end(now, kill=True)

    def _all_answer(self, now: float) -> None:
        if not self._told:
            self._told = True
            self.answers()
        self.is_well()
        for each in self._leaving:  # replaced by `reload`
            each.end(now)
        if self._reloading:
            self._reloading = False
            self._leaving += self._processes
            self._processes = [self._started() for _ in range(self.count)]

    def _started(self) -> ServingProcess:
        mine, theirs = socket.socketpair()
        mine.setblocking(False)
        with theirs:
            return ServingProcess(self.start(theirs), mine)

    def _wait(self) -> None:
        """Wait until a process ends or answers, or until `interrupt` or `reload`."""
        waiting = [each.process.sentinel for each in self._processes]
        probes = [each.probe for each in self._processes if each.asked_at is not None]
        multiprocessing.connection.wait([*waiting, *probes, self._woken], self.times.look)
        with contextlib.suppress(BlockingIOError):
            self._woken.recv(1024)

    def _wake_up(self) -> None:
        with contextlib.suppress(OSError):  # the socket is full, so it wakes up anyway
            self._wake.send(b"x")

    def _end(self, processes: list[ServingProcess]) -> None:
        deadline = time.monotonic() + self.finish + self.times.grace
        while alive := [each for each in processes if each.process.is_alive()]:
            now = time.monotonic()
            for each in alive:
                each.end(now, kill=now > deadline)
            multiprocessing.connection.wait([each.process.sentinel for each in alive], self.times.look)
        for each in processes:
            each.process.join()
            each.close()
