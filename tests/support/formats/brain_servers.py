"""An endpoint with the HTTP profile of AIMEM for tests: agents, imports and exports, and purges of imported
memories."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from lifeboat_alf.common import ids
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import RECORDS, Redaction
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import redaction_signatures
from support.endpoint.served_apps import ServedApp
from support.formats.aimem_bundles import document

BUNDLE = "application/aimem-bundle+json"
LINES = "application/x-ndjson"
PROBLEM = "application/problem+json"
NOW = "2026-11-20T12:00:00.000Z"


class BrainServer:
    """The application of an endpoint, and a client of the tenant `home`."""

    def __init__(self, served: ServedApp, client: httpx.Client) -> None:
        self.served = served
        self.client = client
        self.device = DeviceKey.generate(UserKey.generate())

    def agent(self, name: str = "ada", client: httpx.Client | None = None) -> str:
        """Return the id of a new agent that no machine writes."""
        agent_id = ids.make_id(NOW)
        made = {"id": agent_id, "name": name, "source_runtime": "aimem"}
        assert (client or self.client).post("/agents", json=made).status_code == 201
        return agent_id

    def send(self, bundle: JsonObject | bytes, *, media_type: str = BUNDLE, headers: Any = None, **query: Any) -> Any:
        """Return the answer to an import."""
        body = bundle if isinstance(bundle, bytes) else document(bundle)
        sent = {"Content-Type": media_type, **(headers or {})}
        return self.client.post("/v1/brain/import", content=body, headers=sent, params=query)

    def taken(self, bundle: JsonObject | bytes, **options: Any) -> JsonObject:
        """Return the summary of a successful import."""
        answer = self.send(bundle, **options)
        assert answer.status_code == 200, answer.text
        found: JsonObject = answer.json()
        return found

    def fetch(self, **query: Any) -> Any:
        """Return the answer to an export."""
        return self.client.get("/v1/brain/export", params=query)

    def exported(self, **query: Any) -> JsonObject:
        """Return the bundle of a successful export."""
        answer = self.fetch(**query)
        assert answer.status_code == 200, answer.text
        found: JsonObject = answer.json()
        return found

    def head(self, agent_id: str) -> Any:
        """Return the endpoint's description of the newest state. Its digest covers the whole state."""
        return self.client.get(f"/agents/{agent_id}").json()["head"]

    def space(self) -> Any:
        """Return the tenant space for this thread."""
        return self.served.server.endpoint.space(self.served.tenants["home"])

    def records(self, agent_id: str) -> list[JsonObject]:
        """Return all records of the newest state."""
        with self.space().vault(agent_id) as vault:
            return [json.loads(record.line) for record in vault.state().records()]

    def redaction(self, agent_id: str, content: str, **changed: Any) -> Redaction:
        """Return a signed redaction of the memories with this content."""
        return redaction_of(self.space(), self.device, agent_id, content, **changed)

    def purge(self, agent_id: str, content: str, *, confirmed: bool = True) -> Redaction:
        """Purge memories, confirmed by the owner of the endpoint; otherwise the purge waits."""
        wanted = self.redaction(agent_id, content)
        if confirmed:
            self.space().redact(agent_id, wanted.to_json(), confirmed=True)
            return wanted
        with self.space().vault(agent_id) as vault:
            vault.redact(wanted, waits_until="2099-01-01T00:00:00.000Z")
        return wanted

    def audit(self, kind: str) -> list[Any]:
        """Return rows of the endpoint's audit log."""
        return [row for row in self.served.server.endpoint.control.audit_rows() if row.kind == kind]


def redaction_of(space: TenantSpace, device: DeviceKey, agent_id: str, content: str, **changed: Any) -> Redaction:
    """A wish, signed by a device, that the memories of this content are destroyed."""
    with space.vault(agent_id) as vault:
        named = [record for record in vault.state().records() if json.loads(record.line)["content"] == content]
        assert named, "there is nothing to purge"
        record_ids = {record.id for record in named}
        leaves = {item.leaf.digest: None for item in vault.history() if item.record_id in record_ids}
        searched = tuple(row.number for row in vault.sequences())
    made = Redaction(
        id=ids.make_id(NOW),
        agent_id=agent_id,
        scope=RECORDS,
        reason="user_request",
        requested_at=NOW,
        requested_by="a test",
        record_ids=tuple(sorted(record_ids)),
        partitions_affected=tuple(sorted({record.partition for record in named})),
        searched=searched,
        leaves=leaves,
    )
    return redaction_signatures.sign_redaction(replace(made, **changed), device)


def without_moment(bundle: JsonObject) -> JsonObject:
    """Return what two exports of the same state have in common."""
    return {name: value for name, value in bundle.items() if name not in ("exported_at", "checksum")}


def contents(bundle: JsonObject) -> set[str]:
    return {chunk["content"] for chunk in bundle["chunks"]}


def problem(answer: httpx.Response, status: int, code: str) -> Any:
    """Return the problem document of an answer after checking it."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM), answer.text
    found = answer.json()
    assert found["code"] == code, found
    assert found["status"] == status
    assert found["title"] and found["detail"] and found["fix"]
    return found


@pytest.fixture
def brain(served: ServedApp) -> Iterator[BrainServer]:
    with served.running() as client:
        yield BrainServer(served, client)
        served.server.endpoint.close_thread()
