"""History is thinned by the retention and the size caps, and nothing else goes."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.engines.files_engine import hold_care_lock
from lifeboat_endpoint.maintenance import periodic_maintenance, trusted_time
from lifeboat_endpoint.maintenance.tenant_care import compact_tenant, look_after
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from support.endpoint.keeping import (
    AGENT,
    OTHER,
    RunningClock,
    clock,
    endpoint,
    numbers,
    reopened,
    tenant_folder,
    with_history,
    with_large_file,
)
from support.vault.vaults import START

__all__ = ["clock", "endpoint"]

CHART = "artifacts/chart.bin"


@pytest.fixture
def tenant(endpoint: Endpoint) -> Tenant:
    return endpoint.add_tenant("home")


def test_old_sequences_go_a_tenth_at_a_time(endpoint: Endpoint, tenant: Tenant, clock: RunningClock) -> None:
    with_history(endpoint, tenant, hours=20)
    clock.advance(days=40)
    care = look_after(endpoint, tenant)
    assert care.agents[AGENT].sequences == 2 and len(numbers(endpoint, tenant)) == 19


def test_what_the_retention_keeps_is_never_written_to(endpoint: Endpoint, tenant: Tenant, clock: RunningClock) -> None:
    with_history(endpoint, tenant, hours=3)
    clock.advance(hours=4)
    care = look_after(endpoint, tenant)
    assert care.agents[AGENT].steps == [] and numbers(endpoint, tenant) == [0, 1, 2, 3]


def test_the_retention_of_endpoint_json_is_the_one_in_force(
    endpoint: Endpoint, tenant: Tenant, clock: RunningClock
) -> None:
    with_history(endpoint, tenant, hours=20)
    clock.advance(days=2)
    with reopened(endpoint, retention={"all_hours": 1, "hourly_days": 1, "daily_days": 2}) as other:
        assert look_after(other, tenant).agents[AGENT].sequences == 2


def test_head_pins_labels_held_and_verified_ones_stay(endpoint: Endpoint, tenant: Tenant, clock: RunningClock) -> None:
    with_history(endpoint, tenant, hours=10)
    with endpoint.space(tenant.id).vault(AGENT) as vault:
        vault.pin(1, "held")
        vault.label(2, "before the trip")
        vault.mark_verified(3)
    clock.advance(days=40)
    for _ in range(20):
        look_after(endpoint, tenant)
    assert {1, 2, 3, 10} <= set(numbers(endpoint, tenant)) and 5 not in numbers(endpoint, tenant)


def test_nothing_goes_while_the_clock_is_not_trusted(endpoint: Endpoint, tenant: Tenant, clock: RunningClock) -> None:
    with_history(endpoint, tenant, hours=20)
    trusted_time.trust_clock(endpoint)
    clock.jump(days=4000)
    care = look_after(endpoint, tenant)
    assert not care.is_clock_trusted and len(numbers(endpoint, tenant)) == 21
    trusted_time.trust_clock(endpoint)
    assert look_after(endpoint, tenant).agents[AGENT].sequences == 2


def test_of_large_files_the_newest_versions_keep_their_bytes(endpoint: Endpoint, tenant: Tenant) -> None:
    with_large_file(endpoint, tenant, [os.urandom(5000) for _ in range(5)])
    assert look_after(endpoint, tenant).agents[AGENT].large_files == 2


def test_above_the_size_cap_large_files_go_first_and_each_step_is_said(
    endpoint: Endpoint, tenant: Tenant, clock: RunningClock
) -> None:
    with_large_file(endpoint, tenant, [os.urandom(300_000) for _ in range(3)])
    with reopened(endpoint, size_cap={"agent": 500_000}) as other:
        care = look_after(other, tenant).agents[AGENT]
    assert care.large_files == 2 and care.sequences == 0
    assert len(care.steps) == 1 and "large files" in care.steps[0]


def test_above_the_size_cap_history_goes_sooner_and_the_head_never(
    endpoint: Endpoint, tenant: Tenant, clock: RunningClock
) -> None:
    with_history(endpoint, tenant, hours=20)
    clock.advance(days=3)
    with reopened(endpoint, size_cap={"agent": 1}) as other:
        for _ in range(25):
            care = look_after(other, tenant).agents[AGENT]
        kept = numbers(other, tenant)
    assert kept[-1] == 20 and len(kept) < 5
    assert care.steps == ["the agent is still above the size cap, because the remaining sequences must be kept"]


def test_the_cap_of_a_tenant_takes_from_its_largest_agent(endpoint: Endpoint, tenant: Tenant) -> None:
    with_large_file(endpoint, tenant, [os.urandom(300_000) for _ in range(3)])
    with_history(endpoint, tenant, OTHER, hours=3)
    with reopened(endpoint, size_cap={"tenant": 800_000}) as other:
        care = look_after(other, tenant)
    assert care.agents[AGENT].large_files == 2 and care.agents[OTHER].steps == []


def test_a_damaged_agent_keeps_nothing_from_being_done_for_the_others(
    endpoint: Endpoint, tenant: Tenant, clock: RunningClock
) -> None:
    for agent_id in (AGENT, OTHER):
        with_history(endpoint, tenant, agent_id, hours=20)
    endpoint.forget(tenant.id)
    (tenant_folder(endpoint, tenant.id) / "agents" / AGENT / "vault.db").write_bytes(b"not a database" * 1000)
    clock.advance(days=40)
    care = look_after(endpoint, tenant)
    assert len(care.problems) == 1 and AGENT in care.problems[0]
    assert care.agents[OTHER].sequences == 2


def test_an_agent_that_somebody_else_looks_after_is_left_alone(
    endpoint: Endpoint, tenant: Tenant, clock: RunningClock
) -> None:
    with_history(endpoint, tenant, hours=20)
    clock.advance(days=40)
    with hold_care_lock(tenant_folder(endpoint, tenant.id) / "agents" / AGENT, seconds=0):
        care = look_after(endpoint, tenant)
    assert "another process" in care.problems[0] and len(numbers(endpoint, tenant)) == 21


def test_what_went_counts_for_the_quota_no_more(endpoint: Endpoint, tenant: Tenant) -> None:
    with_large_file(endpoint, tenant, [os.urandom(300_000) for _ in range(5)])
    space = endpoint.space(tenant.id)
    before = space.recount(AGENT)
    compact_tenant(endpoint, tenant)
    assert space.size() < before - 500_000


def test_a_server_looks_after_everything_once_an_hour(endpoint: Endpoint, tenant: Tenant, clock: RunningClock) -> None:
    with_history(endpoint, tenant, hours=20)
    clock.advance(days=40)
    assert [care.tenant.name for care in periodic_maintenance.run_due(endpoint, clock.now())] == ["home"]
    clock.advance(minutes=59)
    assert periodic_maintenance.run_due(endpoint, clock.now()) == []
    clock.advance(minutes=1)
    assert periodic_maintenance.run_due(endpoint, clock.now())[0].agents[AGENT].sequences == 1


def test_a_server_lets_old_rows_of_the_audit_go(endpoint: Endpoint, tenant: Tenant, clock: RunningClock) -> None:
    for name in ("office", "school"):
        periodic_maintenance.run_due(endpoint, clock.now())
        clock.advance(days=300)
        endpoint.add_tenant(name)
    periodic_maintenance.run_due(endpoint, clock.now())
    added = [row.time for row in endpoint.control.audit_rows() if row.kind == "tenant.add"]
    assert len(added) == 2 and min(added) > "2027-08"
    assert endpoint.control.check_audit() == []


def test_two_servers_do_not_look_after_the_same_data_at_once(endpoint: Endpoint, clock: RunningClock) -> None:
    with hold_care_lock(endpoint.folder, seconds=0):
        assert periodic_maintenance.run_due(endpoint, clock.now() + timedelta(hours=2)) == []


def test_a_clock_that_was_set_back_does_not_put_the_care_off(endpoint: Endpoint, tenant: Tenant) -> None:
    periodic_maintenance.run_due(endpoint, START + timedelta(days=365))
    assert len(periodic_maintenance.run_due(endpoint, START)) == 1
