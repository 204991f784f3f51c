"""Purges and the maintenance of an endpoint: due purges are applied, everything else stays, and rotation and
verification work after a purge."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_alf.redaction.redactions import ByteEdit, LeafReplacement
from lifeboat_alf.states.agent_state import Leaf
from lifeboat_alf.testing.sample_states import make_record, quarter_file
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance import data_key_rotation, periodic_maintenance, tenant_purges, trusted_time
from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint
from lifeboat_endpoint.maintenance.tenant_care import compact_tenant, look_after
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_vault.errors import AgentErased, EndpointSettings
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from lifeboat_vault.vault import Draft, RecordPut
from support.endpoint.endpoint_purges import erasing, machine_in, pushed, record_of, redaction_of
from support.endpoint.keeping import RunningClock, clock, endpoint, files_holding, numbers, reopened, tenant_folder
from support.vault.vaults import START

__all__ = ["clock", "endpoint"]

DAY = "2026-10-01T08:00:00.000Z"


@pytest.fixture
def tenant(endpoint: Endpoint) -> Tenant:
    return endpoint.add_tenant("home")


@pytest.fixture
def space(endpoint: Endpoint, tenant: Tenant) -> TenantSpace:
    return endpoint.space(tenant.id)


@pytest.fixture
def machine(space: TenantSpace, tmp_path: Path) -> TrialMachine:
    return pushed(space, machine_in(tmp_path), captures=3)


def test_the_upkeep_applies_what_has_waited(
    endpoint: Endpoint, space: TenantSpace, machine: TrialMachine, clock: RunningClock
) -> None:
    gone = record_of(machine, 1)
    space.redact(machine.agent_id, redaction_of(machine, gone).to_json())
    clock.advance(hours=23)
    periodic_maintenance.run_due(endpoint, clock.now())
    assert space.read(machine.agent_id, 2, [], [gone.id]) == [gone.line]
    clock.advance(hours=2)
    assert periodic_maintenance.run_due(endpoint, clock.now() + periodic_maintenance.PURGED_EVERY)[0].problems == []
    assert space.read(machine.agent_id, 2, [], [gone.id]) == [None]


def test_a_clock_that_was_set_forward_ends_no_waiting_time(
    endpoint: Endpoint, tenant: Tenant, space: TenantSpace, machine: TrialMachine, clock: RunningClock
) -> None:
    trusted_time.trust_clock(endpoint)
    space.redact(machine.agent_id, erasing(machine).to_json())
    clock.jump(days=4000)
    tenant_purges.apply_due_purges(endpoint, [tenant])
    assert space.redactions(machine.agent_id) and space.agent(machine.agent_id).head is not None


def test_how_long_a_purge_waits_is_a_setting(
    endpoint: Endpoint, tenant: Tenant, machine: TrialMachine, clock: RunningClock
) -> None:
    with reopened(endpoint, purge_hours=2) as other:
        state = other.space(tenant.id).redact(machine.agent_id, erasing(machine).to_json())
        assert state.applies_at is not None
        assert tenant_purges.list_waiting_purges(other, [tenant])[0].purge.applies_at == state.applies_at
        clock.advance(hours=3)
        tenant_purges.apply_due_purges(other, [tenant])
        with pytest.raises(AgentErased):
            other.space(tenant.id).agent(machine.agent_id)


def test_a_waiting_time_that_nothing_can_be_is_refused(endpoint: Endpoint) -> None:
    with pytest.raises(EndpointSettings, match="purge"):
        reopened(endpoint, purge_hours=-1)


def test_after_a_purge_all_of_it_is_whole_and_can_be_put_under_new_keys(
    endpoint: Endpoint, tenant: Tenant, space: TenantSpace, machine: TrialMachine, tmp_path: Path
) -> None:
    erased = pushed(space, machine_in(tmp_path))
    redaction, whole = redaction_of(machine, record_of(machine, 1)), erasing(erased)
    before = endpoint.keys(tenant.id).ids()
    receipts = [space.redact(each.agent_id, each.to_json(), confirmed=True).receipt for each in (redaction, whole)]
    assert verify_endpoint(endpoint, [tenant]).findings == []
    data_key_rotation.rotate_keys(endpoint, tenant)
    assert compact_tenant(endpoint, tenant).problems == []
    assert files_holding(tenant_folder(endpoint, tenant.id), bytes.fromhex(before[0])) == []
    assert verify_endpoint(endpoint, [tenant]).findings == []
    again = [space.redact(each.agent_id, each.to_json()).receipt for each in (redaction, whole)]
    assert again == receipts
    assert space.redactions(machine.agent_id) == [redaction.to_json()]


def test_states_are_thinned_after_a_purge_as_before(
    endpoint: Endpoint, tenant: Tenant, space: TenantSpace, tmp_path: Path, clock: RunningClock
) -> None:
    machine = pushed(space, machine_in(tmp_path), captures=20)
    space.redact(machine.agent_id, redaction_of(machine, record_of(machine, 1)).to_json(), confirmed=True)
    clock.advance(days=40)
    for _ in range(3):
        assert look_after(endpoint, tenant).problems == []
    assert len(numbers(endpoint, tenant, machine.agent_id)) < 20
    assert verify_endpoint(endpoint, [tenant]).findings == []


def test_no_care_drops_a_memory_whatever_its_class(
    endpoint: Endpoint, tenant: Tenant, space: TenantSpace, tmp_path: Path, clock: RunningClock
) -> None:
    """Each sequence that stays has every memory that was signed in it, also pinned and DNA-class ones."""
    machine = machine_in(tmp_path)
    machine.capture()
    kinds = ({"memory_type": "preference"}, {"category": "decision"}, {"tags": ["pinned"]}, {"status": "archived"}, {})
    for number, extra in enumerate(kinds):
        line = make_record(f"Memory {number}.", created_at=DAY, agent_id=machine.agent_id, **extra)
        put = RecordPut("create", line["id"], quarter_file(DAY), json_codec.encode_json(line))
        time = START + timedelta(minutes=number)
        draft = Draft({}, [put])
        machine.vault.commit(draft, kind="capture", writer=machine.device.id, time=time, sign=machine.sign)
    space.register(machine.agent_id, "Ada", "openclaw")
    space.push(machine.agent_id, machine.snapshot(0))
    for base in range(machine.here.number):
        space.push(machine.agent_id, machine.delta(base, base + 1))
    clock.advance(days=400)
    with reopened(endpoint, size_cap={"agent": 1}) as small:
        for _ in range(20):
            periodic_maintenance.run_due(small, clock.now())
            clock.advance(hours=2)
            look_after(small, tenant)
            compact_tenant(small, tenant)
    with space.vault(machine.agent_id) as vault:
        for number in numbers(endpoint, tenant, machine.agent_id):
            found = {each.id: each.line for each in vault.state(number).records()}
            assert found == {each.id: each.line for each in machine.vault.state(number).records()}
        assert len(found) == len(list(machine.vault.state().records()))


def test_a_purge_that_can_never_be_applied_keeps_no_other_from_it(
    endpoint: Endpoint, tenant: Tenant, space: TenantSpace, machine: TrialMachine, tmp_path: Path, clock: RunningClock
) -> None:
    [item] = [each for each in machine.vault.history() if each.record_id == record_of(machine, 1).id]
    false = LeafReplacement(Leaf(bytes(32), bytes(16)), (ByteEdit(0, 10**6),))
    bad = redaction_of(machine, record_of(machine, 1), leaves={item.leaf.digest: false})
    other = pushed(space, machine_in(tmp_path))
    for redaction in (bad, erasing(other)):
        space.redact(redaction.agent_id, redaction.to_json())
    clock.advance(hours=25)
    [done] = tenant_purges.apply_due_purges(endpoint, [tenant])
    assert done.problems == []
    assert (tenant_purges.list_waiting_purges(endpoint, [tenant]), space.agent_ids()) == ([], [machine.agent_id])
