"""One worker process, seen from the daemon."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping, Sequence

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.errors import WorkerFailed
from lifeboat_core.processes.own_interpreter import describe_exit
from lifeboat_daemon.work import worker_messages
from lifeboat_daemon.work.worker_messages import CancelJob, JobFailure, JobProgress, JobResult, WorkerJob, WorkerReady
from lifeboat_keys.child_processes import kill_group, start_child

READY_WITHIN = 60.0
"""Seconds. A machine that has just woken up may be very slow."""
_ROOT = os.path.abspath(os.sep)
"""A worker that runs there keeps no file system busy."""
_PIPES_WITHIN = 5.0
_MOST_SAID = 8192
_MOST_LINES = 50


class WorkerProcess:
    """A started worker. `gone` is done when it has ended; `jobs` counts its results, `rss` is its memory in bytes after
    the last one, `lines` counts its lines on standard error."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        loop = asyncio.get_running_loop()
        self._process = process
        self._ready: asyncio.Future[WorkerReady] = loop.create_future()
        self._answer: asyncio.Future[JobResult | JobFailure] | None = None
        self._tell: Callable[[JobProgress], None] = _nobody
        self._why: LifeboatError | None = None
        self._said = b""
        self.job: WorkerJob | None = None
        self.jobs = self.rss = self.lines = 0
        self.dismissed = False
        self._stderr = loop.create_task(self._drain())
        self.gone = loop.create_task(self._listen())

    @classmethod
    async def start(cls, command: Sequence[str], environment: Mapping[str, str]) -> tuple[WorkerProcess, WorkerReady]:
        """Start a worker and wait for its first message. Raises WorkerFailed."""
        try:
            worker = cls(
                await start_child(
                    command, environment=environment, folder=_ROOT, longest_line=worker_messages.LONGEST_LINE
                )
            )
        except OSError as error:
            raise WorkerFailed(f"the daemon cannot start a worker: {error.strerror or error}") from error
        try:
            async with asyncio.timeout(READY_WITHIN):
                return worker, await asyncio.shield(worker._ready)
        except TimeoutError:
            await worker.put_away()
            raise WorkerFailed(f"a worker did not start within {READY_WITHIN:.0f} seconds") from None
        except asyncio.CancelledError:
            await worker.put_away()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_free(self) -> bool:
        """Whether it can take a job."""
        return self.job is None and not self.dismissed and not self.gone.done() and self._process.returncode is None

    async def do(self, job: WorkerJob, tell: Callable[[JobProgress], None]) -> JobResult | JobFailure:
        """Run a job. Raises the reason of a kill, or WorkerFailed, if the worker ends before the job does."""
        answer: asyncio.Future[JobResult | JobFailure] = asyncio.get_running_loop().create_future()
        self.job, self._tell, self._answer = job, tell, answer
        try:
            if self.gone.done():
                raise self._failure()
            reach_crash_point(CrashPoint.DAEMON_SENT)
            self._write(job)
            found = await answer
            self.jobs, self.rss = self.jobs + 1, found.rss
            return found
        finally:
            self.job, self._tell, self._answer = None, _nobody, None

    def cancel(self) -> None:
        """Ask the running job to end at its next safe point."""
        if self.job is not None:
            self._write(CancelJob(self.job.number))

    def dismiss(self) -> None:
        """Let the worker end: immediately when idle, after a capture, at the next safe point of other work."""
        self.dismissed = True
        if self._process.stdin is not None:
            self._process.stdin.close()

    def terminate(self) -> None:
        """Ask it to end with a signal."""
        with contextlib.suppress(ProcessLookupError):
            if self._process.returncode is None:
                self._process.terminate()

    def kill(self, why: LifeboatError | None = None) -> None:
        """Kill it and what it started; callers waiting for its job get `why`. Committed data stays, and uncommitted
        work leaves no trace."""
        self.dismissed = True
        self._why = self._why or why
        kill_group(self._process)

    async def put_away(self) -> None:
        """End a worker that is no longer needed, and wait for its end."""
        self.kill()
        await asyncio.wait({self.gone}, timeout=_PIPES_WITHIN)

    def last_lines(self) -> list[str]:
        """Return the end of its standard error. It may contain anything: it is never logged, and never shown once the
        worker has read a workspace."""
        return self._said.decode(errors="backslashreplace").splitlines()[-_MOST_LINES:]

    # Messages from the worker -----------------------------------------------------------------------------------

    async def _listen(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        try:
            while line := await stdout.readline():
                self._hear(worker_messages.decode_for_daemon(line))
        except Exception:  # The line is too long or not a known message.
            self.kill(WorkerFailed("a worker sent an invalid message, so the daemon ended it"))
        await self._end()
        for future in (self._ready, self._answer):
            if future is not None and not future.done():
                future.set_exception(self._failure())
                future.exception()  # A waiting caller receives it, but there need not be one.

    async def _end(self) -> None:
        """Wait for the process. A process that it started may hold its pipes open, and is killed with it."""
        try:
            async with asyncio.timeout(_PIPES_WITHIN):
                await asyncio.gather(self._process.wait(), self._stderr)
        except TimeoutError:
            self.kill()
            self._stderr.cancel()

    def _hear(self, message: worker_messages.ToDaemon) -> None:
        if isinstance(message, WorkerReady):
            if not self._ready.done():
                self._ready.set_result(message)
        elif self.job is None or message.number != self.job.number:
            return  # The answer of a job whose caller no longer waits.
        elif isinstance(message, JobProgress):
            self._tell(message)
        elif self._answer is not None and not self._answer.done():
            self._answer.set_result(message)

    async def _drain(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while data := await stderr.read(_MOST_SAID):
            self.lines += data.count(b"\n")
            self._said = (self._said + data)[-_MOST_SAID:]

    def _write(self, message: worker_messages.ToWorker) -> None:
        """Write to the worker. If it has just ended, nothing is written: `_listen` notices the end."""
        stdin = self._process.stdin
        if stdin is not None and not stdin.is_closing():
            with contextlib.suppress(ConnectionError):
                stdin.write(worker_messages.encode_message(message))

    # How it ended -----------------------------------------------------------------------------------------------

    def describe_end(self) -> str:
        """How it ended, for people."""
        return describe_exit(self._process.returncode)

    def _failure(self) -> LifeboatError:
        if self._why is not None:
            return self._why
        if not self._ready.done():  # It has not read any user data yet, so its output may be shown.
            last = self.last_lines()
            return WorkerFailed(
                f"a worker {self.describe_end()} before it was ready" + (f": {last[-1]}" if last else "")
            )
        return WorkerFailed(f"the worker {self.describe_end()}")


def _nobody(_: JobProgress) -> None:
    return
