"""The job queue, on a real PostgreSQL: which worker gets which job, and the states of jobs."""

from __future__ import annotations

import contextlib
import threading
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from lifeboat_endpoint.engines.postgres.connection_pools import Database, Pools
from lifeboat_endpoint.work.endpoint_queue import MOST_ATTEMPTS, EndpointJob, EndpointQueue, JobRequest, wait_after
from lifeboat_vault.errors import EndpointBusy, EndpointError, LeaseLost, VaultError
from support.alf.raising import raises_code
from support.endpoint.work_queues import API, KINDS, LEASE, QueueServer, only, queue, server
from support.patience import patience

__all__ = ["queue", "server"]

LONG = 10 * LEASE.total_seconds()


def take(queue: EndpointQueue, worker: str = "one") -> EndpointJob | None:
    return queue.take(worker, LEASE, KINDS)


def taken(queue: EndpointQueue, worker: str = "one") -> EndpointJob:
    job = take(queue, worker)
    assert job is not None
    return job


def soon(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


# Asking for work ------------------------------------------------------------------------------------------------------


def test_what_is_asked_for_twice_is_one_job(queue: EndpointQueue) -> None:
    queue.add("verify", tenant="a")
    queue.add("verify", tenant="a")
    queue.finish(taken(queue))
    assert take(queue) is None


def test_another_kind_tenant_or_agent_is_another_job(queue: EndpointQueue) -> None:
    for kind, tenant, agent in (("verify", "a", ""), ("sweep", "a", ""), ("verify", "b", ""), ("verify", "a", "x")):
        queue.add(kind, tenant=tenant, agent=agent)
    assert len(queue.jobs()) == 4


def test_a_job_for_later_is_taken_later(queue: EndpointQueue, server: QueueServer) -> None:
    queue.add("verify", tenant="a", run_at=soon(100))
    assert take(queue) is None
    server.pass_time(101)
    assert taken(queue).kind == "verify"


def test_an_earlier_wish_brings_a_job_forward_and_a_later_one_does_not_put_it_off(queue: EndpointQueue) -> None:
    queue.add("verify", tenant="a", run_at=soon(100))
    queue.add("verify", tenant="a")
    queue.add("verify", tenant="a", run_at=soon(1000))
    assert taken(queue).tenant == "a"


def test_what_is_asked_for_while_it_runs_is_done_once_more(queue: EndpointQueue) -> None:
    queue.add("verify", tenant="a")
    running = taken(queue)
    queue.add("verify", tenant="a")
    queue.add("verify", tenant="a")
    assert take(queue) is None
    queue.finish(running)
    queue.finish(taken(queue))
    assert take(queue) is None


def test_what_is_asked_for_later_while_it_runs_is_done_then(queue: EndpointQueue, server: QueueServer) -> None:
    queue.add("verify", tenant="a")
    running = taken(queue)
    queue.add("verify", tenant="a", run_at=soon(100))
    queue.finish(running)
    assert take(queue) is None
    server.pass_time(101)
    assert taken(queue).attempt == 1


def test_a_plan_asks_only_for_what_neither_waits_nor_runs(queue: EndpointQueue) -> None:
    queue.add("verify", tenant="a")
    running = taken(queue)
    queue.add("sweep", tenant="a")
    assert queue.add_missing([JobRequest("verify", "a"), JobRequest("sweep", "a"), JobRequest("verify", "b")]) == 1
    queue.finish(running)
    assert {(row.kind, row.tenant) for row in queue.jobs()} == {("sweep", "a"), ("verify", "b")}


def test_a_plan_for_nothing_asks_for_nothing(queue: EndpointQueue) -> None:
    assert queue.add_missing([]) == 0


# Whose turn it is -----------------------------------------------------------------------------------------------------


def test_a_purge_comes_before_everything_older(queue: EndpointQueue) -> None:
    queue.add("verify", tenant="a")
    queue.add("look_after", tenant="b")
    queue.add("apply_purge", tenant="c")
    assert taken(queue).kind == "apply_purge"


def test_the_older_job_comes_first(queue: EndpointQueue) -> None:
    queue.add("verify", tenant="a")
    queue.add("verify", tenant="b")
    assert [taken(queue).tenant, taken(queue).tenant] == ["a", "b"]


def test_nobody_waits_behind_the_hundreds_of_jobs_of_another(queue: EndpointQueue) -> None:
    queue.add_missing([JobRequest("look_after", "large", f"agent-{number}") for number in range(500)])
    for tenant in ("small", "tiny"):
        queue.add("look_after", tenant=tenant)
    assert [taken(queue).tenant for _ in range(3)] == ["large", "small", "tiny"]


def test_who_asks_for_one_after_another_stands_back_as_who_asks_for_all_at_once(queue: EndpointQueue) -> None:
    for number in range(20):
        queue.add("look_after", tenant="large", agent=f"agent-{number}")
    queue.add("look_after", tenant="small")
    assert "small" in [taken(queue).tenant for _ in range(3)]


def test_two_with_many_jobs_take_turns(queue: EndpointQueue) -> None:
    for tenant in ("a", "b"):
        queue.add_missing([JobRequest("look_after", tenant, f"agent-{number}") for number in range(50)])
    order = [taken(queue).tenant for _ in range(40)]
    assert 18 <= order.count("a") <= 22
    assert all(set(order[begin : begin + 4]) == {"a", "b"} for begin in range(0, 40, 4))


def test_a_worker_takes_only_kinds_that_it_knows(queue: EndpointQueue) -> None:
    queue.add("of_tomorrow", tenant="a")
    assert take(queue) is None
    assert queue.take("newer", LEASE, ["of_tomorrow"]) is not None


def test_two_workers_that_ask_at_once_get_different_jobs(queue: EndpointQueue, server: QueueServer) -> None:
    queue.add_missing([JobRequest("verify", f"tenant-{number}") for number in range(40)])
    found: list[int] = []
    start = threading.Barrier(4)

    def work() -> None:
        own = server.queue()
        start.wait(patience())
        while (job := take(own)) is not None:
            found.append(job.id)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience())
    assert len(found) == len(set(found)) == 40


def test_a_job_that_is_just_being_taken_is_passed_over_and_not_waited_for(
    queue: EndpointQueue, server: QueueServer
) -> None:
    queue.add("verify", tenant="a")
    queue.add("verify", tenant="b")
    with contextlib.closing(server.database.connect()) as other, other.transaction():
        other.execute("select 1 from lifeboat_work.job where tenant = 'a' for update")
        assert taken(queue).tenant == "b"


# Leases ---------------------------------------------------------------------------------------------------------------


def test_a_job_that_is_held_is_given_to_nobody_else(queue: EndpointQueue, server: QueueServer) -> None:
    queue.add("verify", tenant="a")
    job = taken(queue)
    server.pass_time(LEASE.total_seconds() - 1)
    assert take(queue, "two") is None
    queue.heartbeat(job, LEASE)
    server.pass_time(LEASE.total_seconds() - 1)
    assert take(queue, "two") is None


def test_a_job_whose_worker_fell_silent_is_taken_over(queue: EndpointQueue, server: QueueServer) -> None:
    queue.add("verify", tenant="a")
    first = taken(queue)
    server.pass_time(LONG)
    second = taken(queue, "two")
    assert (second.id, second.attempt) == (first.id, 2)


@pytest.mark.parametrize("say", ["heartbeat", "finish", "fail", "release"])
def test_whoever_lost_the_lease_is_told_and_changes_nothing(
    queue: EndpointQueue, server: QueueServer, say: str
) -> None:
    queue.add("verify", tenant="a")
    first = taken(queue)
    server.pass_time(LONG)
    second = taken(queue, "two")
    before = queue.jobs()
    more = {"heartbeat": (LEASE,), "fail": ("x",)}.get(say, ())
    with pytest.raises(LeaseLost):
        getattr(queue, say)(first, *more)
    assert queue.jobs() == before
    queue.finish(second)


@pytest.mark.parametrize("say", ["heartbeat", "finish", "fail", "release"])
def test_a_job_that_is_gone_is_held_by_nobody(queue: EndpointQueue, say: str) -> None:
    queue.add("verify", tenant="a")
    job = taken(queue)
    queue.finish(job)
    more = {"heartbeat": (LEASE,), "fail": ("x",)}.get(say, ())
    with pytest.raises(LeaseLost):
        getattr(queue, say)(job, *more)


def test_a_late_worker_whose_job_nobody_took_still_finishes_it(queue: EndpointQueue, server: QueueServer) -> None:
    queue.add("verify", tenant="a")
    job = taken(queue)
    server.pass_time(LONG)
    queue.finish(job)
    assert queue.jobs() == []


def test_a_job_that_is_given_back_is_taken_at_once_and_counts_as_never_taken(queue: EndpointQueue) -> None:
    queue.add("verify", tenant="a")
    queue.release(taken(queue))
    assert taken(queue).attempt == 1


# Failing --------------------------------------------------------------------------------------------------------------


def test_waits_double_make_about_an_hour_together_and_are_spread() -> None:
    waits = [wait_after(attempt, 0.5).total_seconds() for attempt in range(1, MOST_ATTEMPTS)]
    assert waits[:3] == [30, 60, 120]
    assert 3600 <= sum(waits) <= 4200
    assert wait_after(1, 0.0) == timedelta(seconds=15)
    assert wait_after(1, 1.0) == timedelta(seconds=45)


def test_a_job_that_failed_waits_and_is_tried_again(queue: EndpointQueue, server: QueueServer) -> None:
    queue.add("verify", tenant="a")
    assert queue.fail(taken(queue), "the vault is busy") == "waiting"
    assert take(queue) is None
    assert only(queue.jobs()).error == "the vault is busy"
    server.pass_time(31)
    assert taken(queue).attempt == 2


def test_asking_anew_does_not_shorten_the_wait_of_what_failed(queue: EndpointQueue) -> None:
    queue.add("verify", tenant="a")
    queue.fail(taken(queue), "no")
    queue.add("verify", tenant="a")
    queue.add_missing([JobRequest("verify", "a")])
    assert take(queue) is None


def give_up(queue: EndpointQueue, server: QueueServer, tenant: str = "a", error: str = "no") -> None:
    queue.add("verify", tenant=tenant)
    for _ in range(MOST_ATTEMPTS):
        server.pass_time(2 * 3600)
        queue.fail(taken(queue), error)


def test_a_job_that_failed_too_often_is_given_up_kept_and_told(queue: EndpointQueue, server: QueueServer) -> None:
    give_up(queue, server, error="the vault is damaged")
    server.pass_time(LONG)
    assert take(queue) is None
    row = only(queue.dead())
    assert (row.kind, row.tenant, row.attempts, row.error) == ("verify", "a", MOST_ATTEMPTS, "the vault is damaged")


def test_a_job_that_ends_its_workers_is_given_up_too(queue: EndpointQueue, server: QueueServer) -> None:
    queue.add("verify", tenant="a")
    for _ in range(MOST_ATTEMPTS):
        taken(queue)
        server.pass_time(LONG)
    assert take(queue) is None
    assert only(queue.dead()).error == "the worker of the job ended unexpectedly"


def test_what_was_given_up_is_forgotten_when_the_same_succeeds(queue: EndpointQueue, server: QueueServer) -> None:
    give_up(queue, server)
    queue.add("verify", tenant="a")
    queue.finish(taken(queue))
    assert queue.dead() == []


def test_of_what_is_given_up_again_and_again_the_newest_is_kept(queue: EndpointQueue, server: QueueServer) -> None:
    give_up(queue, server, error="first")
    give_up(queue, server, error="second")
    assert only(queue.dead()).error == "second"


def test_a_long_error_is_cut(queue: EndpointQueue) -> None:
    queue.add("verify", tenant="a")
    queue.fail(taken(queue), "long " * 1000)
    assert len(only(queue.jobs()).error) == 500


def test_what_was_given_up_is_done_when_it_is_retried(queue: EndpointQueue, server: QueueServer) -> None:
    give_up(queue, server)
    assert queue.retry(only(queue.dead()).id).state == "dead"
    assert queue.dead() == []
    assert taken(queue).attempt == 1


def test_what_waits_after_a_failure_is_done_at_once_when_it_is_retried(queue: EndpointQueue) -> None:
    queue.add("verify", tenant="a")
    queue.fail(taken(queue), "no")
    queue.retry(only(queue.jobs()).id)
    assert taken(queue).attempt == 1


def test_what_was_given_up_can_be_dropped(queue: EndpointQueue, server: QueueServer) -> None:
    give_up(queue, server)
    queue.drop(only(queue.dead()).id)
    assert queue.jobs() == []


@pytest.mark.parametrize("say", ["retry", "drop"])
def test_what_runs_is_neither_retried_nor_dropped(queue: EndpointQueue, say: str) -> None:
    queue.add("verify", tenant="a")
    job = taken(queue)
    with pytest.raises(EndpointBusy):
        getattr(queue, say)(job.id)
    queue.finish(job)


@pytest.mark.parametrize("say", ["retry", "drop"])
def test_a_job_that_is_not_there_is_unknown(queue: EndpointQueue, say: str) -> None:
    with raises_code(EndpointError.UNKNOWN_JOB):
        getattr(queue, say)(12345)


# Figures --------------------------------------------------------------------------------------------------------------


def test_jobs_are_counted_by_kind_and_state_with_the_age_of_the_oldest_that_is_due(
    queue: EndpointQueue, server: QueueServer
) -> None:
    queue.add("verify", tenant="a")
    queue.add("verify", tenant="b", run_at=soon(10_000))
    queue.add("apply_purge", tenant="a")
    taken(queue)
    server.pass_time(30)
    found = {(count.kind, count.state): (count.jobs, round(count.oldest)) for count in queue.counts()}
    assert found == {("apply_purge", "running"): (1, 0), ("verify", "waiting"): (2, 30)}


def test_when_work_ended_is_known_whether_it_went_well_or_not(queue: EndpointQueue, server: QueueServer) -> None:
    queue.add("sweep", tenant="a")
    queue.finish(taken(queue))
    queue.add("sweep", tenant="a", agent="x")
    queue.finish(taken(queue))
    give_up(queue, server, "b")
    latest = queue.latest()
    assert set(latest.ended) == {("sweep", "a"), ("verify", "b")}
    assert all(ended <= latest.now for ended in latest.ended.values())
    queue.forget(["a"])
    assert set(queue.latest().ended) == {("verify", "b")}


# Whoever serves asks for the work of the tenant it serves, and no more -----------------------------------------------


def test_a_server_asks_for_work_of_the_tenant_it_serves(queue: EndpointQueue, server: QueueServer) -> None:
    own = server.queue(API)
    own.add("apply_purge", tenant="a")
    own.add("apply_purge", tenant="a", run_at=soon(-5))
    running = taken(queue)
    own.add("apply_purge", tenant="a")
    queue.finish(running)
    assert taken(queue).kind == "apply_purge"


def test_a_server_cannot_ask_for_work_of_the_endpoint_itself(server: QueueServer, queue: EndpointQueue) -> None:
    with pytest.raises(VaultError):
        server.queue(API).add("finish_removals")
    assert queue.jobs() == []


ATTACKS = (
    "insert into lifeboat_work.job(kind, tenant, due_at, turn) values ('verify', 'other', now(), now())",
    "insert into lifeboat_work.job(kind, tenant, due_at, turn) values ('verify', '', now(), now())",
    "insert into lifeboat_work.job(kind, tenant, due_at, turn, state) values ('verify', 'own', now(), now(), 'dead')",
    "insert into lifeboat_work.job(kind, tenant, due_at, turn) values ('verify', 'other', now(), now()) "
    "on conflict (tenant, kind, agent) where state <> 'dead' do update set due_at = now()",
    "update lifeboat_work.job set tenant = 'other'",
    "update lifeboat_work.job set state = 'dead'",
    "update lifeboat_work.job set lease = 7",
    "delete from lifeboat_work.job",
    "truncate lifeboat_work.job",
    "select error, worker from lifeboat_work.job",
    "select * from lifeboat_work.latest",
    "insert into lifeboat_work.latest values ('own', 'verify', now())",
    "set role lifeboat_worker",
    "alter table lifeboat_work.job disable row level security",
    "create table lifeboat_work.job_too(id int)",
    "create trigger t after insert on lifeboat_work.job execute function suppress_redundant_updates_trigger()",
    "lock table lifeboat_work.job in access exclusive mode",
    "copy lifeboat_work.job to stdout",
)


@pytest.mark.parametrize("statement", ATTACKS)
def test_what_a_server_has_no_right_to_is_refused(server: QueueServer, queue: EndpointQueue, statement: str) -> None:
    queue.add("look_after", tenant="other")
    queue.add("look_after", tenant="own")
    before = queue.jobs()
    with server.pools(API).work.connection() as connection, pytest.raises(psycopg.Error), connection.transaction():
        connection.execute("select set_config('lifeboat.tenant', 'own', true)")
        connection.execute(statement)
    assert queue.jobs() == before


@pytest.mark.parametrize("tenant", ["own", "", None])
def test_a_server_sees_and_changes_no_job_of_another_tenant(
    server: QueueServer, queue: EndpointQueue, tenant: str | None
) -> None:
    queue.add("look_after", tenant="other")
    queue.add("sweep")
    before = queue.jobs()
    with server.pools(API).work.connection() as connection, connection.transaction():
        if tenant is not None:
            connection.execute(f"select set_config('lifeboat.tenant', '{tenant}', true)")
        assert connection.execute("select kind, tenant from lifeboat_work.job").fetchall() == []
        assert connection.execute("update lifeboat_work.job set due_at = now() - interval '1 day'").rowcount == 0
    assert queue.jobs() == before


def test_the_tenant_of_one_transaction_is_not_that_of_the_next(server: QueueServer, queue: EndpointQueue) -> None:
    pool = server.pools(API).work
    EndpointQueue(pool).add("look_after", tenant="own")
    with pool.connection() as connection:
        assert connection.execute("select kind from lifeboat_work.job").fetchall() == []


def test_without_a_database_the_queue_says_so_within_seconds(server: QueueServer) -> None:
    pools = Pools(Database("postgresql:///lifeboat?host=/nonexistent", API))
    with pytest.raises(VaultError) as caught:
        EndpointQueue(pools.work).counts()
    pools.close()
    assert caught.value.retryable
