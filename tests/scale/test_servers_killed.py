"""Both servers killed at every step of a push and of a purge: all goes on, and all that was said holds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from support.core.faulty_transport import impatient
from support.core.invariants import an_outcome_is_honest, every_kept_sequence_has_its_digest
from support.core.replicated import Replicated, in_parts
from support.endpoint.endpoint_purges import erasing, machine_in, record_of, redaction_of
from support.scale.shared_endpoint import Joined, SharedEndpoint
from support.scale.shared_lives import a_tenant_is_whole, living, the_audit_is_whole
from support.waiting import until

PUSH = (
    CrashPoint.ENDPOINT_RECEIVED,
    CrashPoint.ENDPOINT_CHECKED,
    CrashPoint.BLOB_NAMED,
    CrashPoint.BLOB_WRITTEN,
    CrashPoint.BLOB_COMPARED,
    CrashPoint.CAPTURE_BODIES_WRITTEN,
    CrashPoint.CAPTURE_ROWS_WRITTEN,
    CrashPoint.CAPTURE_COMMITTED,
    CrashPoint.ENDPOINT_ACCEPTED,
    CrashPoint.ENDPOINT_COUNTED,
    CrashPoint.ENDPOINT_ANSWERED,
)
PURGE = (CrashPoint.ENDPOINT_REDACTED, CrashPoint.PURGE_REDACTED, CrashPoint.PURGE_SWEPT)
ERASE = (CrashPoint.BLOB_REMOVED, CrashPoint.BLOB_FORGOTTEN, CrashPoint.ENDPOINT_ERASED)
SIZE = 300_000
"""Bytes of a body that lies in an object of its own."""


@pytest.fixture
def ada(
    tmp_path: Path, shared: SharedEndpoint, tenant: Joined, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Replicated]:
    impatient(monkeypatch)
    made = living(tmp_path / "laptop", tenant)
    yield made
    assert made.machine.push().state == "ok"
    made.holds()
    every_kept_sequence_has_its_digest(made.machine.context, made.machine.agent)
    a_tenant_is_whole(shared, tenant.tenant)
    the_audit_is_whole(shared)


@pytest.mark.parametrize("step", PUSH)
def test_both_servers_killed_at_a_push(
    ada: Replicated, shared: SharedEndpoint, step: CrashPoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a snapshot, and of a delta in parts."""
    for number in range(2):
        ada.machine.write(f"scan-{number}.bin", os.urandom(SIZE))
        ada.capture(2 * number + 1)
        shared.servers_die(step)
        killed = [_killed_by_a_push(ada, shared) for _ in range(2)]
        assert any(killed), "nobody came to the step"
        ada.capture(2 * number + 2)  # and one more, while nobody knows whether it arrived
        shared.all_run()
        again = ada.machine.push()
        assert again.state == "ok"
        an_outcome_is_honest(ada.machine.context, ada.machine.known_agent, ada.straight["home"], again)
        in_parts(monkeypatch)


def _killed_by_a_push(ada: Replicated, shared: SharedEndpoint) -> bool:
    """What the client is told is so, whoever died of it. One push asks several times, so it may have been both."""
    before = shared.running_servers()
    if not before:
        return False
    outcome = ada.machine.push()
    if outcome.state == "ok":
        return False
    assert (outcome.state, outcome.code) == ("waiting", "remote_unreachable"), outcome
    until(partial(fewer, shared, before), "a server ended")
    return True


def fewer(shared: SharedEndpoint, before: int) -> bool:
    return shared.running_servers() < before


@pytest.fixture
def pushed(shared: SharedEndpoint, tenant: Joined, tmp_path: Path) -> TrialMachine:
    """Three states, with bodies that are objects of their own."""
    machine = machine_in(tmp_path)
    with tenant.client() as client:
        client.post("/agents", json={"id": machine.agent_id, "name": "ada", "source_runtime": "openclaw"})
        for _ in range(3):
            machine.capture(raw__openclaw__large=os.urandom(SIZE))
        sent = client.put(f"/agents/{machine.agent_id}/snapshot", content=machine.snapshot().file.read())
        assert sent.status_code == 201
    return machine


@pytest.mark.parametrize("step", [*PURGE, *ERASE])
def test_a_purge_that_killed_both_servers_is_finished_when_it_is_sent_again(
    step: CrashPoint, shared: SharedEndpoint, tenant: Joined, pushed: TrialMachine
) -> None:
    whole = step in ERASE
    record = record_of(pushed, 1)
    document = (erasing(pushed) if whole else redaction_of(pushed, record)).to_json()
    agent = f"/agents/{pushed.agent_id}"
    shared.servers_die(step)
    with tenant.client(tenant.owner) as client:
        for _ in shared.servers:
            before = shared.running_servers()
            with pytest.raises(httpx.HTTPError):
                client.post(f"{agent}/redactions", json=document)
            until(partial(fewer, shared, before), "a server ended")
    shared.all_run()
    with tenant.client(tenant.owner) as client:
        answer = client.post(f"{agent}/redactions", json=document)
        assert answer.json()["receipt"]["remaining"] == 0, answer.text
    with tenant.client() as client:
        found = client.post(f"{agent}/read", json={"sequence": 2, "entries": [], "records": [record.id]})
    assert found.status_code == 410 if whole else found.json()["records"] == [None]
    a_tenant_is_whole(shared, tenant.tenant)
    the_audit_is_whole(shared)
