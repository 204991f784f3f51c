"""ALF §10.13: data privacy and encryption, by two servers on PostgreSQL and an object store."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import msgspec
import pytest

from lifeboat_endpoint.maintenance import data_key_rotation
from lifeboat_vault.at_rest.sealer import key_id_of
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from spec.test_section_10_13 import opens_nothing
from support.endpoint.endpoint_purges import machine_in, record_of, redaction_of
from support.patience import patience
from support.scale.shared_endpoint import Joined, Server, SharedEndpoint, new_folder
from support.scale.shared_lives import a_tenant_is_whole, everything_kept
from support.waiting import until

CANARY = b"the canary of the harbour sings at noon"
NOISE = os.urandom(300_000)
NAME = "Ada of the lighthouse"
TOLD = (CANARY, NOISE[:64], NAME.encode(), b"the lamp was lit", b"was fine", b"raw/openclaw/NOTE.md")


def pushed(tenant: Joined, folder: Path) -> TrialMachine:
    """Three states, through both servers: small bodies, large ones, records."""
    folder.mkdir(exist_ok=True)
    machine = machine_in(folder)
    path = f"/agents/{machine.agent_id}"
    with tenant.client() as client:
        document = {"id": machine.agent_id, "name": NAME, "source_runtime": "openclaw"}
        assert client.post("/agents", json=document).status_code == 201
        machine.capture(raw__openclaw__small=CANARY, raw__openclaw__large=NOISE)
        sent = client.put(f"{path}/snapshot", content=machine.snapshot().file.read())
        assert sent.status_code == 201
        for base in range(2):
            machine.capture(raw__openclaw__large=NOISE + os.urandom(100_000))
            sent = client.post(f"{path}/deltas?base_sequence={base}", content=machine.delta(base).file.read())
            assert sent.status_code == 201
        assert client.put(f"{path}/keys", json={"secret": CANARY.decode()}).status_code == 204
    return machine


def kept(shared: SharedEndpoint, tenant: Joined, agent_id: str) -> list[tuple[str, bytes]]:
    """(kind, sealed) of all bodies and salts of an agent, in rows and in objects: the storage without the service."""
    where = f"tenant = '{tenant.tenant.id}'"
    rows = shared.database.run(
        "select body, salt from lifeboat_vault.object o join lifeboat_vault.place p on p.number = o.place "
        f"where {where} and agent = '{agent_id}'",
        name="lifeboat",
    )
    found = [(kind, bytes(data)) for row in rows for kind, data in zip(("body", "salt"), row, strict=True) if data]
    named = f"select key from lifeboat_tenant.blob where {where} and scope = '{agent_id}'"
    bucket = shared.endpoint.engine.bucket  # type: ignore[attr-defined]
    objects = [("body", bucket.get(key)) for (key,) in shared.database.run(named, name="lifeboat")]
    assert objects
    return [*found, *objects]


def reads(shared: SharedEndpoint, tenant: Joined, machine: TrialMachine) -> list[httpx.Response]:
    """The same state, from each server."""
    found = []
    for server in shared.servers:
        with tenant.client(url=server.url) as client:
            found.append(client.get(f"/agents/{machine.agent_id}/snapshot", headers={"Accept": "application/zip"}))
    return found


def test_the_key_of_one_tenant_opens_nothing_of_another(shared: SharedEndpoint, tenant: Joined, tmp_path: Path) -> None:
    other = shared.new_tenant()
    mine, theirs = (pushed(each, tmp_path / each.tenant.id) for each in (tenant, other))
    found = kept(shared, other, theirs.agent_id)
    keys = shared.endpoint.keys(tenant.tenant.id)
    for agent in (mine.agent_id, theirs.agent_id, None):
        assert opens_nothing(keys.sealer(agent), found)


def test_nothing_of_the_content_is_in_rows_objects_logs_or_files(
    shared: SharedEndpoint, tenant: Joined, tmp_path: Path
) -> None:
    """The database even logs every statement with its parameters; its files and its write-ahead log are read raw."""
    shared.database.run("alter system set log_statement = 'all'", "select pg_reload_conf()")
    try:
        machine = pushed(tenant, tmp_path)
        redaction = redaction_of(machine, record_of(machine, 1))
        with tenant.client(tenant.owner) as client:
            answer = client.post(f"/agents/{machine.agent_id}/redactions", json=redaction.to_json())
            assert answer.json()["receipt"]["remaining"] == 0
        assert {each.status_code for each in reads(shared, tenant, machine)} == {200}
        shared.database.run("checkpoint")
    finally:
        shared.database.run("alter system reset log_statement", "select pg_reload_conf()")
    assert "lifeboat_api" in shared.database.log or "execute" in shared.database.log
    words = [*TOLD, tenant.token.encode(), tenant.token[12:].encode(), tenant.owner[12:].encode()]
    words += [word.hex().encode() for word in words]
    found = [(where, word) for where, data in _everything(shared) for word in words if word in data]
    assert found == []


def _everything(shared: SharedEndpoint) -> Iterator[tuple[str, bytes]]:
    yield from everything_kept(shared)
    for path in (shared.database.server.folder / "data").rglob("*"):
        if path.is_file():
            yield path.name, path.read_bytes()


def test_after_a_rotation_everything_is_under_the_new_key_and_the_old_one_opens_nothing(
    shared: SharedEndpoint, tenant: Joined, tmp_path: Path
) -> None:
    """A worker encrypts anew while the servers serve."""
    machine = pushed(tenant, tmp_path)
    before = [each.content for each in reads(shared, tenant, machine)]
    keys = shared.endpoint.keys(tenant.tenant.id)
    old = keys.sealer(machine.agent_id)
    data_key_rotation.rotate_keys(shared.endpoint, tenant.tenant)
    until(lambda: old.key_id not in keys.ids(), "the older key is destroyed")
    found = kept(shared, tenant, machine.agent_id)
    ids = {key_id_of(sealed) for _, sealed in found}
    assert len(ids) == 1 and old.key_id not in ids and opens_nothing(old, found)
    assert [each.content for each in reads(shared, tenant, machine)] == before
    a_tenant_is_whole(shared, tenant.tenant)


def test_each_agent_is_under_a_key_of_its_own_where_it_is_so_configured(
    shared: SharedEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scoped = msgspec.structs.replace(shared.endpoint.settings, key_scope="agent")
    monkeypatch.setattr(shared.endpoint, "settings", scoped)
    tenant = shared.new_tenant()
    one, two = (pushed(tenant, tmp_path / name) for name in ("one", "two"))
    found = [kept(shared, tenant, each.agent_id) for each in (one, two)]
    ids = [{key_id_of(sealed) for _, sealed in each} for each in found]
    assert [len(each) for each in ids] == [1, 1] and ids[0] != ids[1]
    keys = shared.endpoint.keys(tenant.tenant.id)
    assert opens_nothing(keys.sealer(two.agent_id), found[0]) and opens_nothing(keys.sealer(one.agent_id), found[1])


def test_a_customer_who_takes_the_key_away_makes_all_reads_of_the_tenant_fail(
    shared: SharedEndpoint, tenant: Joined, tmp_path: Path
) -> None:
    """At both servers, within the time for which a key is believed; nobody else notices."""
    mine = shared.new_tenant(key_source=f"file:{shared.folder}/key/{os.urandom(4).hex()}.key")
    source = Path((mine.tenant.key_source or "").removeprefix("file:"))
    machine, theirs = pushed(mine, tmp_path / "mine"), pushed(tenant, tmp_path / "theirs")
    before = [each.content for each in reads(shared, mine, machine)]
    source.rename(source.with_suffix(".away"))
    until(lambda: {each.status_code for each in reads(shared, mine, machine)} == {403}, "reads fail")
    assert {each.json()["code"] for each in reads(shared, mine, machine)} == {"key_revoked"}
    with mine.client() as client:
        machine.capture()
        late = client.post(f"/agents/{machine.agent_id}/deltas?base_sequence=2", content=machine.delta(2).file.read())
        assert (late.status_code, late.json()["code"]) == (403, "key_revoked")
    assert {each.status_code for each in reads(shared, tenant, theirs)} == {200}
    source.with_suffix(".away").rename(source)
    until(lambda: {each.status_code for each in reads(shared, mine, machine)} == {200}, "reads work again")
    assert [each.content for each in reads(shared, mine, machine)] == before


class TlsServer(Server):
    """With the endpoint's own authority."""

    def __init__(self, data: Path) -> None:
        super().__init__(data, "https://localhost:1")
        self._command = [each for each in self._command if each != "--plain-http"]


def test_nobody_connects_below_tls_1_3(shared: SharedEndpoint) -> None:
    server = TlsServer(new_folder(shared.folder, "tls", shared.store))
    try:
        server.start()
        assert _spoken(server, ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
        with pytest.raises((ssl.SSLError, ConnectionError)):
            _spoken(server, ssl.TLSVersion.TLSv1_2)
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"{server.url}/version")
    finally:
        server.kill()


def _spoken(server: Server, most: ssl.TLSVersion) -> str | None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = most
    where = urlsplit(server.url)
    with (
        socket.create_connection((where.hostname or "", where.port or 0), timeout=patience()) as plain,
        context.wrap_socket(plain) as speaking,
    ):
        return speaking.version()


def test_what_is_another_tenants_is_not_there(shared: SharedEndpoint, tenant: Joined, tmp_path: Path) -> None:
    """Over HTTP, by both servers, whatever is asked; and the role of the servers sees no row of it."""
    machine = pushed(tenant, tmp_path)
    other = shared.new_tenant()
    paths = ("", "/head", "/snapshot", "/keys", "/sequences", "/deltas/1?base=0", "/restore", "/redactions")
    for server in shared.servers:
        with other.client(url=server.url) as client:
            answers = [client.get(f"/agents/{machine.agent_id}{path}") for path in paths]
            answers.append(client.put(f"/agents/{machine.agent_id}/snapshot", content=b"x"))
            answers.append(client.post(f"/agents/{machine.agent_id}/epoch", json={"expected": 1}))
            assert [each.status_code for each in answers] == [404] * len(answers)
            assert client.get("/agents").json()["agents"] == []
    tables = ("lifeboat_tenant.agent", "lifeboat_tenant.blob", "lifeboat_vault.place", "lifeboat_vault.object")
    for table in tables:
        seen = f"select set_config('lifeboat.tenant', '{other.tenant.id}', false)", f"select 1 from {table}"
        assert shared.database.run(*seen, name="lifeboat", user="lifeboat_api") == []
        mine = f"select set_config('lifeboat.tenant', '{tenant.tenant.id}', false)", f"select 1 from {table}"
        if not table.endswith("object"):
            assert shared.database.run(*mine, name="lifeboat", user="lifeboat_api")
