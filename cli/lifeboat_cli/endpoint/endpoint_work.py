"""`lifeboat endpoint work` and `jobs`: a worker of a shared endpoint, and the jobs of workers."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.endpoint.endpoint_session import EndpointSession, endpoint_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.texts.human_text import time_text
from lifeboat_daemon.units import systemd_notify

if TYPE_CHECKING:
    from lifeboat_endpoint.work.endpoint_queue import EndpointQueue, JobRow
    from lifeboat_endpoint.work.endpoint_worker import JobCounter

_WELL = ("done", "released")
_ID = click.argument("job_id", metavar="ID", type=click.IntRange(min=1))


class _JobTally:
    """Counts the results of jobs, and passes each on to the metrics."""

    def __init__(self, other: JobCounter | None) -> None:
        self._other = other
        self.results: Counter[str] = Counter()

    def ended(self, kind: str, result: str, seconds: float) -> None:
        self.results[result] += 1
        if self._other is not None:
            self._other.ended(kind, result, seconds)


@click.command(
    short_help="Run a worker of a shared endpoint until Ctrl-C.",
    epilog=format_examples(
        "lifeboat endpoint work --data /srv/lifeboat",
        "lifeboat endpoint work --metrics 127.0.0.1:9464 --data /srv/lifeboat",
        "lifeboat endpoint work --once --data /srv/lifeboat",
    ),
)
@click.option("--once", is_flag=True, help="Run the jobs that are due now, then exit.")
@click.option(
    "--metrics",
    metavar="HOST:PORT",
    help="Serve Prometheus metrics at this address, for example 127.0.0.1:9464. "
    "The metrics contain no names of tenants.",
)
@endpoint_command
def work(session: EndpointSession, once: bool, metrics: str | None) -> int:
    """Run a worker for an endpoint that uses a database and an object store.

    The worker applies purges when their waiting time ends, deletes old history, re-encrypts data after key changes,
    verifies data and removes leftover objects. You can run any number of workers on any machines, beside the
    servers. Each worker runs one job at a time. On SIGTERM the worker stops after its current step, and another
    worker continues the job.
    """
    from lifeboat_endpoint.server import server_log
    from lifeboat_endpoint.work.endpoint_worker import EndpointWorker
    from lifeboat_endpoint.work.shared_queue import open_queue

    server_log.to_standard_error()
    with session.open() as endpoint, ExitStack() as stack:
        queue = open_queue(endpoint)
        endpoint.check_key()
        tally = _JobTally(None if metrics is None else _served(queue, metrics, stack.callback))
        stopped = stack.enter_context(_stopped_by_signals())
        name = f"{socket.gethostname()} {os.getpid()}"
        worker = EndpointWorker(endpoint, queue, stopped, name, counting=tally, alive=systemd_notify.notify_watchdog)
        return _work(session, worker, once, tally)


def _served(queue: EndpointQueue, listen: str, at_end: Callable[..., Any]) -> JobCounter:
    """Serve metrics at an address while the context lasts. Raises ServerMissing, PortTaken, CannotServe."""
    from lifeboat_endpoint.server.server_names import parse_listen
    from lifeboat_endpoint.work.worker_metrics import WorkerMetrics

    figures = WorkerMetrics(queue)
    at_end(figures.serve(*parse_listen(listen)))
    return figures


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM and SIGINT set. The former handlers are restored afterwards."""
    stopped = threading.Event()

    def stop(*_: object) -> None:
        systemd_notify.notify_stopping()
        stopped.set()

    former = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopped
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _work(session: EndpointSession, worker: Any, once: bool, tally: _JobTally) -> int:
    if not once:
        systemd_notify.notify_ready("running jobs")
        session.output.note(f"The worker {worker.name} is running. Press Ctrl-C to stop it.")
        return 0 if worker.run() or worker.stopped.is_set() else 1
    whole = worker.run_once()
    results = dict(sorted(tally.results.items()))
    said = ", ".join(f"{count} {result}" for result, count in results.items()) or "no jobs were due"
    session.output.document({"jobs": results}, lambda: session.output.line(f"Jobs: {said}."))
    return 0 if whole and set(results) <= set(_WELL) else 1


# Jobs ---------------------------------------------------------------------------------------------------------------


@click.group()
def jobs() -> None:
    """Manage the jobs that the workers of a shared endpoint run."""


@jobs.command(
    name="list",
    short_help="List waiting, running and failed jobs.",
    epilog=format_examples("lifeboat endpoint jobs list --data /srv/lifeboat"),
)
@click.option("--dead", "only_dead", is_flag=True, help="Show only jobs that failed too often and are not retried.")
@pager_option
@endpoint_command
def list_command(session: EndpointSession, only_dead: bool) -> None:
    """List waiting, running and failed jobs with their last error, in the order of execution. At most 1000 jobs are
    listed.
    """
    from lifeboat_endpoint.work.shared_queue import open_queue

    with session.open() as endpoint:
        queue = open_queue(endpoint)
        rows = queue.dead() if only_dead else queue.jobs()
        names = {tenant.id: tenant.name for tenant in endpoint.control.tenants()} if rows else {}
    documents = [_document(row, names) for row in rows]

    def text() -> None:
        if not documents:
            session.output.line("No job has failed." if only_dead else "There are no jobs.")
            return
        columns = ("id", "what", "tenant", "agent", "state", "tries", "since", "due", "error")
        fit = TableFit(shorten=("tenant", "agent", "what"), drop=("since", "tries", "agent"), wrap="error")
        with session.output.pager():
            session.output.table(columns, _rows(), fit)

    def _rows() -> list[tuple[object, ...]]:
        return [
            (
                each["id"],
                each["kind"],
                each["tenant"] or "-",
                each["agent"] or "-",
                each["state"],
                each["attempts"],
                time_text(each["changed_at"]),
                "-" if each["state"] == "dead" else time_text(each["due_at"]),
                each["error"] or "-",
            )
            for each in documents
        ]

    session.output.document({"jobs": documents}, text)


@jobs.command(
    short_help="Run a waiting or failed job as soon as possible.",
    epilog=format_examples("lifeboat endpoint jobs retry 42 --data /srv/lifeboat"),
)
@_ID
@endpoint_command
def retry(session: EndpointSession, job_id: int) -> None:
    """Run a waiting or failed job as soon as a worker is free."""
    from lifeboat_endpoint.work.shared_queue import open_queue

    with session.open() as endpoint:
        row = open_queue(endpoint).retry(job_id)
    _said(session, row, "retried", f"The next free worker runs the job {job_id} ({row.kind}).")


@jobs.command(
    short_help="Delete a job.",
    epilog=format_examples("lifeboat endpoint jobs drop 42 --data /srv/lifeboat"),
)
@_ID
@endpoint_command
def drop(session: EndpointSession, job_id: int) -> None:
    """Delete a failed or waiting job. A periodic job is scheduled again at its next time."""
    from lifeboat_endpoint.work.shared_queue import open_queue

    with session.open() as endpoint:
        row = open_queue(endpoint).drop(job_id)
    _said(session, row, "dropped", f"Deleted the job {job_id} ({row.kind}).")


def _said(session: EndpointSession, row: JobRow, word: str, sentence: str) -> None:
    document = {"id": row.id, "kind": row.kind, "was": row.state, word: True}
    session.output.document(document, lambda: session.output.line(sentence))


def _document(row: JobRow, names: dict[str, str]) -> JsonObject:
    from lifeboat_alf.common import times

    return {
        "id": row.id,
        "kind": row.kind,
        "tenant": names.get(row.tenant, row.tenant),
        "agent": row.agent,
        "state": row.state,
        "attempts": row.attempts,
        "added_at": times.to_text(row.added_at),
        "changed_at": times.to_text(row.changed_at),
        "due_at": times.to_text(row.due_at),
        "worker": row.worker,
        "error": row.error,
    }
