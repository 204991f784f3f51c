"""Whoever runs two servers on one database has one set of limits, quotas, figures and one audit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from lifeboat_alf.common import ids
from lifeboat_endpoint.tenancy import audit_file
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from support.cli.cli_client import run
from support.endpoint.endpoint_purges import machine_in
from support.patience import patience
from support.scale.shared_endpoint import Joined, SharedEndpoint
from support.waiting import until

_ADDED = '"kind":"agent.add"'


def from_address(address: str, url: str) -> httpx.Client:
    """Comes from an address of its own of this machine, so that no other test has used up its limit."""
    transport = httpx.HTTPTransport(local_address=address)
    return httpx.Client(base_url=url, transport=transport, timeout=patience())


def test_two_servers_have_one_limit(shared: SharedEndpoint) -> None:
    wrong = {"Authorization": "Bearer lb_aaaaaaaa_" + "x" * 43}
    clients = [from_address("127.0.0.42", server.url) for server in shared.servers]
    begun = time.monotonic()
    found = [clients[number % 2].get("/token", headers=wrong).status_code for number in range(40)]
    filled = 0.2 * (time.monotonic() - begun)
    assert found[:20] == [401] * 20 and set(found) == {401, 429}
    assert found.count(401) <= 21 + filled
    assert b"127.0.0.42" not in b"".join(
        bytes(key) for (key,) in shared.database.run("select key from lifeboat_work.rate", name="lifeboat")
    )


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[list[TrialMachine]]:
    """Twelve that have something to send."""
    user = UserKey.generate()
    made = [machine_in(tmp_path, user) for _ in range(12)]
    for machine in made:
        machine.capture()
    yield made
    for machine in made:
        machine.vault.close()


def register(tenant: Joined, machines: list[TrialMachine]) -> None:
    with tenant.client() as client:
        for machine in machines:
            document = {"id": machine.agent_id, "name": "ada", "source_runtime": "openclaw"}
            assert client.post("/agents", json=document).status_code == 201


def kept(shared: SharedEndpoint, tenant: Joined) -> int:
    return shared.endpoint.space(tenant.tenant.id).roster.bytes_of_all()


def test_a_quota_is_overrun_by_a_bundle_of_each_server_at_most(
    shared: SharedEndpoint, machines: list[TrialMachine]
) -> None:
    bundles = [machine.snapshot().file.read() for machine in machines]
    other = shared.new_tenant(quota=100_000)  # so small that every push is counted
    register(other, machines)
    empty = kept(shared, other)
    with other.client() as client:
        assert client.put(f"/agents/{machines[0].agent_id}/snapshot", content=bundles[0]).status_code == 201
    as_kept = kept(shared, other) - empty
    quota = empty + 4 * as_kept
    tenant = shared.new_tenant(quota=quota)
    register(tenant, machines)
    clients = [tenant.client(url=server.url) for server in shared.servers]

    def push(number: int) -> int:
        path = f"/agents/{machines[number].agent_id}/snapshot"
        return clients[number % 2].put(path, content=bundles[number]).status_code

    with ThreadPoolExecutor(12) as threads:
        found = list(threads.map(push, range(12)))
    assert set(found) == {201, 507}
    assert kept(shared, tenant) <= quota * (1 + 2 / 64) + 2 * 1.1 * as_kept


def test_a_probe_is_told_that_the_database_is_gone_and_that_it_is_back(shared: SharedEndpoint) -> None:
    with httpx.Client(base_url=shared.servers[0].url, timeout=patience()) as client:
        assert client.get("/readyz").status_code == 200
        shared.database.stop()
        try:
            until(lambda: client.get("/readyz").status_code == 503, "not ready")
            detail = client.get("/readyz").json()["detail"]
            assert detail.startswith("not ready: database") and "objects" not in detail
            assert client.get("/livez").status_code == 200
        finally:
            shared.database.start()
        until(lambda: client.get("/readyz").status_code == 200, "ready")
    shared.balancer.look()


def test_figures_tell_of_the_database_the_objects_and_the_key_and_of_nobody(
    shared: SharedEndpoint, tenant: Joined, machines: list[TrialMachine]
) -> None:
    machine, url = machines[0], shared.servers[0].url
    with tenant.client(url=url) as client:
        register(tenant, [machine])
        path = f"/agents/{machine.agent_id}/snapshot"
        assert client.put(path, content=machine.snapshot().file.read()).status_code == 201
        text = client.get("/metrics", headers={"Authorization": ""}).text
    for said in (
        'lifeboat_operation_seconds_count{operation="statement",system="database"}',
        'lifeboat_operation_seconds_count{operation="reading",system="objects"}',
        'lifeboat_operation_seconds_count{operation="unwrap",system="key"}',
        'lifeboat_database_connections{kind="vault",state="idle"}',
        'lifeboat_pushes_total{result="taken"}',
    ):
        assert f"\n{said} " in text
    assert not any(word in text for word in (tenant.tenant.id, tenant.tenant.name, machine.agent_id, "127.0.0"))


def test_the_audit_of_two_servers_is_one_export(shared: SharedEndpoint, tenant: Joined, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    data = shared.folder / "here"
    run("endpoint", "audit", "--export", file, "--data", data)
    before = file.read_text().count(_ADDED)
    for server in shared.servers:
        with tenant.client(url=server.url) as client:
            assert client.post(
                "/agents", json={"id": ids.make_id("2026-11-20T12:00:00.000Z"), "name": "ada"}
            ).is_success

    def both_are_there() -> bool:
        run("endpoint", "audit", "--export", file, "--data", data)
        return file.read_text().count(_ADDED) >= before + 2

    until(both_are_there, "what both servers gathered is written")
    found = audit_file.check_audit_file(file)
    assert found.problems == []
    only = run("endpoint", "audit", "--export", tmp_path / "one.jsonl", "--tenant", tenant.tenant.name, "--data", data)
    assert 0 < only["rows"] < found.rows and audit_file.check_audit_file(tmp_path / "one.jsonl").is_whole
