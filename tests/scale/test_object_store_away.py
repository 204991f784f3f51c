"""The object store fails, stalls, damages and lists late while machines push, purge and workers sweep: nobody is told
more than is so, and afterwards all goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_endpoint.work.shared_queue import open_queue
from support.core.invariants import an_outcome_is_honest, every_kept_sequence_has_its_digest
from support.core.replicated import Replicated
from support.endpoint.endpoint_purges import erasing, machine_in
from support.scale.object_faults import Fault, done_but, flip, forget, reset, slow, stall, status
from support.scale.shared_endpoint import Joined, SharedEndpoint
from support.scale.shared_lives import a_tenant_is_whole, living, the_audit_is_whole
from support.waiting import until

SIZE = 300_000
FAULTS: dict[str, tuple[Fault, str]] = {
    "it fails": (status(500), "PUT"),
    "it breaks off when it is done": (done_but(reset), "PUT"),
    "it stalls": (stall, "PUT"),
    "it keeps nothing": (forget, "PUT"),
    "what comes back is damaged": (flip, "GET"),
}
"""What goes wrong with every request of a method."""


@pytest.fixture
def ada(tmp_path: Path, shared: SharedEndpoint, tenant: Joined) -> Iterator[Replicated]:
    made = living(tmp_path / "laptop", tenant)
    made.machine.write("first.bin", os.urandom(SIZE))
    made.machine.capture()
    assert made.machine.push().state == "ok"
    yield made
    shared.faults.heal()
    assert made.machine.push().state == "ok"
    made.holds()
    every_kept_sequence_has_its_digest(made.machine.context, made.machine.agent)
    a_tenant_is_whole(shared, tenant.tenant)
    the_audit_is_whole(shared)


@pytest.mark.parametrize("wrong", FAULTS)
def test_a_push_to_a_store_that_is_not_well_waits_or_is_done(
    ada: Replicated, shared: SharedEndpoint, wrong: str
) -> None:
    fault, method = FAULTS[wrong]
    ada.machine.write("scan.bin", os.urandom(SIZE))
    ada.capture(1)
    shared.faults.plan(fault, methods=[method])
    outcome = ada.machine.push()
    assert shared.faults.outwaited == 0
    assert outcome.state == "waiting", outcome
    shared.faults.heal()
    an_outcome_is_honest(ada.machine.context, ada.machine.known_agent, ada.straight["home"], outcome)


def test_a_store_that_fails_now_and_then_is_noticed_by_nobody(ada: Replicated, shared: SharedEndpoint) -> None:
    for number, fault in enumerate((status(500), reset, slow(1.0), done_but(reset))):
        ada.machine.write(f"scan-{number}.bin", os.urandom(SIZE))
        ada.capture(number + 1)
        shared.faults.plan(fault, methods=["PUT"], times=1)
        shared.faults.plan(fault, methods=["GET"], times=1)
        assert ada.machine.push().state == "ok"


def test_servers_that_serve_small_states_do_not_wait_for_a_store_that_stalls(
    shared: SharedEndpoint, tenant: Joined, tmp_path: Path
) -> None:
    """What lies in rows is served whatever becomes of objects."""
    machine = machine_in(tmp_path)
    with tenant.client() as client:
        for _ in shared.servers:  # each has the key of the tenant, which is an object
            client.post("/agents", json={"id": machine.agent_id, "name": "ada", "source_runtime": "openclaw"})
        shared.faults.plan(stall)
        before = len(shared.faults.asked)
        machine.capture()
        sent = client.put(f"/agents/{machine.agent_id}/snapshot", content=machine.snapshot().file.read())
        assert sent.status_code == 201, sent.text
        assert client.get(f"/agents/{machine.agent_id}/snapshot").status_code == 200
        assert [each for each in shared.faults.asked[before:] if tenant.tenant.id in each.path] == []


def objects_of(shared: SharedEndpoint, tenant: Joined) -> list[str]:
    """The keys that rows name."""
    query = f"select key from lifeboat_tenant.blob where tenant = '{tenant.tenant.id}'"
    return [key for (key,) in shared.database.run(query, name="lifeboat")]


def in_store(shared: SharedEndpoint, tenant: Joined) -> list[str]:
    """The keys that there are."""
    bucket = shared.endpoint.engine.bucket  # type: ignore[attr-defined]
    return [each.key for each in bucket.list(f"bodies/{tenant.tenant.id}/")]


def test_an_agent_is_not_called_gone_before_its_objects_are(
    shared: SharedEndpoint, tenant: Joined, tmp_path: Path
) -> None:
    machine = machine_in(tmp_path)
    with tenant.client() as client, tenant.client(tenant.owner) as owner:
        client.post("/agents", json={"id": machine.agent_id, "name": "ada", "source_runtime": "openclaw"})
        machine.capture(raw__openclaw__scan=os.urandom(SIZE))
        sent = client.put(f"/agents/{machine.agent_id}/snapshot", content=machine.snapshot().file.read())
        assert sent.status_code == 201
        assert objects_of(shared, tenant) == in_store(shared, tenant) != []
        document = erasing(machine).to_json()
        shared.faults.plan(status(500), methods=["DELETE", "POST"])
        refused = owner.post(f"/agents/{machine.agent_id}/redactions", json=document)
        assert refused.status_code == 503 and "Retry-After" in refused.headers, refused.text
        shared.faults.heal()
        receipt = owner.post(f"/agents/{machine.agent_id}/redactions", json=document).json()["receipt"]
        assert receipt["remaining"] == 0
    assert objects_of(shared, tenant) == []
    assert set(in_store(shared, tenant)) == set()


def test_what_a_push_left_behind_is_swept_and_nothing_else_whatever_lists_say(
    ada: Replicated, shared: SharedEndpoint, tenant: Joined
) -> None:
    """Lists are an hour late; nothing rests on them."""
    ada.machine.write("scan.bin", os.urandom(SIZE))
    ada.capture(1)
    shared.faults.plan(status(500), methods=["GET", "DELETE", "POST"])
    assert ada.machine.push().state == "waiting"
    shared.faults.heal()
    shared.faults.late_since = 0.0
    left = len(objects_of(shared, tenant))
    assert ada.machine.push().state == "ok"
    named = len(objects_of(shared, tenant))
    assert left >= 1 and named > left - 1
    queue = open_queue(shared.endpoint)
    queue.add("sweep", tenant=tenant.tenant.id)
    queue.add("sweep")
    queue.add("look_after", tenant=tenant.tenant.id)
    until(lambda: not [job for job in queue.jobs() if job.tenant == tenant.tenant.id], "it is swept")
    ada.holds()
    a_tenant_is_whole(shared, tenant.tenant)
