"""Which jobs are due for which tenant, and that each is added once."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.endpoint_config import WorkHours
from lifeboat_endpoint.maintenance import tenant_removal
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_endpoint.work.endpoint_queue import EndpointQueue, JobRequest
from lifeboat_endpoint.work.job_handlers import HANDLERS
from lifeboat_endpoint.work.job_planning import (
    OF_TENANTS,
    OF_THE_ENDPOINT,
    find_due_jobs,
    find_removed_tenants,
    plan_jobs,
)
from lifeboat_vault.errors import EndpointSettings
from support.endpoint.keeping import clock, endpoint, reopened
from support.endpoint.work_queues import QueueServer, queue, server

__all__ = ["clock", "endpoint", "queue", "server"]

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURS = WorkHours()
TENANT = Tenant("a", "a", None, None, "2026-01-01T00:00:00.000Z")


def planned_hours(hours: WorkHours, ended: dict[tuple[str, str], datetime], *, of: str = "look_after") -> int:
    """Return how often a kind of job is due within ten days, if it is planned every minute and done immediately."""
    times = 0
    known = dict(ended)
    for minute in range(10 * 24 * 60):
        now = NOW + timedelta(minutes=minute)
        if JobRequest(of, "a") in find_due_jobs(now, [TENANT], known, hours):
            times += 1
            known[of, "a"] = now
    return times


def test_every_kind_that_falls_due_has_its_hours_and_somebody_who_does_it() -> None:
    assert set(OF_TENANTS) | set(OF_THE_ENDPOINT) == {field.name for field in msgspec.structs.fields(WorkHours)}
    assert set(OF_TENANTS) | set(OF_THE_ENDPOINT) <= set(HANDLERS)


def test_what_was_never_done_is_due() -> None:
    assert set(find_due_jobs(NOW, [TENANT], {}, HOURS)) == {JobRequest(kind) for kind in OF_THE_ENDPOINT} | {
        JobRequest(kind, "a") for kind in OF_TENANTS
    }


def test_nothing_is_due_for_a_tenant_that_is_being_removed() -> None:
    gone = replace(TENANT, state="removing")
    assert [wanted for wanted in find_due_jobs(NOW, [gone], {}, HOURS) if wanted.tenant] == []


def test_work_is_due_once_each_period() -> None:
    assert planned_hours(HOURS, {}) in (240, 241)
    assert planned_hours(WorkHours(look_after=24), {}) in (10, 11)


def test_work_that_took_long_is_due_at_its_next_moment_and_not_a_period_later() -> None:
    moments = [minute for minute in range(60) if _is_due_after(minute)]
    assert len(moments) == 1


def _is_due_after(minute: int) -> bool:
    now = NOW + timedelta(minutes=minute)
    ended = {("look_after", "a"): now - timedelta(minutes=1)}
    return JobRequest("look_after", "a") in find_due_jobs(now, [TENANT], ended, HOURS)


def test_proofs_can_be_left_out() -> None:
    assert JobRequest("verify", "a") not in find_due_jobs(NOW, [TENANT], {}, WorkHours(verify=0))


def test_a_clock_that_was_set_back_is_no_reason_to_wait() -> None:
    ended = {("look_after", "a"): NOW + timedelta(days=400)}
    assert JobRequest("look_after", "a") in find_due_jobs(NOW, [TENANT], ended, HOURS)


def test_the_work_of_a_thousand_tenants_lies_apart() -> None:
    tenants = [replace(TENANT, id=f"tenant-{number}") for number in range(1000)]
    known = {("look_after", tenant.id): NOW for tenant in tenants}
    found = [
        sum(
            wanted.kind == "look_after"
            for wanted in find_due_jobs(NOW + timedelta(minutes=minute), tenants, known, HOURS)
        )
        for minute in range(61)
    ]
    assert found[0] == 0
    assert found[60] == 1000
    assert max(later - sooner for sooner, later in itertools.pairwise(found)) < 60


def test_tenants_that_are_gone_are_named_once() -> None:
    ended = {("look_after", "a"): NOW, ("verify", "b"): NOW, ("sweep", "b"): NOW, ("sweep", ""): NOW}
    assert find_removed_tenants([TENANT], ended) == ["b"]


@pytest.mark.parametrize("hours", [{"look_after": 0}, {"verify": -1}, {"sweep": 10**6}, {"nothing": 1}])
def test_hours_that_cannot_be_are_refused(endpoint: Endpoint, hours: dict[str, int]) -> None:
    with pytest.raises(EndpointSettings):
        reopened(endpoint, work_hours=hours)


# With the queue -------------------------------------------------------------------------------------------------------


def test_a_plan_asks_once_for_what_is_due(endpoint: Endpoint, queue: EndpointQueue) -> None:
    endpoint.add_tenant("home")
    new = plan_jobs(endpoint, queue)
    assert new == len(OF_TENANTS) + len(OF_THE_ENDPOINT)
    assert plan_jobs(endpoint, queue) == 0


def test_what_was_done_is_not_asked_for_again_before_its_time(
    endpoint: Endpoint, queue: EndpointQueue, server: QueueServer
) -> None:
    endpoint.add_tenant("home")
    plan_jobs(endpoint, queue)
    while (job := queue.take("one", HOUR, list(HANDLERS))) is not None:
        queue.finish(job)
    assert plan_jobs(endpoint, queue) == 0
    server.pass_time(3601)
    plan_jobs(endpoint, queue)
    assert {row.kind for row in queue.jobs()} >= {"look_after", "apply_purge", "finish_removals"}


def test_of_two_that_plan_at_once_one_does(endpoint: Endpoint, queue: EndpointQueue) -> None:
    with endpoint.engine.alone("planning", seconds=0):
        assert plan_jobs(endpoint, queue) == 0


def test_nothing_is_remembered_of_tenants_that_are_gone(endpoint: Endpoint, queue: EndpointQueue) -> None:
    tenant = endpoint.add_tenant("home")
    queue.add("verify", tenant=tenant.id)
    job = queue.take("one", HOUR, ["verify"])
    assert job is not None
    queue.finish(job)
    plan_jobs(endpoint, queue)
    assert ("verify", tenant.id) in queue.latest().ended
    tenant_removal.remove_tenant(endpoint, tenant.id)
    plan_jobs(endpoint, queue)
    assert ("verify", tenant.id) not in queue.latest().ended
