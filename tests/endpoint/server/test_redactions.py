"""Redactions over HTTP: who may send one, which wait, and the responses about an agent that was purged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_keys.pairs.endpoint_key import public_of
from lifeboat_keys.signed import vault_receipts
from lifeboat_keys.signed.vault_receipts import ReceiptVerdict
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from lifeboat_vault.rows.sequence_rows import AuditRow
from support.endpoint.endpoint_purges import erasing, record_of, redaction_of
from support.endpoint.served_apps import ServedApp, bearer, push_delta, served

__all__ = ["served"]


@pytest.fixture
def client(served: ServedApp) -> Iterator[httpx.Client]:
    with served.running() as made:
        yield made


@pytest.fixture
def machine(served: ServedApp, client: httpx.Client) -> TrialMachine:
    return served.pushed(client, captures=2)


def send(
    client: httpx.Client, machine: TrialMachine, redaction: Redaction, token: str = "", **query: str
) -> httpx.Response:
    headers = bearer(token) if token else {}
    return client.post(_path(machine), json=redaction.to_json(), headers=headers, params=query)


def _path(machine: TrialMachine) -> str:
    return f"/agents/{machine.agent_id}/redactions"


def audit(served: ServedApp) -> list[AuditRow]:
    with Endpoint.open(served.folder / "data") as endpoint:
        return list(endpoint.control.audit_rows())


def test_with_the_ordinary_token_a_purge_waits_and_is_listed(
    served: ServedApp, client: httpx.Client, machine: TrialMachine
) -> None:
    redaction = redaction_of(machine, record_of(machine, 1))
    answer = send(client, machine, redaction)
    assert answer.status_code == 200
    found = answer.json()
    assert (found["id"], found["receipt"]) == (redaction.id, None) and found["applies_at"]
    assert client.get(_path(machine)).json() == {"redactions": [redaction.to_json()]}


def test_with_the_second_token_it_is_applied_and_the_receipt_holds(
    served: ServedApp, client: httpx.Client, machine: TrialMachine
) -> None:
    found = send(client, machine, redaction_of(machine, record_of(machine, 1)), served.new_token("purge")).json()
    about = client.get("/version").json()
    endpoints = {about["id"]: public_of(about["signing_key"])}
    receipt = vault_receipts.decode_vault_receipt(found["receipt"])
    assert vault_receipts.verify_vault_receipt(receipt, trusted=None, endpoints=endpoints) is ReceiptVerdict.PINNED


def test_to_demand_that_it_does_not_wait_takes_the_scope(client: httpx.Client, machine: TrialMachine) -> None:
    answer = send(client, machine, redaction_of(machine, record_of(machine, 1)), confirm="true")
    assert (answer.status_code, answer.json()["scope"]) == (403, "purge")
    assert client.get(_path(machine)).json() == {"redactions": []}


def test_purges_are_counted_by_what_became_of_them(
    served: ServedApp, client: httpx.Client, machine: TrialMachine
) -> None:
    redaction = redaction_of(machine, record_of(machine, 1))
    send(client, machine, redaction)
    send(client, machine, redaction, served.new_token("purge"))
    figures = client.get("/metrics", headers=bearer(served.new_token("admin"))).text
    assert 'lifeboat_purges_total{state="waits"} 1.0' in figures
    assert 'lifeboat_purges_total{state="applied"} 1.0' in figures


def test_who_may_only_read_purges_nothing(served: ServedApp, client: httpx.Client, machine: TrialMachine) -> None:
    redaction = redaction_of(machine, record_of(machine, 1))
    assert send(client, machine, redaction, served.new_token("pull")).status_code == 403


def test_agents_of_others_are_not_there(served: ServedApp, client: httpx.Client, machine: TrialMachine) -> None:
    stranger = served.new_token("purge", "pull", tenant="office")
    answer = send(client, machine, redaction_of(machine, record_of(machine, 1)), stranger)
    assert answer.status_code == 404
    assert client.get(_path(machine), headers=bearer(stranger)).status_code == 404


def test_what_is_no_purge_is_refused(client: httpx.Client, machine: TrialMachine) -> None:
    codes = [client.post(_path(machine), content=body).status_code for body in (b"", b"[]", b"{}", b'{"version": 1}')]
    assert codes == [422, 422, 422, 422]


def test_of_an_erased_agent_every_route_says_so_but_the_one_for_its_purge(
    served: ServedApp, client: httpx.Client, machine: TrialMachine
) -> None:
    redaction, owner = erasing(machine), served.new_token("purge", "push")
    assert send(client, machine, redaction, owner).json()["receipt"]["remaining"] == 0
    machine.capture()
    agent = f"/agents/{machine.agent_id}"
    answers = [
        client.get(agent),
        client.get(f"{agent}/head"),
        client.get(f"{agent}/keys"),
        client.get(f"{agent}/sequences"),
        client.get(f"{agent}/restore"),
        client.get(f"{agent}/snapshot"),
        client.put(f"{agent}/snapshot", content=machine.snapshot().file.read()),
        push_delta(client, machine, 1),
        client.post(f"{agent}/uploads/abc/commit"),
        client.post("/agents", json={"id": machine.agent_id, "name": "ada", "source_runtime": "openclaw"}),
        client.delete(agent, headers=bearer(served.new_token("admin"))),
    ]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(410, "agent_erased")] * 11
    assert answers[0].json()["redaction"] == redaction.to_json()
    assert client.get(_path(machine)).json() == {"redactions": [redaction.to_json()]}
    assert client.get("/agents").json()["agents"] == []


def test_the_audit_says_who_sent_a_purge_and_that_it_was_applied(
    served: ServedApp, client: httpx.Client, machine: TrialMachine
) -> None:
    redaction = erasing(machine)
    send(client, machine, redaction, served.new_token("purge"))
    rows = {row.kind: row for row in audit(served)}
    assert rows["purge.sent"].details["token"] and rows["purge.sent"].details["redaction"] == redaction.id
    assert (rows["purge"].subject, rows["purge"].details["scope"]) == (redaction.id, "full_agent")


def test_the_tag_of_the_head_changes_when_a_purge_is_applied_and_not_before(
    served: ServedApp, client: httpx.Client, machine: TrialMachine
) -> None:
    redaction = redaction_of(machine, record_of(machine, 1))
    head = f"/agents/{machine.agent_id}/head"
    before = client.get(head)
    send(client, machine, redaction)
    assert client.get(head).headers["etag"] == before.headers["etag"]
    send(client, machine, redaction, served.new_token("purge"))
    after = client.get(head)
    assert (after.json(), after.headers["etag"] == before.headers["etag"]) == (before.json(), False)


def test_a_data_key_of_the_agent_goes_with_it(tmp_path: Path) -> None:
    served = ServedApp(tmp_path, key_scope="agent")
    with served.running() as client:
        machine = served.pushed(client)
        with Endpoint.open(served.folder / "data") as endpoint:
            own = endpoint.keys(served.tenants["home"]).current(machine.agent_id)
        send(client, machine, erasing(machine), served.new_token("purge"))
        with Endpoint.open(served.folder / "data") as endpoint:
            assert own not in endpoint.keys(served.tenants["home"]).ids()
