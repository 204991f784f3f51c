"""ALF §8.5.4: what protects data at a service besides encryption: tokens, and an audit of every access."""

from __future__ import annotations

import httpx
import pytest

from lifeboat_vault.rows.sequence_rows import AuditRow
from support.endpoint.served_apps import ServedApp, bearer, push_delta, served

__all__ = ["served"]

AGENT_PATH = "/agents/{agent_id}"


def _audit(served: ServedApp) -> list[AuditRow]:
    return list(served.server.endpoint.control.audit_rows())


def _paths_to_data(served: ServedApp) -> dict[str, list[str]]:
    """Return the methods of every documented path that leads to data of a tenant."""
    found = {
        path: list(operations)
        for path, operations in served.document["paths"].items()
        if path.startswith(("/agents", "/brain", "/token"))
    }
    assert len(found) > 25
    return found


PLACES = {"{upload_id}": "a" * 32, "{sha256}": "0" * 64, "{name}": "entries-1.sealed", "{sequence}": "1"}
QUERY = {"base_sequence": 0}


@pytest.mark.parametrize("served", [{"failure_burst": 10_000.0}], indirect=True)
def test_no_data_is_reached_without_a_token(served: ServedApp) -> None:
    answers = {}
    with served.running() as client:
        places = {**PLACES, "{agent_id}": served.pushed(client).agent_id}
        del client.headers["Authorization"]
        for path, methods in _paths_to_data(served).items():
            place = path
            for name, value in places.items():
                place = place.replace(name, value)
            answers |= {(method, path): client.request(method, place, params=QUERY).status_code for method in methods}
    assert {called: status for called, status in answers.items() if status != 401} == {}
    assert len(answers) > 40


def test_every_read_of_an_agent_is_in_the_audit_with_tenant_time_and_operation(served: ServedApp) -> None:
    with served.running() as client:
        agent_id = served.pushed(client, 2).agent_id
        assert client.put(f"/agents/{agent_id}/keys", json={"agent": agent_id}).status_code == 204
        seen = set()
        for path, methods in _paths_to_data(served).items():
            place = path.replace("{agent_id}", agent_id).replace("{sequence}", "1")
            if path.startswith(AGENT_PATH) and "get" in methods and "{" not in place:
                before = len(_audit(served))
                if client.get(place, params={"since": 0, "base": 0}).status_code == 200:
                    (row,) = _audit(served)[before:]
                    assert (row.subject, row.details["tenant"]) == (agent_id, served.tenants["home"])
                    assert row.kind.startswith("read.") and row.time
                    seen.add(path.removeprefix(AGENT_PATH))
    assert seen == {
        "", "/head", "/keys", "/snapshot", "/restore", "/deltas", "/deltas/{sequence}", "/sequences", "/redactions"
    }  # fmt: skip


def test_writes_deletions_and_uses_of_a_key_are_in_the_audit(served: ServedApp) -> None:
    with served.running() as client:
        machine = served.pushed(client)
        path = f"/agents/{machine.agent_id}"
        assert _kinds(served, client.put(f"{path}/keys", json={"agent": machine.agent_id})) == ["write.keys"]
        machine.capture()
        assert _kinds(served, push_delta(client, machine, 0)) == ["write.delta"]
        assert _kinds(served, client.post(f"{path}/epoch", json={"expected": 1})) == ["epoch.raise"]
        assert _kinds(served, client.delete(path, headers=bearer(served.new_token("admin")))) == ["agent.remove"]
        rows = {row.kind: row for row in _audit(served)}
    assert {"agent.add", "write.snapshot", "key.used", "token.add", "tenant.add"} <= rows.keys()
    assert rows["key.used"].details["tenant"] == served.tenants["home"]


def _kinds(served: ServedApp, answer: httpx.Response) -> list[str]:
    assert answer.is_success, answer.text
    return [row.kind for row in _audit(served)][-1:]
