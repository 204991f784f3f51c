"""The workers of a daemon: started when there is work, kept for a while, ended before they grow too large."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.errors import Cancelled, WorkerFailed
from lifeboat_core.processes.installed_release import read_release
from lifeboat_core.processes.own_interpreter import make_python_command
from lifeboat_daemon.control import error_documents
from lifeboat_daemon.service.event_log import LogWord
from lifeboat_daemon.work import time_limits
from lifeboat_daemon.work.worker_messages import PROTOCOL, JobFailure, JobProgress, JobResult, WorkerJob, WorkerReady
from lifeboat_daemon.work.worker_process import WorkerProcess
from lifeboat_daemon.work.worker_slots import WorkerSlots

MOST = 2
MOST_TRANSFERS = 3
"""Slots beside the others, so that a remote that does not answer delays neither captures nor pushes to other
remotes."""
MOST_LENT = 2
"""The number of additional jobs while others seem to hang."""
MOST_MEMORY = 110 * 1024 * 1024
"""Bytes. An idle worker with all its modules takes about half of it."""
MOST_JOBS = 500
CANCEL_WITHIN = 10.0
"""Seconds until a worker is killed whose cancelled job continues."""
_END_WITHIN = 2.0
_LONGEST_BACKOFF = 300.0
_COMMAND = make_python_command("-m", "lifeboat_daemon.work")


class WorkerPool:
    """At most two workers, and three more for transfers. `on_upgrade` is called with the release of workers that
    differs from this process's, once for each; `on_event` with entries for the log: `worker.started`, `worker.ended`,
    `worker.slow`, with ids and numbers."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, command: Sequence[str] | None = None, linger: float = 30.0
    ) -> None:
        self._loop = loop
        self._command = tuple(command or _COMMAND)
        self._environment = dict(os.environ)
        self._linger = linger
        self._numbers = count(1)
        self._places = WorkerSlots(MOST)
        self._transfers = WorkerSlots(MOST_TRANSFERS)
        self._lent: dict[int, bool] = {}
        self._all: set[WorkerProcess] = set()
        self._idle: list[tuple[WorkerProcess, asyncio.TimerHandle]] = []
        self._warming: asyncio.Task[None] | None = None
        self._starts: set[asyncio.Task[tuple[WorkerProcess, WorkerReady]]] = set()
        self._running = 0
        self._stopping = False
        self._failures = 0
        self._not_before = 0.0
        self._upgrades: set[str] = set()
        self._release = read_release()
        self.on_upgrade: Callable[[str], None] | None = None
        self.on_event: Callable[[str, JsonObject], None] | None = None

    @property
    def busy(self) -> bool:
        """Whether any job runs."""
        return self._running > 0

    @property
    def pids(self) -> list[int]:
        """The process ids of the present workers."""
        return sorted(worker.pid for worker in self._all)

    async def run(
        self,
        operation: str,
        agent: str | None,
        parameters: JsonObject,
        *,
        long: bool,
        tell: Callable[[JobProgress], None],
        begun: Callable[[], None] | None = None,
    ) -> JsonObject:
        """Run an operation and return its document. `begun` is called when it leaves the queue. Raises the operation's
        own LifeboatError, Cancelled, and WorkerFailed if a worker cannot be started or ends too early."""
        self._refuse_when_stopping()
        places, long = self._places_of(operation, long)
        async with places.place(long=long):
            self._refuse_when_stopping()
            self._running += 1
            try:
                if begun is not None:
                    begun()
                worker = await self._worker()
                self._refuse_when_stopping()
                job = WorkerJob(next(self._numbers), operation, agent, parameters)
                return _document(await self._have_done(worker, job, tell, long=long))
            finally:
                self._running -= 1

    def _places_of(self, operation: str, long: bool) -> tuple[WorkerSlots, bool]:
        return (self._transfers, False) if operation in time_limits.TRANSFERS else (self._places, long)

    def warm(self) -> None:
        """Start a worker in advance, unless one is idle. An error is ignored."""
        at_hand = [each for each in self._all if each.job is None or each.job.operation not in time_limits.TRANSFERS]
        if self._idle or self._warming or self._stopping or len(at_hand) >= MOST or self._must_wait():
            return
        self._warming = self._loop.create_task(self._warm())

    def cancel(self, agent: str, operation: str | None = None) -> int:
        """Ask running jobs of an agent, or only those of one operation, to end. Return how many. Captures are not
        cancelled."""
        found = [worker for worker in self._all if _is_at(worker.job, agent, operation)]
        for worker in found:
            self._cancel(worker)
        return len(found)

    async def stop(self, timeout: float) -> None:
        """Stop accepting work. Let captures finish within `timeout` seconds and other work end at its next safe point,
        then end the workers."""
        self._stopping = True
        for worker in list(self._all):
            worker.dismiss()
        for _, timer in self._idle:
            timer.cancel()
        self._idle.clear()
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait({self._warming})
        if self._starts:
            await asyncio.wait(self._starts, timeout=timeout)
        if await self._gone(timeout):
            return
        for worker in list(self._all):
            worker.terminate()
        if not await self._gone(_END_WITHIN):
            for worker in list(self._all):
                worker.kill(Cancelled("the daemon is stopping"))
            await self._gone(_END_WITHIN)  # A worker that hangs in a file system cannot be killed.

    async def _gone(self, timeout: float) -> bool:
        waiting = {worker.gone for worker in self._all}
        if waiting:
            await asyncio.wait(waiting, timeout=timeout)
        await asyncio.sleep(0)  # Tasks that react to their end.
        return not any(not each.done() for each in waiting)

    # One job ----------------------------------------------------------------------------------------------------

    async def _have_done(
        self, worker: WorkerProcess, job: WorkerJob, tell: Callable[[JobProgress], None], *, long: bool
    ) -> JobResult | JobFailure:
        limit = time_limits.find_time_limit(job.operation)
        slow = self._loop.call_later(time_limits.SLOW, self._is_slow, job, limit is None, long)
        try:
            async with asyncio.timeout(limit):
                answer = await worker.do(job, tell)
        except TimeoutError:
            worker.kill()
            raise WorkerFailed(
                f"the operation {job.operation} did not finish within {limit:.0f} seconds, so the daemon ended it"
            ) from None
        except asyncio.CancelledError:
            worker.dismiss()
            raise
        finally:
            slow.cancel()
            self._give_back(job)
        reach_crash_point(CrashPoint.DAEMON_ANSWERED)
        self._failures = 0
        if worker.rss > MOST_MEMORY or worker.jobs >= MOST_JOBS:
            worker.dismiss()
        self._rest(worker)
        return answer

    def _is_slow(self, job: WorkerJob, for_ever: bool, long: bool) -> None:
        """Return whether the job may hang forever in a file system that does not answer. Such a job must not keep its
        slot."""
        if for_ever and len(self._lent) < MOST_LENT:
            self._lent[job.number] = long
            places, long = self._places_of(job.operation, long)
            places.lend(long=long)
        self._event("worker.slow", operation=job.operation, agent=job.agent, seconds=int(time_limits.SLOW))

    def _give_back(self, job: WorkerJob) -> None:
        if job.number in self._lent:
            places, long = self._places_of(job.operation, self._lent.pop(job.number))
            places.take_back(long=long)

    def _cancel(self, worker: WorkerProcess) -> None:
        job = worker.job
        if job is None or job.operation in time_limits.SEEN_THROUGH:
            return
        worker.cancel()
        stopped = Cancelled("the job was cancelled")
        self._loop.call_later(CANCEL_WITHIN, lambda: worker.kill(stopped) if worker.job is job else None)

    def _refuse_when_stopping(self) -> None:
        if self._stopping:
            raise Cancelled("the daemon is stopping")

    # Workers ----------------------------------------------------------------------------------------------------

    async def _worker(self) -> WorkerProcess:
        """Return an idle worker, the last used first, or a new one. Raises WorkerFailed."""
        if not self._idle and self._warming is not None:
            await asyncio.wait({self._warming})
        while self._idle:
            worker, timer = self._idle.pop()
            timer.cancel()
            if worker.is_free:
                return worker
        try:
            return await self._start()
        except WorkerFailed:
            if self._must_wait():
                raise
        return await self._start()  # A single failure may be a coincidence.

    async def _warm(self) -> None:
        try:
            self._rest(await self._start())
        except WorkerFailed:
            return  # The next job tries again and reports the error.
        finally:
            self._warming = None

    async def _start(self) -> WorkerProcess:
        if self._must_wait():
            raise WorkerFailed(f"the daemon cannot start workers; it tries again in {self._wait():.0f} seconds")
        start = self._loop.create_task(WorkerProcess.start(self._command, self._environment))
        self._starts.add(start)
        start.add_done_callback(self._starts.discard)
        try:
            worker, ready = await start
        except WorkerFailed:
            self._failed_to_start()
            raise
        if ready.protocol != PROTOCOL:
            await worker.put_away()
            self._failed_to_start()
            self._upgraded(ready)
            raise WorkerFailed(
                f"release {ready.release} is installed, but the daemon still runs release {self._release}",
                fix="lifeboat daemon restart",
            )
        self._all.add(worker)
        worker.gone.add_done_callback(lambda _: self._ended(worker))
        self._event("worker.started", pid=worker.pid)
        self._upgraded(ready)
        if self._stopping:
            worker.dismiss()
        return worker

    def _upgraded(self, ready: WorkerReady) -> None:
        if ready.release != self._release and ready.release not in self._upgrades:
            self._upgrades.add(ready.release)
            if self.on_upgrade is not None:
                self.on_upgrade(ready.release)

    def _rest(self, worker: WorkerProcess) -> None:
        """Keep a worker for the next job for a while."""
        if self._stopping:
            worker.dismiss()
        elif worker.is_free:
            self._idle.append((worker, self._loop.call_later(self._linger, self._let_go, worker)))

    def _let_go(self, worker: WorkerProcess) -> None:
        self._idle = [each for each in self._idle if each[0] is not worker]
        worker.dismiss()

    def _ended(self, worker: WorkerProcess) -> None:
        for other, timer in self._idle:
            if other is worker:
                timer.cancel()
        self._idle = [each for each in self._idle if each[0] is not worker]
        self._all.discard(worker)
        if worker.jobs == 0 and worker.job is None and not worker.dismissed:
            self._failed_to_start()
        self._event(
            "worker.ended", pid=worker.pid, jobs=worker.jobs, how=LogWord(worker.describe_end()), lines=worker.lines
        )

    # Workers that do not start ----------------------------------------------------------------------------------

    def _failed_to_start(self) -> None:
        """Delay the next start. Two failures in a row mean a broken installation, and immediate retries would only burn
        CPU."""
        self._failures += 1
        if self._failures >= 2:
            self._not_before = self._loop.time() + min(2.0**self._failures, _LONGEST_BACKOFF)

    def _must_wait(self) -> bool:
        return self._failures >= 2 and self._wait() > 0

    def _wait(self) -> float:
        return self._not_before - self._loop.time()

    def _event(self, kind: str, **fields: Any) -> None:
        if self.on_event is not None:
            self.on_event(kind, fields)


def _is_at(job: WorkerJob | None, agent: str, operation: str | None) -> bool:
    return job is not None and job.agent == agent and operation in (None, job.operation)


def _document(answer: JobResult | JobFailure) -> JsonObject:
    if isinstance(answer, JobResult):
        return answer.document
    error: LifeboatError = error_documents.rebuild_error(answer.error)
    raise error
