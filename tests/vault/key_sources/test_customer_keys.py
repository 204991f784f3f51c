"""A customer's own key, as clients of an endpoint see it: revoked, unreachable, given back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint
from lifeboat_endpoint.server import asgi_app
from lifeboat_vault.at_rest import data_key_cache
from lifeboat_vault.at_rest.key_sources import key_service, local_key
from lifeboat_vault.errors import KeySourceRefused
from support.endpoint.served_apps import ServedApp, bearer, push_delta
from support.vault.fake_transit import FakeTransit, fake_transit
from support.vault.key_places import KeyPlace, key_place
from support.waiting import until

SERVICES = ["aws-kms", "transit"]
CACHE = 1
"""Seconds."""


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_service, "_SHORTEST_CACHE", CACHE)


@pytest.fixture(params=SERVICES)
def place(
    request: pytest.FixtureRequest, short: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[KeyPlace]:
    with key_place(request.param, tmp_path, monkeypatch) as found:
        found.spec += f"{'&' if '?' in found.spec else '?'}cache={CACHE}"
        yield found


class Tenants:
    """`home` with the endpoint's key, `office` with its own; one agent each."""

    def __init__(self, folder: Path, spec: str, **options: Any) -> None:
        self.served = ServedApp(folder, office_key=spec, **options)
        self.office = bearer(self.served.new_token("push", "pull", tenant="office"))

    def begin(self, client: Any) -> None:
        self.ours = self.served.pushed(client)
        self.theirs = self.served.machine()
        document = {"id": self.theirs.agent_id, "name": "ada", "source_runtime": "openclaw"}
        assert client.post("/agents", json=document, headers=self.office).status_code == 201
        self.base = self.theirs.capture().number
        path, file = f"/agents/{self.theirs.agent_id}/snapshot", self.theirs.snapshot().file.read()
        assert client.put(path, content=file, headers=self.office).status_code == 201

    def office_answers(self, client: Any) -> list[tuple[int, str]]:
        """Return status and code of a read, of a restore and of a push of `office`."""
        path = f"/agents/{self.theirs.agent_id}"
        answers = [
            client.get(path, headers=self.office),
            client.get(f"{path}/snapshot", headers={**self.office, "Accept": "application/zip"}),
            push_delta(client, self.theirs, self.base, headers=self.office),
        ]
        return [
            (each.status_code, each.json()["code"] if "problem" in each.headers["content-type"] else "")
            for each in answers
        ]

    def read(self, client: Any) -> int:
        """Return the status of a read of `office`."""
        status: int = client.get(f"/agents/{self.theirs.agent_id}", headers=self.office).status_code
        return status

    def is_home_well(self, client: Any) -> bool:
        base = self.ours.here.number
        self.ours.capture()
        return client.get(f"/agents/{self.ours.agent_id}").status_code == 200 and (
            push_delta(client, self.ours, base).status_code == 201
        )


@pytest.mark.parametrize("scope", ["tenant", "agent"])
def test_a_key_that_is_taken_away_ends_reads_and_pushes_of_its_tenant_only(
    tmp_path: Path, place: KeyPlace, scope: str
) -> None:
    tenants = Tenants(tmp_path, place.spec, key_scope=scope)
    with tenants.served.running() as client:
        tenants.begin(client)
        tenants.theirs.capture()
        place.take_away()
        until(lambda: tenants.read(client) == 403, "the key to be gone from the cache")
        assert tenants.office_answers(client) == [(403, "key_revoked")] * 3
        assert tenants.is_home_well(client)
        place.give_back()
        assert [status for status, _ in tenants.office_answers(client)] == [200, 200, 201]


@pytest.fixture
def transit(short: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTransit]:
    monkeypatch.setattr(key_service, "_AWAY_SECONDS", 0.0)
    with fake_transit(monkeypatch) as made:
        yield made


def test_a_key_that_is_out_of_reach_asks_clients_to_wait(tmp_path: Path, transit: FakeTransit) -> None:
    tenants = Tenants(tmp_path, transit.spec(cache=CACHE))
    with tenants.served.running() as client:
        tenants.begin(client)
        tenants.theirs.capture()
        transit.fails = 503
        until(lambda: tenants.read(client) == 503, "the key to be gone from the cache")
        assert tenants.office_answers(client) == [(503, "remote_busy")] * 3
        answer = client.get(f"/agents/{tenants.theirs.agent_id}", headers=tenants.office)
        assert answer.headers["Retry-After"] == "5" and answer.json()["retryable"]
        assert transit.server.address not in answer.text
        assert tenants.is_home_well(client)
        transit.fails = None
        assert [status for status, _ in tenants.office_answers(client)] == [200, 200, 201]


def test_a_service_that_hangs_keeps_no_other_tenant_waiting(
    tmp_path: Path, transit: FakeTransit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_service, "_AWAY_SECONDS", 3600.0)
    monkeypatch.setattr(key_service, "_LONGEST_AWAY", 3600.0)
    tenants = Tenants(tmp_path, transit.spec(cache=CACHE))
    with tenants.served.running() as client:
        tenants.begin(client)
        monkeypatch.setattr(key_service, "_ANSWER_SECONDS", 1.0)
        transit.answer = transit.server.silent
        until(lambda: tenants.read(client) == 503, "the key to be gone from the cache")
        asked = len(transit.server.asked)
        assert tenants.read(client) == 503 and tenants.is_home_well(client)
        assert len(transit.server.asked) == asked, "the service that hangs was asked again"
        transit.server.over.set()


def test_an_endpoint_whose_keys_are_out_of_reach_or_withheld_says_so(tmp_path: Path, transit: FakeTransit) -> None:
    with Endpoint.create(tmp_path / "data", key_source=f"file:{tmp_path / 'endpoint.key'}") as endpoint:
        office = endpoint.add_tenant("office", key_source=transit.spec())
        transit.fails = 503
    with Endpoint.open(tmp_path / "data") as endpoint:
        (found,) = verify_endpoint(endpoint, [office]).findings
        assert (found.kind, found.tenant) == ("key", "office") and found.message.endswith("try again in a moment")
    transit.fails = None
    transit.denied.add("decrypt")
    with Endpoint.open(tmp_path / "data") as endpoint:
        (found,) = verify_endpoint(endpoint, [office]).findings
        assert found.message.endswith("allow the token of this endpoint to update transit/decrypt/customer")


def test_an_endpoints_own_source_is_looked_at_where_no_tenant_uses_it(tmp_path: Path, transit: FakeTransit) -> None:
    own = f"file:{tmp_path / 'office.key'}"
    with Endpoint.create(tmp_path / "data", key_source=transit.spec()) as endpoint:
        office = endpoint.add_tenant("office", key_source=own)
        assert verify_endpoint(endpoint, [office]).ok and verify_endpoint(endpoint, []).ok
        transit.denied.add("encrypt")
        (found,) = verify_endpoint(endpoint, [office]).findings
        assert (found.kind, found.subject) == (
            "key",
            transit.spec(),
        ) and "refused to encrypt (status 403)" in found.message


def test_a_tenant_is_not_made_where_its_key_cannot_be_used(tmp_path: Path, transit: FakeTransit) -> None:
    with Endpoint.create(tmp_path / "data", key_source=f"file:{tmp_path / 'endpoint.key'}") as endpoint:
        transit.denied.add("decrypt")
        with pytest.raises(KeySourceRefused):
            endpoint.add_tenant("office", key_source=transit.spec())
        assert endpoint.control.tenants() == []


def test_a_server_that_nobody_asks_keeps_no_key_for_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi_app, "_LET_GO_EVERY", 0.05)
    monkeypatch.setattr(data_key_cache, "_SWEEP", 0.0)
    monkeypatch.setattr(local_key, "CACHE_SECONDS", 1.0)
    served = ServedApp(tmp_path)
    with served.running() as client:
        served.pushed(client)
        held = served.server.endpoint.keys(served.tenants["home"])._held._held
        assert held
        until(lambda: held == {}, "the key to be forgotten")
