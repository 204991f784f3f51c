"""Responses of the routes, by caller."""

from __future__ import annotations

import hashlib
import io
import uuid
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import quote

import httpx
import pytest

from lifeboat_alf.common import ids
from lifeboat_alf.deltas.delta_writer import DeltaReader
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_endpoint.server import route_table
from lifeboat_endpoint.server.api import ANY
from lifeboat_endpoint.server.routes import snapshot_routes
from lifeboat_endpoint.tenancy.callers import DEVICE_SCOPES
from lifeboat_endpoint.tenancy.control import MOST_RESTORE_TOKENS
from lifeboat_vault.remote.remote_contract import TRIAL
from lifeboat_vault.vault import EntryPut
from support.endpoint.falsified_bundles import FALSIFICATIONS, falsified_snapshot
from support.endpoint.served_apps import ServedApp, bearer, push_delta

UNKNOWN = "0198aaaa-aaaa-7aaa-8aaa-aaaaaaaaaaaa"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> ServedApp:
    return ServedApp(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def client(served: ServedApp) -> Iterator[httpx.Client]:
    with served.running() as found:
        yield found


def test_every_route_is_there_with_and_without_a_version(client: httpx.Client) -> None:
    assert client.get("/v1/version").json()["id"] == client.get("/version").json()["id"]


@pytest.mark.parametrize("path", ["/version", "/health/live", "/health/ready", "/openapi.json", "/ca.pem"])
def test_what_is_open_asks_for_no_token(client: httpx.Client, path: str) -> None:
    assert client.get(path, headers={"Authorization": ""}).status_code == 200


def test_without_a_token_nobody_comes_in(client: httpx.Client) -> None:
    answer = client.get("/agents", headers={"Authorization": ""})
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json()["code"] == "remote_denied"


def test_a_revoked_token_counts_no_more_at_once(served: ServedApp, client: httpx.Client) -> None:
    token = served.new_token()
    assert client.delete("/token", headers=bearer(token)).status_code == 204
    assert client.get("/token", headers=bearer(token)).status_code == 401


def test_a_token_without_the_scope_is_told_which_one_it_lacks(served: ServedApp, client: httpx.Client) -> None:
    answer = client.get("/agents", headers=bearer(served.new_token("push")))
    assert (answer.status_code, answer.json()["scope"]) == (403, "pull")


def test_a_machine_removes_what_was_made_up_for_a_trial_and_nothing_else(
    served: ServedApp, client: httpx.Client
) -> None:
    for runtime, status in ((TRIAL, 204), ("openclaw", 403)):
        agent = str(uuid.uuid4())
        client.post("/agents", json={"id": agent, "name": "ada", "source_runtime": runtime})
        assert client.delete(f"/agents/{agent}").status_code == status
    assert client.delete(f"/agents/{agent}", headers=bearer(served.new_token("admin"))).status_code == 204
    assert client.get(f"/agents/{agent}").status_code == 404


def test_a_token_says_whose_it_is(client: httpx.Client) -> None:
    assert client.get("/token").json() == {
        "tenant": "home",
        "name": "test",
        "scopes": ["pull", "push"],
        "expires_at": None,
        "quota": None,
    }


def test_a_token_says_how_much_its_tenant_may_keep(served: ServedApp, client: httpx.Client) -> None:
    served.app.state.server.endpoint.control.set_quota(served.tenants["home"], 5 << 20)
    assert client.get("/token").json()["quota"] == 5 << 20


def test_what_belongs_to_somebody_else_is_not_there(served: ServedApp, client: httpx.Client) -> None:
    machine = served.pushed(client)
    foreign = bearer(served.new_token(tenant="office"))
    for path in ("", "/head", "/snapshot", "/sequences", "/deltas", "/restore", "/keys"):
        there = client.get(f"/agents/{machine.agent_id}{path}", headers=foreign)
        never = client.get(f"/agents/{UNKNOWN}{path}", headers=foreign)
        assert (there.status_code, never.status_code) == (404, 404)
        same = {"detail": "", "request_id": ""}
        assert {**there.json(), **same} == {**never.json(), **same}


def test_an_agent_registers_once(served: ServedApp, client: httpx.Client) -> None:
    machine = served.registered(client)
    answer = client.post("/agents", json={"id": machine.agent_id, "name": "ada", "source_runtime": "openclaw"})
    assert (answer.status_code, answer.headers["x-latest-sequence"]) == (409, "0")
    found = client.get(f"/agents/{machine.agent_id}").json()
    assert (found["name"], found["latest_sequence"], found["head"]) == ("ada", 0, None)


def test_a_push_answers_with_the_new_head_and_the_same_push_again_with_200(
    served: ServedApp, client: httpx.Client
) -> None:
    machine = served.registered(client)
    machine.capture()
    body = machine.snapshot().file.read()
    path = f"/agents/{machine.agent_id}/snapshot"
    headers = {"X-Lifeboat-Machine": quote("Käthes laptop")}
    first, again = client.put(path, content=body, headers=headers), client.put(path, content=body, headers=headers)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert first.json()["head"]["machine"] == "Käthes laptop"
    assert first.json()["head"]["digest"] == machine.here.digest.hex()


def test_a_delta_on_another_base_names_the_head(served: ServedApp, client: httpx.Client) -> None:
    machine = served.pushed(client, captures=2)
    machine.capture()
    answer = push_delta(client, machine, 0)
    assert (answer.status_code, answer.headers["x-latest-sequence"]) == (409, "1")
    assert (answer.json()["code"], answer.json()["sequence"]) == ("stale_base", 1)


def test_what_is_no_bundle_is_refused(served: ServedApp, client: httpx.Client) -> None:
    machine = served.registered(client)
    answer = client.put(f"/agents/{machine.agent_id}/snapshot", content=b"not a ZIP file")
    assert (answer.status_code, answer.json()["code"]) == (422, "remote_refused")


def test_the_snapshot_is_a_file_or_an_address_as_the_request_accepts(served: ServedApp, client: httpx.Client) -> None:
    machine = served.pushed(client, captures=3)
    path = f"/agents/{machine.agent_id}/snapshot"
    file = client.get(path, headers={"Accept": "application/zip"})
    assert file.headers["content-type"] == "application/zip"
    assert SnapshotReader(io.BytesIO(file.content)).sequence.digest == machine.here.digest
    document = client.get(path, params={"sequence": 0, "include_deltas": "true"}).json()
    assert document["snapshot_url"].startswith("https://endpoint.example.com/transfers/")
    assert [(each["base_sequence"], each["sequence"]) for each in document["deltas"]] == [(0, 1), (1, 2)]
    fetched = client.get(document["snapshot_url"].removeprefix("https://endpoint.example.com"))
    assert SnapshotReader(io.BytesIO(fetched.content)).sequence.number == 0


def test_a_delta_leads_from_any_kept_state_to_any_later_one(served: ServedApp, client: httpx.Client) -> None:
    machine = served.pushed(client, captures=4)
    path = f"/agents/{machine.agent_id}/deltas/3"
    reader = DeltaReader(io.BytesIO(client.get(path, params={"base": 1}).content))
    assert (reader.base_sequence, reader.sequence.number) == (1, 3)
    assert client.get(path).headers["x-base-sequence"] == "2"
    assert client.get(path, params={"base": 3}).status_code == 404


@pytest.mark.parametrize(("path", "name"), [("deltas", "deltas"), ("sequences", "sequences")])
def test_lists_come_in_pages(served: ServedApp, client: httpx.Client, path: str, name: str) -> None:
    machine = served.pushed(client, captures=5)
    found, since = [], -1
    while since is not None:
        page = client.get(f"/agents/{machine.agent_id}/{path}", params={"since": since, "limit": 2}).json()
        found += [each["sequence"] for each in page[name]]
        since = page["next"]
    assert found == ([1, 2, 3, 4] if path == "deltas" else [0, 1, 2, 3, 4])


def test_a_snapshot_with_more_deltas_than_a_page_says_where_they_go_on(
    served: ServedApp, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_routes, "PAGE", 2)
    machine = served.pushed(client, captures=5)
    path = f"/agents/{machine.agent_id}"
    found = client.get(f"{path}/snapshot", params={"sequence": 0, "include_deltas": "true"}).json()
    rest = client.get(f"{path}/deltas", params={"since": found["next"]}).json()
    assert [each["sequence"] for each in found["deltas"] + rest["deltas"]] == [1, 2, 3, 4]
    assert rest["next"] is None


def test_agents_come_in_pages(served: ServedApp, client: httpx.Client) -> None:
    headers = bearer(served.new_token("push", "pull", tenant="office"))
    made = sorted(f"{number}{UNKNOWN[1:]}" for number in range(3))
    for agent_id in made:
        assert client.post("/agents", json={"id": agent_id, "name": "ada"}, headers=headers).status_code == 201
    first = client.get("/agents", params={"limit": 2}, headers=headers).json()
    rest = client.get("/agents", params={"limit": 2, "after": first["next"]}, headers=headers).json()
    assert [each["id"] for each in first["agents"] + rest["agents"]] == made
    assert rest["next"] is None


def test_the_head_has_a_tag_that_changes_with_it(served: ServedApp, client: httpx.Client) -> None:
    machine = served.registered(client)
    path = f"/agents/{machine.agent_id}/head"
    empty = client.get(path)
    machine.capture()
    client.put(f"/agents/{machine.agent_id}/snapshot", content=machine.snapshot().file.read())
    full = client.get(path)
    assert (empty.json()["sequence"], full.json()["sequence"]) == (None, 0)
    assert empty.headers["etag"] != full.headers["etag"]


def test_an_epoch_is_raised_only_from_the_one_in_force(served: ServedApp, client: httpx.Client) -> None:
    path = f"/agents/{served.pushed(client).agent_id}/epoch"
    assert client.post(path, json={"expected": 1}).json() == {"epoch": 2}
    answer = client.post(path, json={"expected": 1})
    assert (answer.status_code, answer.json()["code"], answer.json()["epoch"]) == (409, "epoch_moved", 2)


def test_keys_travel_outside_of_history(served: ServedApp, client: httpx.Client) -> None:
    path = f"/agents/{served.registered(client).agent_id}/keys"
    assert client.get(path).json() is None
    assert client.put(path, json={"version": 1, "wrapped": "abc"}).status_code == 204
    assert client.get(path).json() == {"version": 1, "wrapped": "abc"}


def test_a_bundle_in_parts_travels_only_as_far_as_it_is_missing(served: ServedApp, client: httpx.Client) -> None:
    import hashlib

    machine = served.registered(client)
    machine.capture()
    data = machine.snapshot().file.read()
    parts = [data[:1000], data[1000:]]
    names = [hashlib.sha256(part).hexdigest() for part in parts]
    asked = {
        "kind": "snapshot",
        "parts": [{"sha256": name, "size": len(part)} for name, part in zip(names, parts, strict=True)],
    }
    base = f"/agents/{machine.agent_id}/uploads"
    first = client.post(base, json=asked).json()
    assert first["missing"] == names
    assert client.put(f"{base}/{first['upload_id']}/parts/{names[0]}", content=parts[0]).status_code == 204
    again = client.post(base, json=asked).json()
    assert again["missing"] == names[1:]
    assert client.put(f"{base}/{again['upload_id']}/parts/{names[1]}", content=parts[1]).status_code == 204
    commit = client.post(f"{base}/{again['upload_id']}/commit")
    assert (commit.status_code, commit.json()["sequence"]) == (201, 0)


def sealed_agent(client: httpx.Client) -> str:
    """A new sealed agent."""
    agent_id = ids.make_id("2026-11-20T12:00:00.000Z")
    document = {"id": agent_id, "name": agent_id, "source_runtime": "sealed", "sealed": True}
    assert client.post("/agents", json=document).status_code == 201
    return agent_id


def test_a_sealed_head_is_replaced_only_by_who_has_seen_it(client: httpx.Client) -> None:
    path = f"/agents/{sealed_agent(client)}/sealed/head"
    assert client.put(path, content=b"blind").status_code == 428
    first = client.put(path, content=b"one", headers={"If-None-Match": "*"})
    assert first.status_code == 204
    assert client.put(path, content=b"two", headers={"If-None-Match": "*"}).status_code == 412
    second = client.put(path, content=b"two", headers={"If-Match": first.headers["etag"]})
    assert (second.status_code, client.get(path).content) == (204, b"two")
    assert client.get(path).headers["etag"] == second.headers["etag"]


def test_a_sealed_file_never_changes(client: httpx.Client) -> None:
    agent_id = sealed_agent(client)
    path = f"/agents/{agent_id}/sealed/files/0001.age"
    assert [client.put(path, content=b"x").status_code for _ in range(2)] == [204, 204]
    assert client.put(path, content=b"y").status_code == 422
    assert [each["size"] for each in client.get(f"/agents/{agent_id}/sealed/files").json()["files"]] == [1]
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404


def test_head_answers_as_get_without_the_body(served: ServedApp, client: httpx.Client) -> None:
    agent = served.pushed(client).agent_id
    for path in ("/version", f"/agents/{agent}", f"/agents/{agent}/snapshot?sequence=0"):
        headers = {"Accept": "application/octet-stream"}
        full, bare = client.get(path, headers=headers), client.head(path, headers=headers)
        assert (bare.status_code, bare.content) == (200, b"")
        assert bare.headers["content-length"] == full.headers["content-length"]


def test_a_large_artifact_is_asked_about_sent_once_and_fetched(served: ServedApp, client: httpx.Client) -> None:
    film = b"tier three " * 40_000
    digest = hashlib.sha256(film).hexdigest()
    machine = served.registered(client)
    machine.commit({"artifacts/film.mp4": EntryPut({"attachment": {"id": UNKNOWN, "tier": 3}}, film)})
    state = machine.snapshot().file.read()
    assert client.put(f"/agents/{machine.agent_id}/snapshot", content=state).status_code == 201
    path = f"/agents/{machine.agent_id}/objects/{digest}"
    assert (client.head(path).status_code, client.head(path).content) == (404, b"")
    assert client.put(path, content=b"another film").status_code == 422
    assert [client.put(path, content=film).status_code for _ in range(2)] == [204, 204]
    there = client.head(path)
    assert (there.status_code, there.headers["content-length"]) == (200, str(len(film)))
    assert client.get(path).content == film


def test_a_large_artifact_is_asked_about_and_sent_by_its_leaf(served: ServedApp, client: httpx.Client) -> None:
    film, path = b"tier three " * 40_000, "artifacts/film.mp4"
    machine = served.registered(client)
    machine.commit({path: EntryPut({"attachment": {"id": UNKNOWN, "tier": 3}}, film)})
    state = falsified_snapshot(machine.vault, {path: FALSIFICATIONS["everything"]}).file.read()
    assert client.put(f"/agents/{machine.agent_id}/snapshot", content=state).status_code == 201
    key, objects = machine.file_key(path), f"/agents/{machine.agent_id}/objects"
    leaf = key.leaf.digest.hex()
    asked = {"sha256": [key.sha256], "leaves": [leaf, "ab" * 32]}
    assert client.post(f"{objects}/missing", json={"sha256": [key.sha256]}).json()["missing"] == []
    assert client.post(f"{objects}/missing", json=asked).json() == {"missing": [], "leaves": [leaf]}
    for salt in ("X", "ab", "ab" * 17, "AB" * 16):
        refused = client.put(f"{objects}/{key.sha256}", content=film, headers={"X-Lifeboat-Salt": salt})
        assert refused.status_code == 422
    for salt in ({}, {"X-Lifeboat-Salt": "ab" * 16}):
        assert client.put(f"{objects}/{key.sha256}", content=film, headers=salt).status_code == 404
    right = {"X-Lifeboat-Salt": key.leaf.salt.hex()}
    assert client.put(f"{objects}/{'ab' * 32}", content=film, headers=right).status_code == 422
    assert client.put(f"{objects}/{key.sha256}", content=film, headers=right).status_code == 204
    assert client.post(f"{objects}/missing", json={**asked, "read": True}).json()["leaves"] == []
    assert client.get(f"{objects}/{key.sha256}").content == film


def test_no_route_and_no_method_are_problems_too(client: httpx.Client) -> None:
    nothing, wrong = client.get("/nothing"), client.delete("/version")
    assert (nothing.status_code, wrong.status_code, wrong.headers["allow"]) == (404, 405, "GET, HEAD")
    for answer in (nothing, wrong):
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code
        assert answer.json()["request_id"] == answer.headers["x-request-id"]


def test_figures_are_for_this_machine_and_for_whoever_looks_after_it(served: ServedApp, client: httpx.Client) -> None:
    assert client.get("/metrics").status_code == 403  # the client of this test has another address
    served.pushed(client)
    answer = client.get("/metrics", headers=bearer(served.new_token("admin")))
    assert 'route="/agents/{agent_id}/snapshot"' in answer.text
    assert served.tenants["home"] not in answer.text


def test_an_accident_tells_its_request_and_nothing_else(
    served: ServedApp, client: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(tenant_id: str) -> None:
        raise ZeroDivisionError("SOUL.md of ada")

    monkeypatch.setattr(served.server.endpoint, "space", fail)
    with caplog.at_level("INFO", "lifeboat.endpoint"):
        answer = client.get("/agents")
    assert (answer.status_code, answer.json()["code"]) == (500, "accident")
    assert "SOUL" not in answer.text + caplog.text
    assert "ZeroDivisionError at " in caplog.text
    assert answer.json()["request_id"] in caplog.text


# Tokens of recovery kits --------------------------------------------------------------------------------------------


def test_a_machine_makes_a_token_that_can_only_read(served: ServedApp, client: httpx.Client) -> None:
    machine = served.pushed(client)
    answer = client.post("/token")
    assert answer.status_code == 201
    made = answer.json()
    assert (made["scopes"], made["name"]) == (["pull"], "kit of test")
    reader = bearer(made["token"])
    assert client.get(f"/agents/{machine.agent_id}", headers=reader).status_code == 200
    assert client.get("/token", headers=reader).json()["scopes"] == ["pull"]


def test_a_token_that_can_only_read_passes_no_route_that_changes_something(
    served: ServedApp, client: httpx.Client
) -> None:
    """Read what each route asks for: a reader must be refused wherever something changes, except its own end."""
    reading = {("POST", "/agents/{agent_id}/read"), ("DELETE", "/token")}
    reading.add(("PUT", "/transfers/{transfer}"))  # its address is signed, and given out by a route that asks for push
    changing = [one for one in route_table.OWN if one.method != "GET" and (one.method, one.path) not in reading]
    assert len(changing) > 15
    lets_in = [
        (one.method, one.path) for one in changing if one.scopes is None or one.scopes == ANY or "pull" in one.scopes
    ]
    assert lets_in == []
    reader = bearer(client.post("/token").json()["token"])
    assert client.post("/token", headers=reader).status_code == 403


def test_a_token_of_a_kit_ends_when_that_of_its_machine_does(served: ServedApp, client: httpx.Client) -> None:
    control = served.app.state.server.endpoint.control
    ends = control._clock.now() + timedelta(hours=1)
    made, secret = control.add_token(served.tenants["office"], "brief", DEVICE_SCOPES, ends)
    answer = client.post("/token", headers=bearer(secret)).json()
    assert answer["expires_at"] == made.expires_at
    control.revoke_token(made.id)
    assert client.get("/token", headers=bearer(answer["token"])).status_code == 200, "a lost machine ends no kit"
    control.revoke_token(answer["id"])
    assert client.get("/token", headers=bearer(answer["token"])).status_code == 401


def test_a_machine_makes_no_tokens_without_end(served: ServedApp, client: httpx.Client) -> None:
    tenant = served.server.endpoint.add_tenant("many").id
    _, secret = served.server.endpoint.control.add_token(tenant, "laptop", DEVICE_SCOPES)
    codes = [client.post("/token", headers=bearer(secret)).status_code for _ in range(MOST_RESTORE_TOKENS + 1)]
    assert set(codes[:-1]) == {201} and codes[-1] == 403
