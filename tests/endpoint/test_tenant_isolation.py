"""One tenant against another (ALF §8.5.4, §10.13): with ids, tokens, paths, numbers and SQL, over HTTP and below it.

Requests for data of another tenant are answered as for missing data. A tenant's requests are looked up only in its own
tables, so neither texts nor durations of responses differ.
"""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import httpx
import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.server import route_table
from lifeboat_endpoint.server.api import OPEN, Route
from lifeboat_endpoint.service import sealed_statements
from lifeboat_endpoint.service import tenant_statements as sql
from lifeboat_endpoint.service.tenant_tables import open_tables
from lifeboat_vault import errors
from lifeboat_vault.vault import Vault
from support.endpoint.sealed import data_keys
from support.endpoint.served_apps import ServedApp, bearer, client, served
from support.endpoint.spaces import TestKeys, space_in
from support.vault.vaults import ManualClock

__all__ = ["client", "served"]
UNKNOWN = "0198aaaa-aaaa-7aaa-8aaa-aaaaaaaaaaaa"
DIGEST = "ab" * 32
BODIES: dict[str, Any] = {
    "/read": {"sequence": 0, "entries": ["identity.json"], "records": []},
    "/objects/missing": {"sha256": [DIGEST]},
    "/sequences/damaged": {},
    "/signatures": {"signatures": []},
    "/epoch": {"expected": 1},
    "/uploads": {"kind": "snapshot", "parts": [{"sha256": DIGEST, "size": 1}]},
    "/keys": {"agent_id": UNKNOWN},
}
BASED = ("/deltas", "/deltas/upload")
BEGINNING = {("POST", "/agents/{agent_id}/deltas"): 422, ("POST", "/agents/{agent_id}/deltas/upload"): 200}
"""Routes on which an older client begins an agent with its changes, and what the requests of this test get there."""
HEADERS = {"If-None-Match": "*"}
INJECTIONS = (
    "' or '1'='1",
    "'; drop table agent; --",
    '" or 1=1 --',
    "%27%20or%201=1",
    "x' union select id, digest, tenant, name, scopes from token --",
    "*",
    "%",
    "_",
    "\\",
    "..%2f..%2fcontrol.db",
    "%2e%2e%2f%2e%2e",
    "%00",
    "ａgent",
    "0198aaaa-aaaa-7aaa-8aaa-aaaaaaaaaaaa' --",
    "{0198aaaa-aaaa-7aaa-8aaa-aaaaaaaaaaaa}",
    "0198aaaaaaaa7aaa8aaaaaaaaaaaaaaa",
)


def of_agents() -> list[Route]:
    """Return every route that names an agent."""
    return [route for route in route_table.OWN if "{agent_id}" in route.path and route.scopes is not OPEN]


def asked(client: httpx.Client, route: Route, agent_id: str, token: str, upload_id: str = "0" * 32) -> httpx.Response:
    """Return a complete request of the route, for any agent."""
    parts = {"agent_id": agent_id, "upload_id": upload_id, "sha256": DIGEST, "sequence": "0", "name": "0-x.alf.age"}
    path = re.sub(r"{([a-z0-9_]+)}", lambda found: parts[found[1]], route.path)
    body = next((json.dumps(body) for ending, body in BODIES.items() if route.path.endswith(ending)), "x")
    content = body if route.body is not None else None
    query = {"base_sequence": 0} if route.method == "POST" and route.path.endswith(BASED) else None
    return client.request(route.method, path, params=query, content=content, headers={**bearer(token), **HEADERS})


def shape(answer: httpx.Response, agent_id: str) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Return a response without what differs between requests."""
    document = json.loads(answer.text.replace(agent_id, "AGENT")) if answer.text else {}
    for name in ("request_id", "delta_id", "upload_id", "upload_url", "expires_at"):
        document.pop(name, None)
    varying = ("x-request-id", "content-length", "date")
    return answer.status_code, document, {key: value for key, value in answer.headers.items() if key not in varying}


def test_what_is_another_tenants_is_answered_as_what_is_not_there(served: ServedApp, client: httpx.Client) -> None:
    """Every method of every route, with all scopes."""
    machine = served.pushed(client, captures=2)
    begun = client.post(f"/agents/{machine.agent_id}/uploads", json=BODIES["/uploads"]).json()["upload_id"]
    everything = client.get(f"/agents/{machine.agent_id}").json()
    foreign = served.new_token("push", "pull", "purge", "admin", tenant="office")
    routes = of_agents()
    assert len(routes) > 25
    for route in sorted(routes, key=lambda route: (route.method, route.path) in BEGINNING):
        theirs = shape(asked(client, route, machine.agent_id, foreign, begun), machine.agent_id)
        nothing = shape(asked(client, route, UNKNOWN, foreign, "f" * 32), UNKNOWN)
        assert theirs == nothing, (route.method, route.path)
        assert theirs[0] == BEGINNING.get((route.method, route.path), 404), (route.method, route.path, theirs)
    assert client.get(f"/agents/{machine.agent_id}").json() == everything


def test_a_tenant_lists_and_counts_its_own_only(served: ServedApp, client: httpx.Client) -> None:
    ours = served.pushed(client)
    foreign = bearer(served.new_token(tenant="office"))
    own = "0198bbbb-bbbb-7bbb-8bbb-bbbbbbbbbbbb"
    document = {"id": own, "name": "theirs", "source_runtime": "openclaw"}
    assert client.post("/agents", json=document, headers=foreign).status_code == 201
    for query in ("", "?after=", f"?after={ours.agent_id[:-1]}", "?after=0&limit=10000"):
        found = client.get(f"/agents{query}", headers=foreign).json()["agents"]
        assert {each["id"] for each in found} <= {own}
    assert {each["id"] for each in client.get("/agents").json()["agents"]} == {ours.agent_id}


def test_two_tenants_may_have_an_agent_of_one_id(served: ServedApp, client: httpx.Client) -> None:
    """A refusal would tell that another tenant has it."""
    ours = served.pushed(client, captures=2)
    foreign = bearer(served.new_token(tenant="office"))
    document = {"id": ours.agent_id, "name": "twin", "source_runtime": "openclaw"}
    assert client.post("/agents", json=document, headers=foreign).status_code == 201
    theirs = client.get(f"/agents/{ours.agent_id}", headers=foreign).json()
    assert (theirs["name"], theirs["head"]) == ("twin", None)
    assert client.get(f"/agents/{ours.agent_id}").json()["latest_sequence"] == 1
    assert client.get(f"/agents/{ours.agent_id}/snapshot", headers=foreign).status_code == 404


def test_what_looks_like_sql_or_a_path_is_an_id_that_is_not_there(served: ServedApp, client: httpx.Client) -> None:
    ours = served.pushed(client)
    before = client.get("/agents").json()
    for text in (*INJECTIONS, f"{ours.agent_id}%2fhead%2f..", f"{ours.agent_id}%20"):
        for path in (f"/agents/{text}", f"/agents/{text}/snapshot", f"/agents/{ours.agent_id}/sealed/files/{text}"):
            assert client.get(path).status_code in (404, 422), path
        assert client.get(f"/agents/{ours.agent_id}/deltas/{text}").status_code in (404, 405)
        assert client.get(f"/transfers/{text}").status_code == 404
        found = client.get("/agents", params={"after": text})
        assert found.status_code in (200, 400)
    assert client.get("/agents").json() == before
    assert served.server.endpoint.control.tenants()


def test_what_looks_like_sql_in_a_body_is_kept_as_it_is(served: ServedApp, client: httpx.Client) -> None:
    name = "'; drop table agent; --"
    document = {"id": UNKNOWN, "name": name, "source_runtime": name}
    assert client.post("/agents", json=document).status_code == 201
    found = client.get(f"/agents/{UNKNOWN}").json()
    assert (found["name"], found["source_runtime"]) == (name, name)
    ours = served.pushed(client)
    asked_for = {"sequence": 0, "entries": list(INJECTIONS), "records": list(INJECTIONS)}
    read = client.post(f"/agents/{ours.agent_id}/read", json=asked_for).json()
    assert set(read["entries"]) | set(read["records"]) == {None}


def test_what_looks_like_sql_is_no_token(served: ServedApp) -> None:
    token = served.token
    made = [(text, f"lb_{text}_{'x' * 43}", f"lb_{token[3:11]}_{text}", f"{token}{text}") for text in INJECTIONS]
    for secret in (each for some in made for each in some):
        with pytest.raises(errors.RemoteDenied):
            served.server.endpoint.control.authenticate(secret)


def test_a_token_that_counts_no_more_is_answered_as_one_that_never_did(served: ServedApp, client: httpx.Client) -> None:
    control = served.server.endpoint.control
    expired, ended = control.add_token(served.tenants["home"], "old", ["pull"], "2020-01-01T00:00:00.000Z")
    revoked = served.new_token()
    control.revoke_token(revoked[3:11])
    made_up = f"lb_{expired.id}_{'x' * 43}"
    answers = [client.get("/agents", headers=bearer(secret)) for secret in (ended, revoked, made_up, "lb_x", "", "x y")]
    assert {answer.status_code for answer in answers} == {401}
    assert {answer.json()["code"] for answer in answers} == {"remote_denied"}


@pytest.mark.parametrize("served", [{"failure_burst": 1000}], indirect=True)
@pytest.mark.parametrize("scope", ["push", "pull", "purge"])
def test_a_token_for_one_thing_does_nothing_else(scope: str, served: ServedApp, client: httpx.Client) -> None:
    machine = served.pushed(client)
    before = client.get(f"/agents/{machine.agent_id}").json()
    token = served.new_token(scope)
    for route in of_agents():
        if scope not in (route.scopes or ()):
            answer = asked(client, route, machine.agent_id, token)
            assert (answer.status_code, answer.json()["code"]) == (403, "remote_denied"), route.path
    assert client.delete(f"/agents/{machine.agent_id}", headers=bearer(token)).status_code == 403
    assert client.get(f"/agents/{machine.agent_id}").json() == before


# Below HTTP ---------------------------------------------------------------------------------------------------------


def test_no_query_of_a_tenants_tables_can_name_another_tenant() -> None:
    """The tables contain no row of another tenant, and no column that a statement could select one by."""
    statements = [text for module in (sql, sealed_statements) for name, text in vars(module).items() if name.isupper()]
    assert len(statements) > 30
    for text in statements:
        assert "%" not in text and "{" not in text  # values reach statements as parameters only
        assert "attach" not in text.lower()
        if "tenant" in text:
            assert text in (sql.ADD_TENANT, sql.TENANT)


def test_an_id_that_was_made_for_it_leads_out_of_no_tenant(tmp_path: Path) -> None:
    """The methods of the service themselves, as if the id had passed all checks."""
    with space_in(tmp_path / "home") as ours, space_in(tmp_path / "office") as theirs:
        theirs.register("ada", "Ada", "openclaw")
        for agent_id in ("ada", "../../office/agents/ada", "ada' or '1'='1", "' union select 1 --", "%", "_da"):
            for work in (ours.agent, ours.head, ours.keys, ours.snapshot, ours.remove_agent, ours.is_sealed):
                with pytest.raises(errors.UnknownAtRemote):
                    work(agent_id)
            with pytest.raises(errors.UnknownAtRemote):
                ours.uploads.begin(agent_id, "snapshot")
            with pytest.raises(errors.UnknownAtRemote):
                ours.sealed_files.names(agent_id)
        assert ours.agent_ids() == []
        assert theirs.agent_ids() == ["ada"]


def test_the_tables_of_one_tenant_are_not_opened_for_another(tmp_path: Path) -> None:
    open_tables(tmp_path, "home", SystemFiles(), ManualClock()).close()
    with pytest.raises(errors.VaultDamaged):
        open_tables(tmp_path, "office", SystemFiles(), ManualClock())


def test_what_was_moved_to_another_tenant_opens_nowhere(tmp_path: Path) -> None:
    """Defence in depth: files of another tenant are useless without its keys."""
    mine, theirs = data_keys(tmp_path, "home"), data_keys(tmp_path, "office")
    Vault.create(tmp_path / "vault", UNKNOWN, sealer=theirs.sealer(UNKNOWN)).close()
    with pytest.raises((errors.OtherDataKey, errors.VaultDamaged, errors.KeyRevoked)):
        Vault.open(tmp_path / "vault", sealer=mine.sealer(UNKNOWN))


def test_a_row_that_was_copied_from_another_tenant_is_read_by_nobody(tmp_path: Path) -> None:
    class OtherKeys(TestKeys):
        def __init__(self) -> None:
            super().__init__()
            self._current = 7

    with space_in(tmp_path / "office", OtherKeys()) as theirs:
        theirs.register("ada", "Ada of the office", "openclaw")
        theirs.put_keys("ada", {"secret": "theirs"})
    with space_in(tmp_path / "home") as ours:
        ours.register("bob", "Bob", "openclaw")
    with sqlite3.connect(tmp_path / "home" / "tenant.db") as database:
        database.execute("attach ? as office", (str(tmp_path / "office" / "tenant.db"),))
        database.execute("update agent set (facts, keys) = (select facts, keys from office.agent)")
    with space_in(tmp_path / "home", FixedKeys()) as ours, pytest.raises((errors.RemoteError, errors.KeyRevoked)):
        ours.agent("bob")


class FixedKeys(TestKeys):
    """A tenant with one key of its own."""

    def sealer_of(self, key_id: str, agent_id: str | None = None) -> Any:
        if key_id != f"{self._current:012x}":
            raise errors.KeyRevoked("no such key")
        return super().sealer_of(key_id, agent_id)


def test_tenants_have_folders_of_their_own_that_no_id_leads_out_of(tmp_path: Path) -> None:
    source = f"file:{tmp_path / 'endpoint.key'}"
    with Endpoint.create(tmp_path / "data", key_source=source) as endpoint:
        endpoint.add_tenant("home")
        for text in ("..", "../tenants", "x", "", "home", UNKNOWN + "/..", "\0"):
            with pytest.raises(errors.UnknownTenant):
                endpoint.keys(text)


def test_nothing_of_an_endpoint_is_for_other_users_of_the_machine(served: ServedApp, client: httpx.Client) -> None:
    served.pushed(client, captures=2)
    sealed = {"id": UNKNOWN, "name": "x", "source_runtime": "", "sealed": True}
    assert client.post("/agents", json=sealed).status_code == 201
    assert client.put(f"/agents/{UNKNOWN}/sealed/files/a.age", content=b"x").status_code == 204
    client.get(f"/agents/{UNKNOWN}/sealed/head")
    served.server.transfer_key()
    loose = [
        (str(path.relative_to(served.folder)), oct(path.stat().st_mode & 0o777))
        for path in (served.folder / "data", *(served.folder / "data").rglob("*"))
        if path.stat().st_mode & 0o077
    ]
    assert loose == []
