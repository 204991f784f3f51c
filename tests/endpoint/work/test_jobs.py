"""Every kind of job on an endpoint with agents, purges and keys: its effect, and that it can be interrupted and
repeated. The queue is on a real PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance import data_key_rotation, tenant_removal
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_endpoint.work import job_handlers
from lifeboat_endpoint.work.endpoint_queue import EndpointJob, EndpointQueue
from lifeboat_endpoint.work.endpoint_worker import WorkerStopped
from lifeboat_endpoint.work.job_handlers import HANDLERS, JobContext
from lifeboat_vault.errors import KeyRevoked
from support.endpoint.endpoint_purges import machine_in, pushed, record_of, redaction_of
from support.endpoint.keeping import AGENT, OTHER, RunningClock, clock, endpoint, numbers, tenant_folder, with_history
from support.endpoint.work_queues import LEASE, queue, server
from support.vault.vaults import START

__all__ = ["clock", "endpoint", "queue", "server"]


@pytest.fixture
def tenant(endpoint: Endpoint) -> Tenant:
    return endpoint.add_tenant("home")


def go_on() -> None:
    """Never stop."""


def stop() -> None:
    raise WorkerStopped


def do(
    endpoint: Endpoint, queue: EndpointQueue, kind: str, tenant: str = "", agent: str = "", step: object = go_on
) -> list[str]:
    return HANDLERS[kind](JobContext(endpoint, queue, step), EndpointJob(1, kind, tenant, agent, 1, 1))  # type: ignore[arg-type]


def done_by_all(endpoint: Endpoint, queue: EndpointQueue) -> list[str]:
    """Run all due jobs of the queue; return their kinds and agents."""
    done = []
    while (job := queue.take("one", LEASE, list(HANDLERS))) is not None:
        assert HANDLERS[job.kind](JobContext(endpoint, queue, go_on), job) == []
        queue.finish(job)
        done.append(f"{job.kind} {job.agent}".strip())
    return done


def test_a_tenant_is_looked_after(
    endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant, clock: RunningClock
) -> None:
    with_history(endpoint, tenant, hours=60)
    clock.advance(days=30)
    assert do(endpoint, queue, "look_after", tenant.id) == []
    assert len(numbers(endpoint, tenant)) < 61


def test_the_agents_of_a_large_tenant_are_looked_after_in_jobs_of_their_own(
    endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant, clock: RunningClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_handlers, "_MOST_AGENTS", 1)
    for agent_id in (AGENT, OTHER):
        with_history(endpoint, tenant, agent_id, hours=60)
    clock.advance(days=30)
    queue.add("look_after", tenant=tenant.id)
    assert done_by_all(endpoint, queue) == ["look_after", f"look_after {AGENT}", f"look_after {OTHER}"]
    assert all(len(numbers(endpoint, tenant, agent_id)) < 61 for agent_id in (AGENT, OTHER))


def test_an_agent_that_is_gone_needs_nobody_to_look_after_it(
    endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant
) -> None:
    assert do(endpoint, queue, "look_after", tenant.id, AGENT) == []


def test_a_proof_without_findings_has_no_problems(endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant) -> None:
    with_history(endpoint, tenant)
    assert do(endpoint, queue, "verify", tenant.id) == []


def test_the_agents_of_a_large_tenant_are_proven_in_jobs_of_their_own(
    endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_handlers, "_MOST_AGENTS", 1)
    for agent_id in (AGENT, OTHER):
        with_history(endpoint, tenant, agent_id, hours=2)
    queue.add("verify", tenant=tenant.id)
    assert done_by_all(endpoint, queue) == ["verify", f"verify {AGENT}", f"verify {OTHER}"]
    for agent_id in (AGENT, OTHER):
        with endpoint.space(tenant.id).vault(agent_id) as vault:
            assert vault.last_verified() == 2
    assert do(endpoint, queue, "verify", tenant.id, "0190f0a0-0000-7000-8000-0000000000a9") == []


def test_findings_of_a_proof_are_told_by_kind_and_number(
    endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant
) -> None:
    with_history(endpoint, tenant)
    endpoint.forget(tenant.id)
    damaged = next(tenant_folder(endpoint, tenant.id).rglob("vault.db"))
    damaged.write_bytes(b"no database" * 1000)
    problems = do(endpoint, queue, "verify", tenant.id)
    assert len(problems) == 1
    assert problems[0].startswith("1 finding of the kind ")


def test_what_an_older_key_sealed_comes_under_the_new_one(
    endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant
) -> None:
    with_history(endpoint, tenant)
    before = endpoint.keys(tenant.id).ids()
    data_key_rotation.rotate_keys(endpoint, tenant)
    assert do(endpoint, queue, "reencrypt", tenant.id) == []
    assert not set(before) & set(endpoint.keys(tenant.id).ids())
    after = endpoint.keys(tenant.id).ids()
    assert do(endpoint, queue, "reencrypt", tenant.id) == []
    assert endpoint.keys(tenant.id).ids() == after


def test_shredding_makes_a_new_key(endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant) -> None:
    before = endpoint.keys(tenant.id).current()
    assert do(endpoint, queue, "shred", tenant.id) == []
    assert endpoint.keys(tenant.id).current() != before


def test_a_purge_that_waits_is_asked_for_again_when_its_time_comes(
    endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant, clock: RunningClock, tmp_path: Path
) -> None:
    space = endpoint.space(tenant.id)
    machine = pushed(space, machine_in(tmp_path), captures=3)
    gone = record_of(machine, 1)
    space.redact(machine.agent_id, redaction_of(machine, gone).to_json())
    assert do(endpoint, queue, "apply_purge", tenant.id) == []
    (job,) = queue.jobs()
    assert (job.kind, job.tenant) == ("apply_purge", tenant.id)
    assert job.due_at > START
    clock.advance(hours=25)
    assert do(endpoint, queue, "apply_purge", tenant.id) == []
    assert space.read(machine.agent_id, 2, [], [gone.id]) == [None]
    assert do(endpoint, queue, "apply_purge", tenant.id) == []


@pytest.mark.parametrize("kind", ["look_after", "verify", "reencrypt"])
def test_long_work_ends_between_two_agents(endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant, kind: str) -> None:
    with_history(endpoint, tenant)
    with pytest.raises(WorkerStopped):
        do(endpoint, queue, kind, tenant.id, step=stop)
    assert do(endpoint, queue, kind, tenant.id) == []


OF_A_TENANT = ("look_after", "verify", "reencrypt", "shred", "apply_purge", "sweep")


@pytest.mark.parametrize("kind", OF_A_TENANT)
def test_for_a_tenant_that_is_gone_nothing_is_left_to_do(endpoint: Endpoint, queue: EndpointQueue, kind: str) -> None:
    assert do(endpoint, queue, kind, "0190f0a0-0000-7000-8000-0000000000ff") == []


@pytest.mark.parametrize("kind", OF_A_TENANT)
def test_for_a_tenant_that_is_being_removed_nothing_is_left_to_do(
    endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant, kind: str
) -> None:
    endpoint.control.begin_removal(tenant.id)
    assert do(endpoint, queue, kind, tenant.id) == []


@pytest.mark.parametrize("kind", OF_A_TENANT)
def test_without_its_key_nothing_can_be_done_for_a_tenant(
    endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "endpoint.key").unlink()
    endpoint.forget(tenant.id)
    with pytest.raises(KeyRevoked):
        do(endpoint, queue, kind, tenant.id)


def test_a_removal_that_was_interrupted_is_finished(endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant) -> None:
    endpoint.control.begin_removal(tenant.id)
    assert do(endpoint, queue, "finish_removals") == []
    assert endpoint.control.tenants() == []


def test_what_belongs_to_nobody_is_swept(
    endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[Endpoint] = []
    monkeypatch.setattr(tenant_removal, "remove_unknown_tenants", swept.append)
    assert do(endpoint, queue, "sweep") == []
    assert swept == [endpoint]
    assert do(endpoint, queue, "sweep", tenant.id) == []


def test_old_rows_of_the_audit_go(endpoint: Endpoint, queue: EndpointQueue, clock: RunningClock) -> None:
    endpoint.add_tenant("home")
    clock.advance(days=500)
    endpoint.add_tenant("office")
    assert do(endpoint, queue, "trim_audit") == []
    assert [row.kind for row in endpoint.control.audit_rows() if row.kind == "tenant.add"] == ["tenant.add"]


@pytest.mark.parametrize("kind", ["look_after", "sweep", "trim_audit"])
def test_with_a_clock_that_is_not_trusted_nothing_old_goes(
    endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant, clock: RunningClock, kind: str
) -> None:
    with_history(endpoint, tenant, hours=60)
    do(endpoint, queue, "trim_audit")
    clock.jump(days=1000)
    before = numbers(endpoint, tenant), len(list(endpoint.control.audit_rows()))
    do(endpoint, queue, kind, tenant.id if kind == "look_after" else "")
    assert numbers(endpoint, tenant) == before[0]
    assert len(list(endpoint.control.audit_rows())) >= before[1]
