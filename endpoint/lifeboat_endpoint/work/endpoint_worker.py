"""A worker: one process that takes one job after another.

The job runs in a thread. The main thread renews its lease, notices when the process should stop, and tells the queue
how the job ended. A thread cannot be interrupted, so a job stops between two steps. If it does not stop in time, the
process ends and the lease expires. Another worker then repeats the job, which every kind of job allows.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, Protocol

from lifeboat_alf.errors import LifeboatError
from lifeboat_endpoint.server.server_log import LOGGER, describe_error, explain_error
from lifeboat_endpoint.work import job_planning
from lifeboat_endpoint.work.endpoint_queue import EndpointJob, EndpointQueue
from lifeboat_endpoint.work.job_handlers import HANDLERS, Handler, JobContext
from lifeboat_vault.errors import KeyRevoked, LeaseLost, VaultError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lifeboat_endpoint.endpoint import Endpoint

Result = Literal["done", "failed", "dead", "released", "revoked", "lost", "left"]
_LOOK = 0.2
"""Seconds between two checks of a running job."""
_LONGEST_PAUSE = 30.0
_REVOKED = timedelta(hours=1)
"""Delay before a job is tried again whose tenant has revoked its key."""


class WorkerStopped(Exception):
    """The job ends between two steps, because its worker stops or has lost the lease."""


class JobCounter(Protocol):
    """Counts the results of jobs."""

    def ended(self, kind: str, result: str, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class WorkerPace:
    """Time limits in seconds.

    A lease lasts for `lease` and is renewed each `beat`. An idle worker looks for jobs after `idle`, and for jobs to
    plan each `plan`. A stopping worker waits for its job for `grace`. A job that runs for `longest` is given back at
    its next step, so that others get their turn.
    """

    lease: float = 60.0
    beat: float = 15.0
    idle: float = 3.0
    plan: float = 60.0
    grace: float = 20.0
    longest: float = 6 * 3600.0


def _nobody() -> None:
    """Report to no service manager."""


@dataclass
class EndpointWorker:
    """One worker. `name` is for people. `alive` is called repeatedly, at least once a minute."""

    endpoint: Endpoint
    queue: EndpointQueue
    stopped: threading.Event
    name: str
    pace: WorkerPace = field(default_factory=WorkerPace)
    counting: JobCounter | None = None
    alive: Callable[[], object] = _nobody
    handlers: Mapping[str, Handler] = field(default_factory=lambda: HANDLERS)
    plan: Callable[[Endpoint, EndpointQueue], int] = job_planning.plan_jobs
    _planned_at: float = float("-inf")

    def run(self) -> bool:
        """Work until stopped. Return False if a job was left running: end the process then."""
        failures = 0
        while not self.stopped.is_set():
            self.alive()
            try:
                result = self.round()
            except LifeboatError as error:
                failures += 1
                LOGGER.error("worker: the next job could not be fetched: %s", explain_error(error))
                self.stopped.wait(compute_pause(failures, random.random()))
                continue
            failures = 0
            if result == "left":
                return False
            if result is None:
                self.stopped.wait(self.pace.idle * (0.5 + random.random()))
        return True

    def run_once(self) -> bool:
        """Do the work that is due. Returns as `run`; raises VaultError if the database does not answer."""
        result: Result | None = "done"
        while result is not None and not self.stopped.is_set():
            result = self.round()
            if result == "left":
                return False
        return True

    def round(self) -> Result | None:
        """Plan if it is time, and run one job; return None if there was none. Raises VaultError."""
        if time.monotonic() - self._planned_at >= self.pace.plan:
            self._plan()
            self._planned_at = time.monotonic()
        job = self.queue.take(self.name, timedelta(seconds=self.pace.lease), list(self.handlers))
        return None if job is None else self._do(job)

    def _plan(self) -> None:
        """Plan jobs. An error is logged, so that waiting jobs are still done."""
        try:
            self.endpoint.control.flush()
            self.plan(self.endpoint, self.queue)
        except LifeboatError as error:
            LOGGER.error("worker: the next jobs could not be planned: %s", explain_error(error))

    def _do(self, job: EndpointJob) -> Result:
        running, began = _JobThread(self, job), time.monotonic()
        running.start()
        result = self._watched(job, running)
        seconds = time.monotonic() - began
        log = LOGGER.info if result in ("done", "released") else LOGGER.error
        log(
            "job=%d kind=%s tenant=%s agent=%s attempt=%d result=%s ms=%d%s",
            job.id,
            job.kind,
            job.tenant or "-",
            job.agent or "-",
            job.attempt,
            result,
            round(seconds * 1000),
            running.trouble,
        )
        if self.counting is not None:
            self.counting.ended(job.kind, result, seconds)
        return result

    def _watched(self, job: EndpointJob, running: _JobThread) -> Result:
        """Hold the job while it runs, and tell the queue how it ended."""
        lease = _JobLease(self.queue, job, self.pace)
        enough = time.monotonic() + self.pace.longest
        last: float | None = None
        while not running.ended.wait(_LOOK):
            self.alive()
            lease.keep()
            # Ask the job to stop once, and then wait for `grace`.
            if last is None and (self.stopped.is_set() or lease.is_lost or time.monotonic() >= enough):
                running.stop.set()
                last = time.monotonic() + self.pace.grace
            if last is not None and time.monotonic() >= last:
                return "left"
        return "lost" if lease.is_lost else self._ended(job, running, lease)

    def _ended(self, job: EndpointJob, running: _JobThread, lease: _JobLease) -> Result:
        """Tell the queue how the job ended, and retry while the job is held: a job without a result is repeated."""
        while True:
            try:
                return running.tell(self.queue, job)
            except LeaseLost:
                return "lost"
            except VaultError:
                # Another worker may have the job by now.
                if time.monotonic() >= lease.until:
                    return "lost"
            self.alive()
            time.sleep(min(1.0, self.pace.beat))


class _JobLease:
    """The lease of a running job. After `until`, by this process's clock, others may take the job."""

    def __init__(self, queue: EndpointQueue, job: EndpointJob, pace: WorkerPace) -> None:
        self._queue = queue
        self._job = job
        self._pace = pace
        self._beat_at = time.monotonic() + pace.beat
        self.until = time.monotonic() + pace.lease
        self.is_lost = False

    def keep(self) -> None:
        """Renew the lease when it is time."""
        began = time.monotonic()
        if self.is_lost or began < self._beat_at:
            return
        try:
            self._queue.heartbeat(self._job, timedelta(seconds=self._pace.lease))
            self.until = began + self._pace.lease
            self._beat_at = began + self._pace.beat
        except LeaseLost:
            self.is_lost = True
        except VaultError:
            # The database does not answer. Try again until the lease has expired.
            self.is_lost = time.monotonic() >= self.until
            self._beat_at = time.monotonic() + min(1.0, self._pace.beat)


class _JobThread(threading.Thread):
    """A running job. `ended` is set when it has ended in any way."""

    def __init__(self, worker: EndpointWorker, job: EndpointJob) -> None:
        super().__init__(name="job", daemon=True)
        self._worker = worker
        self._job = job
        self._problems: list[str] = []
        self._error: BaseException | None = None
        self.stop = threading.Event()
        self.ended = threading.Event()

    def run(self) -> None:
        worker = self._worker
        try:
            work = JobContext(worker.endpoint, worker.queue, self._step)
            self._problems = worker.handlers[self._job.kind](work, self._job)
        except BaseException as error:
            self._error = error
        finally:
            with contextlib.suppress(LifeboatError):
                worker.endpoint.forget(self._job.tenant)
                worker.endpoint.close_thread()
            self.ended.set()

    def _step(self) -> None:
        if self.stop.is_set():
            raise WorkerStopped

    def tell(self, queue: EndpointQueue, job: EndpointJob) -> Result:
        """Tell the queue the result of the job. Raises LeaseLost, VaultError."""
        if isinstance(self._error, WorkerStopped):
            queue.release(job)
            return "released"
        if isinstance(self._error, KeyRevoked):
            if job.kind in job_planning.OF_TENANTS:
                queue.finish(job)
            else:  # unlike periodic jobs, it is not planned again when the key is given back
                queue.put_off(job, _REVOKED)
            return "revoked"
        if self._error is None and not self._problems:
            queue.finish(job)
            return "done"
        return "dead" if queue.fail(job, self._words()) == "dead" else "failed"

    def _words(self) -> str:
        """Describe the failure for the operator."""
        if self._error is None:
            return "; ".join(self._problems)
        return self._error.message if isinstance(self._error, LifeboatError) else describe_error(self._error)

    @property
    def trouble(self) -> str:
        """Describe the failure for the log, which contains no messages."""
        if self._error is not None and not isinstance(self._error, WorkerStopped):
            return f" because: {describe_error(self._error)}"
        return f" problems={len(self._problems)}" if self._problems else ""


def compute_pause(failures: int, chance: float) -> float:
    """Return the seconds to wait after a number of consecutive failures.

    `chance` from 0 to 1 spreads workers that failed together.
    """
    return float(min(2.0 ** min(failures - 1, 10), _LONGEST_PAUSE)) * (0.5 + chance)
