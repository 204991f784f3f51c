"""Workers, in this process and in others, on a real PostgreSQL: failing jobs, a database that goes away, and
shutdown."""

from __future__ import annotations

import logging
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.server.server_log import LOGGER
from lifeboat_endpoint.work.endpoint_queue import EndpointJob, EndpointQueue, JobRequest
from lifeboat_endpoint.work.endpoint_worker import EndpointWorker, WorkerPace, compute_pause
from lifeboat_endpoint.work.job_handlers import Handler, JobContext
from lifeboat_endpoint.work.worker_metrics import WorkerMetrics
from lifeboat_vault.errors import KeyRevoked, VaultBusy
from support.endpoint import work_process
from support.endpoint.keeping import clock, endpoint
from support.endpoint.work_process import QUICK, Sayings, made_up, unplanned
from support.endpoint.work_queues import LEASE, WORKER, QueueServer, only, queue, server
from support.patience import patience
from support.waiting import until

__all__ = ["clock", "endpoint", "queue", "server"]

CANARY = "halibut"


@pytest.fixture
def sayings(tmp_path: Path) -> Sayings:
    return Sayings(tmp_path / "sayings")


@dataclass
class Started:
    """Processes that are ended after the test."""

    endpoint: Endpoint
    server: QueueServer
    sayings: Sayings
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __call__(self, pace: WorkerPace = QUICK) -> subprocess.Popen[bytes]:
        made = work_process.start(self.endpoint, self.server.database.database(WORKER), self.sayings, pace)
        self.processes.append(made)
        return made


@pytest.fixture
def start(endpoint: Endpoint, server: QueueServer, sayings: Sayings) -> Iterator[Started]:
    made = Started(endpoint, server, sayings)
    yield made
    for process in made.processes:
        process.kill()
        process.wait(patience())


@dataclass
class Counted:
    """Records the results of jobs."""

    results: list[str] = field(default_factory=list)

    def ended(self, kind: str, result: str, seconds: float) -> None:
        self.results.append(result)


@dataclass
class InThread:
    """A worker in a thread of this process."""

    worker: EndpointWorker
    counted: Counted
    thread: threading.Thread

    def stop(self) -> None:
        self.worker.stopped.set()
        self.thread.join(patience())
        assert not self.thread.is_alive()


Threads = Callable[..., InThread]


@pytest.fixture
def in_thread(endpoint: Endpoint, queue: EndpointQueue, sayings: Sayings) -> Iterator[Threads]:
    """Workers in threads, which end with the test."""
    started: list[InThread] = []

    def start(pace: WorkerPace = QUICK, handlers: dict[str, Handler] | None = None) -> InThread:
        counted = Counted()
        made = worker_of(endpoint, queue, handlers or made_up(sayings), pace, counting=counted)
        started.append(InThread(made, counted, threading.Thread(target=made.run, daemon=True)))
        started[-1].thread.start()
        return started[-1]

    yield start
    for each in started:
        each.stop()


def worker_of(
    endpoint: Endpoint, queue: EndpointQueue, handlers: dict[str, Handler], pace: WorkerPace = QUICK, **options: Any
) -> EndpointWorker:
    return EndpointWorker(
        endpoint, queue, threading.Event(), "here", pace, handlers=handlers, plan=unplanned, **options
    )


def round_of(endpoint: Endpoint, queue: EndpointQueue, handler: Handler) -> str | None:
    """Request one job and run it; return its result."""
    queue.add("verify", tenant="a")
    return worker_of(endpoint, queue, {"verify": handler}).round()


# What becomes of a job ------------------------------------------------------------------------------------------------


def test_a_job_that_is_done_is_gone(endpoint: Endpoint, queue: EndpointQueue) -> None:
    assert round_of(endpoint, queue, lambda work, job: []) == "done"
    assert queue.jobs() == []


def test_problems_are_kept_and_the_job_is_tried_again(endpoint: Endpoint, queue: EndpointQueue) -> None:
    assert round_of(endpoint, queue, lambda work, job: ["one is damaged", "one is busy"]) == "failed"
    assert only(queue.jobs()).error == "one is damaged; one is busy"


def test_of_an_error_of_the_program_its_message_is_kept(endpoint: Endpoint, queue: EndpointQueue) -> None:
    def handler(work: object, job: object) -> list[str]:
        raise VaultBusy("somebody writes")

    assert round_of(endpoint, queue, handler) == "failed"
    assert only(queue.jobs()).error == "somebody writes"


def test_of_an_accident_nothing_is_kept_or_logged_but_class_and_place(
    endpoint: Endpoint, queue: EndpointQueue, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def handler(work: object, job: object) -> list[str]:
        raise ValueError(CANARY)

    monkeypatch.setattr(LOGGER, "propagate", True)
    with caplog.at_level(logging.INFO, LOGGER.name):
        assert round_of(endpoint, queue, handler) == "failed"
    kept = only(queue.jobs()).error
    assert kept.startswith("ValueError at work/test_worker.py")
    assert CANARY not in kept
    assert CANARY not in caplog.text
    assert "kind=verify tenant=a agent=- attempt=1 result=failed" in caplog.text


def test_where_a_key_was_taken_away_nothing_is_left_to_do(endpoint: Endpoint, queue: EndpointQueue) -> None:
    def handler(work: object, job: object) -> list[str]:
        raise KeyRevoked("the key was taken away")

    assert round_of(endpoint, queue, handler) == "revoked"
    assert queue.jobs() == []


@pytest.mark.parametrize("kind", ["shred", "reencrypt"])
def test_what_was_asked_for_once_waits_until_the_key_is_given_back(
    endpoint: Endpoint, queue: EndpointQueue, server: QueueServer, kind: str
) -> None:
    answers: list[list[str] | KeyRevoked] = [KeyRevoked("the key was taken away"), []]

    def handler(work: object, job: object) -> list[str]:
        answer = answers.pop(0)
        if isinstance(answer, KeyRevoked):
            raise answer
        return answer

    queue.add(kind, tenant="a")
    worker = worker_of(endpoint, queue, {kind: handler})
    assert worker.round() == "revoked" and worker.round() is None
    assert (only(queue.jobs()).state, only(queue.jobs()).attempts) == ("waiting", 0)
    server.pass_time(3700)
    assert worker.round() == "done" and queue.jobs() == []


def test_a_text_that_no_database_takes_is_kept_without_what_it_does_not_take(
    endpoint: Endpoint, queue: EndpointQueue
) -> None:
    assert round_of(endpoint, queue, lambda work, job: ["a\0b"]) == "failed"
    assert only(queue.jobs()).error == "ab"


def test_without_jobs_there_is_nothing_to_do(endpoint: Endpoint, queue: EndpointQueue) -> None:
    worker = worker_of(endpoint, queue, {})
    assert worker.round() is None
    assert worker.run_once()


def test_once_does_all_that_is_due_and_ends(endpoint: Endpoint, queue: EndpointQueue, sayings: Sayings) -> None:
    queue.add_missing([JobRequest("quick", f"tenant-{number}") for number in range(5)])
    assert worker_of(endpoint, queue, made_up(sayings)).run_once()
    assert sayings.count("ended") == 5


# Leases ---------------------------------------------------------------------------------------------------------------


def test_a_job_that_takes_longer_than_its_lease_is_held(
    in_thread: Threads, queue: EndpointQueue, server: QueueServer, sayings: Sayings
) -> None:
    pace = WorkerPace(lease=600.0, beat=0.1, idle=0.05, plan=3600.0)
    over = threading.Event()

    def handler(work: JobContext, job: EndpointJob) -> list[str]:
        sayings.say("begun", job)
        until(lambda: work.step() or over.is_set(), "the end of the lease")
        sayings.say("ended", job)
        return []

    first, second = (in_thread(pace, {"slow": handler}) for _ in range(2))
    queue.add("slow", tenant="a")
    sayings.wait_for("begun")
    for _ in range(3):
        held_until = only(queue.jobs()).due_at
        server.pass_time(400)
        until(lambda before=held_until: only(queue.jobs()).due_at > before, "the next beat")
    over.set()
    sayings.wait_for("ended")
    first.stop()
    second.stop()
    assert sorted(first.counted.results + second.counted.results) == ["done"]
    assert sayings.count("begun") == 1


def test_who_lost_the_lease_stops_at_the_next_step_and_goes_on_with_other_work(
    in_thread: Threads, queue: EndpointQueue, server: QueueServer, sayings: Sayings
) -> None:
    worker = in_thread()
    queue.add("long", tenant="a")
    sayings.wait_for("begun")

    def taken_between_two_beats() -> EndpointJob | None:
        server.pass_time(4000)
        return queue.take("other", LEASE, ["long"])

    other = until(taken_between_two_beats, "the job")
    assert other is not None
    until(lambda: worker.counted.results == ["lost"])
    assert only(queue.jobs()).worker == "other"
    queue.add("quick", tenant="b")
    sayings.wait_for("ended")
    worker.stop()
    queue.finish(other)


def test_who_lost_the_lease_and_cannot_stop_ends(in_thread: Threads, queue: EndpointQueue) -> None:
    gate = threading.Event()

    def handler(work: object, job: object) -> list[str]:
        gate.wait(patience())
        return []

    worker = in_thread(handlers={"stuck": handler})
    queue.add("stuck", tenant="a")
    until(lambda: [row.state for row in queue.jobs()] == ["running"])
    stolen = only(queue.jobs())
    with queue._transaction() as cursor:
        cursor.execute("update lifeboat_work.job set lease = lease + 1 where id = %s", (stolen.id,))
    worker.thread.join(patience())
    assert worker.counted.results == ["left"]
    gate.set()


def test_a_job_that_runs_for_very_long_is_given_back_at_its_next_step(
    endpoint: Endpoint, queue: EndpointQueue, sayings: Sayings
) -> None:
    queue.add("long", tenant="a")
    assert worker_of(endpoint, queue, made_up(sayings), WorkerPace(longest=0.3)).round() == "released"
    assert only(queue.jobs()).state == "waiting"


def test_where_nothing_can_be_planned_what_waits_is_done(
    endpoint: Endpoint, queue: EndpointQueue, sayings: Sayings
) -> None:
    def fail(endpoint: Endpoint, queue: EndpointQueue) -> int:
        raise VaultBusy("the tables of tenants do not answer")

    queue.add("quick", tenant="a")
    worker = worker_of(endpoint, queue, made_up(sayings))
    worker.plan = fail
    assert worker.round() == "done"


# Processes ------------------------------------------------------------------------------------------------------------


def test_of_200_jobs_four_processes_do_each_once(queue: EndpointQueue, start: Started, sayings: Sayings) -> None:
    tenants = [f"tenant-{number}" for number in range(200)]
    queue.add_missing([JobRequest("quick", tenant) for tenant in tenants])
    for _ in range(4):
        start()
    sayings.wait_for("ended", 200)
    said = sayings.all()
    assert sorted(tenant for word, tenant, _ in said if word == "begun") == sorted(tenants)
    assert sorted(tenant for word, tenant, _ in said if word == "ended") == sorted(tenants)
    assert len({pid for _, _, pid in said}) > 1
    until(lambda: queue.jobs() == [])


def test_the_same_job_asked_for_again_and_again_never_runs_twice_at_once(
    queue: EndpointQueue, start: Started, sayings: Sayings
) -> None:
    for _ in range(2):
        start()
    until(lambda: _asked(queue, "quick") and len({pid for _, _, pid in sayings.all()}) == 2)
    until(lambda: _asked(queue, "quick") and sayings.count("ended") >= 20)
    until(lambda: queue.jobs() == [])
    words = [word for word, _, _ in sayings.all()]
    assert words == ["begun", "ended"] * (len(words) // 2)


def test_what_a_killed_process_was_at_is_taken_over_after_its_lease(
    queue: EndpointQueue, server: QueueServer, start: Started, sayings: Sayings
) -> None:
    queue.add("slow", tenant="a")
    first = start()
    sayings.wait_for("begun")
    first.kill()
    first.wait(patience())
    assert queue.take("other", LEASE, ["slow"]) is None, "its lease holds"
    server.pass_time(4000)
    second = start()
    sayings.wait_for("begun", 2)
    sayings.wait_for("ended")
    assert [pid for word, _, pid in sayings.all() if word == "ended"] == [second.pid]
    until(lambda: queue.jobs() == [])


def test_a_process_that_is_to_stop_gives_its_job_back_at_the_next_step(
    queue: EndpointQueue, start: Started, sayings: Sayings
) -> None:
    queue.add("long", tenant="a")
    process = start()
    sayings.wait_for("begun")
    process.send_signal(signal.SIGTERM)
    assert process.wait(patience()) == 0
    row = only(queue.jobs())
    assert (row.state, row.attempts) == ("waiting", 0)


def test_a_process_that_is_to_stop_leaves_a_job_without_steps_to_its_lease(
    queue: EndpointQueue, start: Started, sayings: Sayings
) -> None:
    queue.add("stuck", tenant="a")
    process = start()
    sayings.wait_for("begun")
    process.send_signal(signal.SIGTERM)
    assert process.wait(patience()) == 1
    assert only(queue.jobs()).state == "running"


def test_an_idle_process_stops_at_once(queue: EndpointQueue, start: Started, sayings: Sayings) -> None:
    queue.add("quick", tenant="a")
    process = start()
    sayings.wait_for("ended")
    process.send_signal(signal.SIGTERM)
    assert process.wait(patience()) == 0


# A database that goes away --------------------------------------------------------------------------------------------


def test_workers_that_wait_survive_a_restart_of_the_database(
    in_thread: Threads, queue: EndpointQueue, server: QueueServer, sayings: Sayings
) -> None:
    worker = in_thread()
    server.database.server.restart()
    until(lambda: _asked(queue, "quick"))
    sayings.wait_for("ended")
    worker.stop()
    assert worker.counted.results == ["done"]


def test_a_job_during_which_the_database_restarts_is_done_once(
    in_thread: Threads, queue: EndpointQueue, server: QueueServer, sayings: Sayings
) -> None:
    pace = WorkerPace(lease=3600.0, beat=0.2, idle=0.05, plan=3600.0)
    worker = in_thread(pace)
    queue.add("slow", tenant="a")
    sayings.wait_for("begun")
    server.database.server.restart()
    sayings.wait_for("ended")
    until(lambda: worker.counted.results != [])
    worker.stop()
    assert worker.counted.results == ["done"]
    assert sayings.count("begun") == 1
    assert queue.jobs() == []


def test_while_the_database_is_gone_a_worker_looks_seldom_and_stops_at_once(
    endpoint: Endpoint, queue: EndpointQueue, server: QueueServer
) -> None:
    looks = 0

    def count() -> None:
        nonlocal looks
        looks += 1

    worker = worker_of(endpoint, queue, {}, alive=count)
    server.database.server.stop()
    thread = threading.Thread(target=worker.run)
    try:
        thread.start()
        time.sleep(3)
        assert looks <= 4
        worker.stopped.set()
        thread.join(patience())
        assert not thread.is_alive()
    finally:
        server.database.server.start()


def test_a_job_that_ends_while_the_database_is_gone_for_long_is_told_as_lost(
    in_thread: Threads, queue: EndpointQueue, server: QueueServer, sayings: Sayings
) -> None:
    worker = in_thread(WorkerPace(lease=1.5, beat=0.2, idle=0.05, plan=3600.0))
    queue.add("long", tenant="a")
    sayings.wait_for("begun")
    server.database.server.stop()
    try:
        until(lambda: worker.counted.results == ["lost"])
    finally:
        server.database.server.start()
        worker.stop()


def test_pauses_grow_to_half_a_minute_and_are_spread() -> None:
    assert [compute_pause(failures, 0.5) for failures in (1, 2, 3, 4, 5, 6, 60)] == [1, 2, 4, 8, 16, 30, 30]
    assert compute_pause(1, 0.0) == 0.5


def _asked(queue: EndpointQueue, kind: str) -> bool:
    try:
        queue.add(kind, tenant="a")
    except VaultBusy:
        return False
    return True


# Figures --------------------------------------------------------------------------------------------------------------


def test_figures_tell_of_jobs_and_of_the_queue_and_name_no_tenant(endpoint: Endpoint, queue: EndpointQueue) -> None:
    figures = WorkerMetrics(queue)
    queue.add("verify", tenant="tenant-of-figures", agent="agent-of-figures")
    figures.ended("sweep", "done", 0.3)
    text = figures.text().decode()
    assert 'lifeboat_jobs_total{kind="sweep",result="done"} 1.0' in text
    assert 'lifeboat_queue_jobs{kind="verify",state="waiting"} 1.0' in text
    assert 'lifeboat_queue_oldest_seconds{kind="verify"}' in text
    assert "of-figures" not in text


def test_figures_answer_on_a_port_and_end(queue: EndpointQueue) -> None:
    import urllib.request

    from lifeboat_vault.errors import PortTaken

    figures = WorkerMetrics(queue)
    stop = figures.serve("127.0.0.1", port := _free_port())
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=patience()) as answer:
        assert b"lifeboat_queue_jobs" in answer.read()
    with pytest.raises(PortTaken):
        figures.serve("127.0.0.1", port)
    stop()


def test_figures_of_a_queue_that_does_not_answer_are_left_out() -> None:
    class Away(EndpointQueue):
        def __init__(self) -> None:
            pass

        def counts(self) -> list[object]:  # type: ignore[override]
            raise VaultBusy("the database does not answer")

    assert b"lifeboat_queue_jobs{" not in WorkerMetrics(Away()).text()


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
