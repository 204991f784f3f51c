"""Both workers killed at each step of what they do, while the servers serve: others come to the end of it, nobody who
reads or pushes notices, and nothing is lost."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_endpoint.maintenance import data_key_rotation
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from support.endpoint.endpoint_purges import machine_in
from support.scale.shared_endpoint import Joined, SharedEndpoint
from support.scale.shared_lives import a_tenant_is_whole, the_audit_is_whole
from support.waiting import until

STEPS = (
    CrashPoint.REENCRYPT_BODIES_WRITTEN,
    CrashPoint.REENCRYPT_COMMITTED,
    CrashPoint.BLOB_WRITTEN,
    CrashPoint.BLOB_REMOVED,
    CrashPoint.REENCRYPT_KEY_DESTROYED,
)
SIZE = 300_000
LEASES_END = "update lifeboat_work.job set due_at = now() where state = 'running'"


def push(tenant: Joined, machine: TrialMachine) -> None:
    path = f"/agents/{machine.agent_id}"
    base = machine.here.number
    machine.capture(raw__openclaw__scan=os.urandom(SIZE))
    with tenant.client() as client:
        sent = client.post(f"{path}/deltas?base_sequence={base}", content=machine.delta(base).file.read())
        assert sent.status_code == 201, sent.text


def read(tenant: Joined, machine: TrialMachine) -> bytes:
    with tenant.client() as client:
        found = client.get(f"/agents/{machine.agent_id}/snapshot?sequence=1", headers={"Accept": "application/zip"})
        assert found.status_code == 200, found.text
        return found.content


def fewer(shared: SharedEndpoint, count: int) -> bool:
    """A worker that ended loses what it held, which tests do not wait for."""
    shared.database.run(LEASES_END, name="lifeboat")
    return sum(worker.runs for worker in shared.workers) < count


@pytest.mark.parametrize("step", STEPS)
def test_both_workers_killed_while_they_encrypt_anew(
    step: CrashPoint, shared: SharedEndpoint, tenant: Joined, tmp_path: Path
) -> None:
    machine = machine_in(tmp_path)
    with tenant.client() as client:
        client.post("/agents", json={"id": machine.agent_id, "name": "ada", "source_runtime": "openclaw"})
        machine.capture(raw__openclaw__scan=os.urandom(SIZE))
        sent = client.put(f"/agents/{machine.agent_id}/snapshot", content=machine.snapshot().file.read())
        assert sent.status_code == 201
    push(tenant, machine)
    before = read(tenant, machine)
    shared.restart(shared.workers, dies=(step, 1))
    keys = shared.endpoint.keys(tenant.tenant.id)
    old = keys.current(machine.agent_id)
    data_key_rotation.rotate_keys(shared.endpoint, tenant.tenant)
    for count in (2, 1):
        until(partial(fewer, shared, count), "a worker ended")
        assert read(tenant, machine) == before
        push(tenant, machine)
    shared.all_run()
    shared.database.run(LEASES_END, name="lifeboat")
    until(lambda: old not in keys.ids(), "the older key is destroyed")
    assert read(tenant, machine) == before
    push(tenant, machine)
    a_tenant_is_whole(shared, tenant.tenant)
    the_audit_is_whole(shared)
