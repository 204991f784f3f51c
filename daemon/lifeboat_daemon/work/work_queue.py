"""The queue of work: jobs of one agent run one after the other, and equal requests are merged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.errors import Busy, Cancelled, WorkerFailed
from lifeboat_core.processes.progress import compute_progress
from lifeboat_daemon.work import time_limits
from lifeboat_daemon.work.worker_messages import JobProgress
from lifeboat_daemon.work.worker_pool import WorkerPool

MOST_WAITING = 1000
_WIDER = frozenset({"full", "whole", "asked"})
"""Switches that make a job do more. A waiting request adopts those of an equal one."""
_WHY = frozenset({"reason", "kind"})
"""Parameters that only name the reason. Equal requests may differ in them."""


@dataclass(slots=True, eq=False)
class _QueuedWork:
    """One request. `state` is `waiting`, or `running` once it has a slot. `task` runs it, and is None while earlier
    jobs of its agent run; `stopped`: that task was cancelled. Times are those of the monotonic clock."""

    number: int
    operation: str
    agent: str | None
    parameters: JsonObject
    long: bool
    since: float
    state: str = "waiting"
    began: float = 0.0
    progress: JobProgress | None = None
    task: asyncio.Task[None] | None = None
    stopped: bool = False
    futures: list[asyncio.Future[JsonObject]] = field(default_factory=list)

    @property
    def line(self) -> str:
        """The jobs that run strictly in order: same agent, and for transfers same remote."""
        if self.operation in time_limits.TRANSFERS:
            return f"{self.agent} at {self.parameters.get('remote')}"
        return self.agent if self.agent is not None else f"operation {self.operation}"

    def is_double_of(self, operation: str, agent: str | None, parameters: JsonObject) -> bool:
        """Return whether a waiting request would do what another one asks for."""
        same = self.operation == operation and self.agent == agent
        return same and self.state == "waiting" and _what(self.parameters) == _what(parameters)

    def widen(self, parameters: JsonObject) -> None:
        """Merge the parameters of two requests. The dictionary is changed in place because a task that waits for a slot
        reads it later."""
        for name in _WIDER & parameters.keys():
            self.parameters[name] = self.parameters.get(name) or parameters[name]

    def to_json(self, now: float) -> JsonObject:
        """Describe the job. `seconds` counts waiting or running time. The time left is known once a worker reports a
        total."""
        running = self.state == "running"
        return {
            "number": self.number,
            "operation": self.operation,
            "agent": self.agent,
            "remote": self.parameters.get("remote"),
            "long": self.long,
            "state": self.state,
            "seconds": round(now - (self.began if running else self.since), 1),
            **self._progress(now - self.began if running else 0.0),
        }

    def _progress(self, seconds: float) -> JsonObject:
        said = self.progress or JobProgress(0, "")
        known = compute_progress(said.text, said.done, said.total, seconds)
        return {
            "text": known.text,
            "done": known.done,
            "total": known.total,
            "rate": known.rate,
            "seconds_left": known.seconds_left,
        }


class WorkQueue:
    """The daemon's work. `on_change` is called with an entry of `jobs` whenever a job is added, starts, makes progress
    or ends (then its `state` is `done` or `failed`)."""

    def __init__(self, workers: WorkerPool) -> None:
        self._workers = workers
        self._entries: list[_QueuedWork] = []
        self._number = 0
        self._closing = False
        self.on_change: Callable[[JsonObject], None] | None = None

    def put(
        self, operation: str, agent: str | None = None, parameters: JsonObject | None = None, *, long: bool = False
    ) -> asyncio.Future[JsonObject]:
        """Request a job. The future receives its document or a LifeboatError (see `WorkerPool.run`). Jobs of one agent
        run one after the other, short ones first, otherwise in the order of the requests. Transfers run beside them,
        one after the other for each agent and remote. A request that equals a waiting one joins it. Cancelling the
        future does not end the job; `cancel` does."""
        given = parameters or {}
        future: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        entry = next((each for each in self._entries if each.is_double_of(operation, agent, given)), None)
        if entry is not None:
            entry.widen(given)
        elif len(self._entries) >= MOST_WAITING:
            raise Busy(f"the queue of the daemon is full: {MOST_WAITING} jobs are already waiting")
        else:
            reach_crash_point(CrashPoint.DAEMON_QUEUED)
            self._number += 1
            entry = _QueuedWork(self._number, operation, agent, dict(given), long, monotonic())
            self._entries.append(entry)
            self._changed(entry)
        entry.futures.append(future)
        self._next(entry.line)
        return future

    def cancel(self, agent: str, operation: str | None = None) -> int:
        """Remove waiting jobs of an agent, or only those of one operation, and ask running ones to end. Return how
        many. A running capture is not cancelled."""
        entries = [each for each in self._entries if each.agent == agent and operation in (None, each.operation)]
        for entry in entries:
            if entry.state == "waiting":
                self._end(entry, Cancelled("the job was cancelled"))
        return sum(entry.state != "running" or self._cancel_running(entry) for entry in entries)

    def _cancel_running(self, entry: _QueuedWork) -> bool:
        if entry.operation in time_limits.SEEN_THROUGH:
            return False
        if not self._workers.cancel(entry.agent or "", entry.operation) and entry.task is not None:
            entry.stopped = True
            entry.task.cancel()  # Its worker is still starting.
        return True

    def jobs(self) -> list[JsonObject]:
        """Return running and then waiting jobs."""
        now = monotonic()
        return [each.to_json(now) for each in sorted(self._entries, key=lambda each: each.state != "running")]

    @property
    def idle(self) -> bool:
        """Wait until no job runs or waits."""
        return not self._entries

    # Order ------------------------------------------------------------------------------------------------------

    def _next(self, line: str) -> None:
        """Start the next job of an agent, unless one runs."""
        mine = [each for each in self._entries if each.line == line]
        if mine and not self._closing and all(each.task is None for each in mine):
            entry = min(mine, key=lambda each: each.long)
            entry.task = asyncio.get_running_loop().create_task(self._have_done(entry))

    async def _have_done(self, entry: _QueuedWork) -> None:
        try:
            document = await self._workers.run(
                entry.operation,
                entry.agent,
                entry.parameters,
                long=entry.long,
                tell=lambda progress: self._told(entry, progress),
                begun=lambda: self._began(entry),
            )
        except LifeboatError as error:
            self._end(entry, error)
        except asyncio.CancelledError:
            self._closing |= entry in self._entries and not entry.stopped  # The loop is ending, so no job can start.
            self._end(entry, Cancelled("the job was cancelled"))
            raise
        except Exception as error:
            self._end(entry, WorkerFailed(f"an internal error of the daemon ended the job: {type(error).__name__}"))
        else:
            self._end(entry, document)

    def _began(self, entry: _QueuedWork) -> None:
        entry.state, entry.began = "running", monotonic()
        self._changed(entry)

    def _told(self, entry: _QueuedWork, progress: JobProgress) -> None:
        entry.progress = progress
        self._changed(entry)

    def _end(self, entry: _QueuedWork, outcome: JsonObject | LifeboatError) -> None:
        """Give the result to every caller, once."""
        if entry not in self._entries:
            return
        self._entries.remove(entry)
        if entry.task is not None and entry.state == "waiting":
            entry.task.cancel()
        entry.state = "failed" if isinstance(outcome, LifeboatError) else "done"
        for future in entry.futures:
            if future.done():
                continue
            if isinstance(outcome, LifeboatError):
                future.set_exception(outcome)
                future.exception()  # A caller may no longer wait for the result.
            else:
                future.set_result(outcome)
        self._changed(entry)
        self._next(entry.line)

    def _changed(self, entry: _QueuedWork) -> None:
        if self.on_change is not None:
            self.on_change(entry.to_json(monotonic()))


def _what(parameters: JsonObject) -> JsonObject:
    """Return the parameters that distinguish requests."""
    return {name: value for name, value in parameters.items() if name not in _WIDER | _WHY}
