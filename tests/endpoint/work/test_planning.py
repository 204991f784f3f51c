"""What falls due for which tenant, and that it is asked for once."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance import removal
from lifeboat_endpoint.settings import WorkHours
from lifeboat_endpoint.tenancy.rows import Tenant
from lifeboat_endpoint.work.jobs import HANDLERS
from lifeboat_endpoint.work.planning import OF_TENANTS, OF_THE_ENDPOINT, due, plan, without_tenant
from lifeboat_endpoint.work.queue import Queue, Wanted
from lifeboat_vault.errors import EndpointSettings
from support.endpoint.keeping import clock, endpoint, reopened
from support.endpoint.work_queues import QueueServer, queue, server

__all__ = ["clock", "endpoint", "queue", "server"]

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURS = WorkHours()
TENANT = Tenant("a", "a", None, None, "2026-01-01T00:00:00.000Z")


def planned_hours(hours: WorkHours, ended: dict[tuple[str, str], datetime], *, of: str = "look_after") -> int:
    """How often a kind of work is due within ten days, if it is looked at every minute and done at once."""
    times = 0
    known = dict(ended)
    for minute in range(10 * 24 * 60):
        now = NOW + timedelta(minutes=minute)
        if Wanted(of, "a") in due(now, [TENANT], known, hours):
            times += 1
            known[of, "a"] = now
    return times


def test_every_kind_that_falls_due_has_its_hours_and_somebody_who_does_it() -> None:
    assert set(OF_TENANTS) | set(OF_THE_ENDPOINT) == {field.name for field in msgspec.structs.fields(WorkHours)}
    assert set(OF_TENANTS) | set(OF_THE_ENDPOINT) <= set(HANDLERS)


def test_what_was_never_done_is_due() -> None:
    assert set(due(NOW, [TENANT], {}, HOURS)) == {Wanted(kind) for kind in OF_THE_ENDPOINT} | {
        Wanted(kind, "a") for kind in OF_TENANTS
    }


def test_nothing_is_due_for_a_tenant_that_is_being_removed() -> None:
    gone = replace(TENANT, state="removing")
    assert [wanted for wanted in due(NOW, [gone], {}, HOURS) if wanted.tenant] == []


def test_work_is_due_once_each_period() -> None:
    assert planned_hours(HOURS, {}) in (240, 241)
    assert planned_hours(WorkHours(look_after=24), {}) in (10, 11)


def test_work_that_took_long_is_due_at_its_next_moment_and_not_a_period_later() -> None:
    moments = [minute for minute in range(60) if _is_due_after(minute)]
    assert len(moments) == 1


def _is_due_after(minute: int) -> bool:
    now = NOW + timedelta(minutes=minute)
    ended = {("look_after", "a"): now - timedelta(minutes=1)}
    return Wanted("look_after", "a") in due(now, [TENANT], ended, HOURS)


def test_proofs_can_be_left_out() -> None:
    assert Wanted("verify", "a") not in due(NOW, [TENANT], {}, WorkHours(verify=0))


def test_a_clock_that_was_set_back_is_no_reason_to_wait() -> None:
    ended = {("look_after", "a"): NOW + timedelta(days=400)}
    assert Wanted("look_after", "a") in due(NOW, [TENANT], ended, HOURS)


def test_the_work_of_a_thousand_tenants_lies_apart() -> None:
    tenants = [replace(TENANT, id=f"tenant-{number}") for number in range(1000)]
    known = {("look_after", tenant.id): NOW for tenant in tenants}
    found = [
        sum(wanted.kind == "look_after" for wanted in due(NOW + timedelta(minutes=minute), tenants, known, HOURS))
        for minute in range(61)
    ]
    assert found[0] == 0
    assert found[60] == 1000
    assert max(later - sooner for sooner, later in itertools.pairwise(found)) < 60


def test_tenants_that_are_gone_are_named_once() -> None:
    ended = {("look_after", "a"): NOW, ("verify", "b"): NOW, ("sweep", "b"): NOW, ("sweep", ""): NOW}
    assert without_tenant([TENANT], ended) == ["b"]


@pytest.mark.parametrize("hours", [{"look_after": 0}, {"verify": -1}, {"sweep": 10**6}, {"nothing": 1}])
def test_hours_that_cannot_be_are_refused(endpoint: Endpoint, hours: dict[str, int]) -> None:
    with pytest.raises(EndpointSettings):
        reopened(endpoint, work_hours=hours)


# With the queue -------------------------------------------------------------------------------------------------------


def test_a_plan_asks_once_for_what_is_due(endpoint: Endpoint, queue: Queue) -> None:
    endpoint.add_tenant("home")
    new = plan(endpoint, queue)
    assert new == len(OF_TENANTS) + len(OF_THE_ENDPOINT)
    assert plan(endpoint, queue) == 0


def test_what_was_done_is_not_asked_for_again_before_its_time(
    endpoint: Endpoint, queue: Queue, server: QueueServer
) -> None:
    endpoint.add_tenant("home")
    plan(endpoint, queue)
    while (job := queue.take("one", HOUR, list(HANDLERS))) is not None:
        queue.finish(job)
    assert plan(endpoint, queue) == 0
    server.pass_time(3601)
    plan(endpoint, queue)
    assert {row.kind for row in queue.jobs()} >= {"look_after", "apply_purge", "finish_removals"}


def test_of_two_that_plan_at_once_one_does(endpoint: Endpoint, queue: Queue) -> None:
    with endpoint.engine.alone("planning", seconds=0):
        assert plan(endpoint, queue) == 0


def test_nothing_is_remembered_of_tenants_that_are_gone(endpoint: Endpoint, queue: Queue) -> None:
    tenant = endpoint.add_tenant("home")
    queue.add("verify", tenant=tenant.id)
    job = queue.take("one", HOUR, ["verify"])
    assert job is not None
    queue.finish(job)
    plan(endpoint, queue)
    assert ("verify", tenant.id) in queue.latest().ended
    removal.remove_tenant(endpoint, tenant.id)
    plan(endpoint, queue)
    assert ("verify", tenant.id) not in queue.latest().ended
