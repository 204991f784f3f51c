"""An agent goes and comes again at once, by way of two processes; a database is lost; a lock ends with its
connection. Nothing that was acknowledged goes with what went."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from lifeboat_endpoint.engines.shared import SharedEngine
from lifeboat_endpoint.engines.shared_statements import REPLACE_DOCUMENT
from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint
from lifeboat_endpoint.service.agent_vaults import AgentVaults
from lifeboat_vault.errors import VaultBusy
from lifeboat_vault.store.store_protocols import Parameters
from support.endpoint.endpoint_purges import machine_in, pushed
from support.patience import patience
from support.scale.shared_endpoint import Joined, SharedEndpoint

ROW = "select object, written_at from lifeboat_control.key_document where tenant = $$%s$$"
FORGET = "delete from lifeboat_control.key_document where tenant = $$%s$$"
NAME = "insert into lifeboat_control.key_document(tenant, object, written_at) values ($$%s$$, $$%s$$, $$%s$$)"


@pytest.fixture(params=["tenant", "agent"])
def scoped(request: pytest.FixtureRequest, shared: SharedEndpoint, monkeypatch: pytest.MonkeyPatch) -> Joined:
    found = msgspec.structs.replace(shared.endpoint.settings, key_scope=request.param)
    monkeypatch.setattr(shared.endpoint, "settings", found)
    return shared.new_tenant()


def test_an_agent_that_is_made_anew_while_it_is_removed_stays(
    shared: SharedEndpoint, scoped: Joined, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, elsewhere = shared.endpoint, Endpoint.open(shared.endpoint.folder, clock=shared.endpoint.clock)
    machine = pushed(here.space(scoped.tenant.id), machine_in(tmp_path), captures=2)
    remove = AgentVaults.remove

    def removed(vaults: AgentVaults, agent_id: str, vault_id: str | None = None) -> None:
        monkeypatch.setattr(AgentVaults, "remove", remove)
        pushed(elsewhere.space(scoped.tenant.id), machine, captures=1)
        remove(vaults, agent_id, vault_id)

    monkeypatch.setattr(AgentVaults, "remove", removed)
    with elsewhere:
        here.space(scoped.tenant.id).remove_agent(machine.agent_id)
        here.forget(scoped.tenant.id)
        assert here.space(scoped.tenant.id).head(machine.agent_id) is not None
        assert verify_endpoint(here, [scoped.tenant]).findings == []


def engine_of(shared: SharedEndpoint) -> SharedEngine:
    assert isinstance(shared.endpoint.engine, SharedEngine)
    return shared.endpoint.engine


def test_while_a_database_is_put_back_the_keys_of_its_tenants_are_not_swept(
    shared: SharedEndpoint, tenant: Joined, tmp_path: Path
) -> None:
    engine = engine_of(shared)
    pushed(shared.endpoint.space(tenant.tenant.id), machine_in(tmp_path))
    ((key, written),) = shared.database.run(ROW % tenant.tenant.id, name="lifeboat")
    shared.endpoint.keys(tenant.tenant.id).rotate()
    shared.database.run(FORGET % tenant.tenant.id, name="lifeboat")
    later = shared.endpoint.clock.now() + timedelta(days=400)
    engine.sweep(later)
    shared.database.run(NAME % (tenant.tenant.id, key, written), name="lifeboat")
    engine.sweep(later)
    engine._documents.clear()
    shared.endpoint.forget(tenant.tenant.id)
    assert verify_endpoint(shared.endpoint, [tenant.tenant]).findings == []


def test_who_lost_the_lock_of_the_keys_replaces_nothing(shared: SharedEndpoint, tenant: Joined) -> None:
    engine = engine_of(shared)
    late = engine.key_documents(tenant.tenant.id)
    with late.changing():
        data = late.read()
        before = late._before
    made = shared.endpoint.keys(tenant.tenant.id).rotate()
    late._before = before
    with pytest.raises(VaultBusy):
        late.replace(data)
    shared.endpoint.forget(tenant.tenant.id)
    assert shared.endpoint.keys(tenant.tenant.id).current() == made
    assert len(list(engine.bucket.list(f"keys/{tenant.tenant.id}"))) == 1


def test_a_thread_that_reads_the_keys_neither_waits_for_nor_disturbs_the_one_that_changes_them(
    shared: SharedEndpoint, tenant: Joined, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, execute, seen = shared.endpoint.keys(tenant.tenant.id), PostgresStore.execute, list[list[str]]()

    def executed(rows: PostgresStore, statement: str, parameters: Parameters = ()) -> int:
        changed = execute(rows, statement, parameters)
        if statement == REPLACE_DOCUMENT:
            with ThreadPoolExecutor(1) as threads:
                seen.append(threads.submit(keys.ids).result(patience()))
        return changed

    monkeypatch.setattr(PostgresStore, "execute", executed)
    keys.rotate()
    assert seen == [keys.ids()] and len(keys.ids()) == 2
