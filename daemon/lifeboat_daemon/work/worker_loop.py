"""The worker's side: it reads jobs from standard input, performs them one by one, and writes the results.

A thread reads, so that a cancellation and the end of the daemon are noticed while a job runs. Jobs run, and messages
are sent, in the main thread.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module, util
from typing import Any, BinaryIO

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import BadRequest, Cancelled, HomeError, UnexpectedError
from lifeboat_core.home.context import Context
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.processes.installed_release import read_release
from lifeboat_core.system_refusals import convert_error
from lifeboat_daemon.control import error_documents
from lifeboat_daemon.work import operations, process_priority, time_limits, worker_messages
from lifeboat_daemon.work.worker_messages import CancelJob, JobFailure, JobProgress, JobResult, WorkerJob, WorkerReady
from lifeboat_keys.hardening import disable_core_dumps

_BETWEEN_TELLS = 0.25
"""Seconds."""
_END_WITHIN = 10.0
"""Seconds that a job which may be cancelled continues after the daemon is gone."""
_ENDED = 75


def _nothing(text: str, done: int, total: int | None) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True)
class RunningJob:
    """One job. `agent` is None for work without an agent."""

    context: Context
    agent: Agent | None = None
    parameters: JsonObject = field(default_factory=dict)
    told: Callable[[str, int, int | None], None] = _nothing
    is_cancelled: Callable[[], bool] = lambda: False

    def needed_agent(self) -> Agent:
        """Return the agent of a job that needs one. Raises BadRequest."""
        if self.agent is None:
            raise BadRequest("this operation needs the id of an agent")
        return self.agent

    def tell(self, text: str, done: int = 0, total: int | None = None) -> None:
        """Report progress: words for people without file names, and units done of a total. Can be called at any rate,
        because frequent reports are dropped."""
        self.told(text, done, total)

    def check(self) -> None:
        """Mark a safe point. Raises Cancelled if the job was cancelled or the daemon is gone."""
        if self.is_cancelled():
            raise Cancelled("the job was cancelled")


class WorkerStreams:
    """The two streams. A separate thread reads the messages. `operation` is the running one."""

    def __init__(self, requests: BinaryIO, answers: int) -> None:
        self._requests = requests
        self._answers = answers
        self._jobs: queue.SimpleQueue[WorkerJob | None] = queue.SimpleQueue()
        self._cancelled: set[int] = set()
        self.operation: str | None = None
        self._closing = False
        self._last_told = 0.0

    def open(self) -> None:
        """Send the first message and start reading."""
        reach_crash_point(CrashPoint.WORKER_READY)
        self._send(worker_messages.encode_message(WorkerReady(os.getpid(), read_release())))
        threading.Thread(target=self._read, name="requests", daemon=True).start()

    def next_job(self) -> WorkerJob | None:
        """Return the next job, or None if there will be none. Jobs received before the end of the input are still
        performed: a capture that a daemon sent before it stopped is made."""
        return self._jobs.get()

    def close(self) -> None:
        """Stop accepting jobs. The running one ends at its next safe point, or finishes if it is not cancelled."""
        self._closing = True
        self._jobs.put(None)

    def is_cancelled(self, number: int) -> bool:
        return self._closing or number in self._cancelled

    def tell(self, progress: JobProgress) -> None:
        now = time.monotonic()
        if now - self._last_told >= _BETWEEN_TELLS:
            self._last_told = now
            self._send(worker_messages.encode_message(progress))

    def answer(self, message: JobResult | JobFailure) -> None:
        """Send a result. One that is too large for a line is reported as a failure."""
        try:
            line = worker_messages.encode_message(message)
        except (TypeError, ValueError, RecursionError) as error:
            line = worker_messages.encode_message(
                JobFailure(message.number, error_documents.describe_error(convert_error(error)), message.rss)
            )
        if len(line) > worker_messages.LONGEST_LINE:
            known = UnexpectedError(f"the answer of the worker has {len(line)} bytes, more than the limit")
            line = worker_messages.encode_message(
                JobFailure(message.number, error_documents.describe_error(known), message.rss)
            )
        reach_crash_point(CrashPoint.WORKER_TOLD)
        self._last_told = 0.0
        self._send(line)

    def _send(self, line: bytes) -> None:
        """Send a message. If the daemon is gone, the error is ignored so that a capture finishes."""
        with contextlib.suppress(BrokenPipeError, ConnectionError):
            left = memoryview(line)
            while left:
                left = left[os.write(self._answers, left) :]

    def _read(self) -> None:
        try:
            for line in self._requests:
                message = worker_messages.decode_for_worker(line)
                if isinstance(message, CancelJob):
                    self._cancelled.add(message.number)
                else:
                    self._jobs.put(message)
        except (msgspec.MsgspecError, OSError):
            pass  # This sender is not our daemon, or it is no longer intact.
        self.close()
        time.sleep(_END_WITHIN)
        if self.operation not in time_limits.SEEN_THROUGH:
            os._exit(_ENDED)  # No safe point is near, and this work can be killed without harm.


def main() -> None:
    """Work until the daemon closes standard input."""
    process_priority.lower_priority()
    disable_core_dumps()
    desk = WorkerStreams(*_take_streams())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: desk.close())
    desk.open()
    _load()
    while (job := desk.next_job()) is not None:
        desk.answer(_done(desk, job))


def _take_streams() -> tuple[BinaryIO, int]:
    """Reserve the two streams: output of libraries goes to standard error, and child processes read nothing."""
    requests, answers = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    sys.stdout.flush()
    os.dup2(2, 1)
    return os.fdopen(requests, "rb"), answers


def _load() -> None:
    """Import the modules that captures of this home's agents need, before the first job. An error is reported by the
    job that needs the module."""
    with contextlib.suppress(Exception):
        _operation("capture")
        context = _context()
        for runtime in {agent.runtime for agent in agents.list_agents(context)}:
            context.adapter(runtime)


def _done(desk: WorkerStreams, job: WorkerJob) -> JobResult | JobFailure:
    """Perform a job and return its result or failure."""
    try:
        desk.operation = job.operation
        reach_crash_point(CrashPoint.WORKER_BEGUN)
        process_priority.set_disk_priority(job.operation)
        document = _run(desk, job)
        reach_crash_point(CrashPoint.WORKER_DONE)
        return JobResult(job.number, document, process_priority.read_memory_use())
    except Exception as error:
        return JobFailure(
            job.number, error_documents.describe_error(convert_error(error)), process_priority.read_memory_use()
        )


def _run(desk: WorkerStreams, job: WorkerJob) -> JsonObject:
    run = _operation(job.operation).run
    context = _context()
    agent = None if job.agent is None else agents.load_agent(context, job.agent)
    work = RunningJob(
        context,
        agent,
        job.parameters,
        lambda text, done, total: desk.tell(JobProgress(job.number, text, done, total)),
        lambda: job.operation not in time_limits.SEEN_THROUGH and desk.is_cancelled(job.number),
    )
    work.check()
    document: JsonObject = run(work)
    return document


def _context() -> Context:
    """Return the context of the existing home. A worker never creates one, because it would be mistaken for the missing
    home. Raises HomeError."""
    home = Home.locate(os.environ)
    if not home.folder.is_dir():
        raise HomeError(f"the home {home.folder} was removed")
    return Context.open()


def _operation(name: str) -> Any:
    """Return the module of an operation. Raises BadRequest."""
    module = f"{operations.__name__}.{name}"
    if not (name.isidentifier() and name.isascii()) or name.startswith("_") or util.find_spec(module) is None:
        raise BadRequest(f"the worker does not know the operation {name!r}")
    return import_module(module)
