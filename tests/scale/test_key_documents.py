"""The wrapped data keys of a tenant, as objects that rows name."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from lifeboat_endpoint.engines.shared import SharedEngine
from lifeboat_endpoint.maintenance import data_key_rotation
from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint
from lifeboat_endpoint.server.transfer_key import load_transfer_key
from lifeboat_endpoint.tenancy.control_statements import ADD_NOTE
from lifeboat_vault.at_rest import wrapped_keys
from lifeboat_vault.at_rest.key_sources import key_source_registry
from lifeboat_vault.errors import KeySourceRefused, VaultBusy, VaultDamaged
from lifeboat_vault.store.store_protocols import Parameters
from support.endpoint.endpoint_purges import machine_in, pushed
from support.scale.shared_endpoint import Joined, SharedEndpoint

NAMED = "select object from lifeboat_control.key_document where tenant = $$%s$$"
NAME_AGAIN = "update lifeboat_control.key_document set object = $$%s$$ where tenant = $$%s$$"


def engine_of(shared: SharedEndpoint) -> SharedEngine:
    assert isinstance(shared.endpoint.engine, SharedEngine)
    return shared.endpoint.engine


def named(shared: SharedEndpoint, tenant: Joined) -> str:
    ((key,),) = shared.database.run(NAMED % tenant.tenant.id, name="lifeboat")
    return str(key)


def documents(shared: SharedEndpoint, tenant: Joined) -> list[str]:
    return [each.key for each in engine_of(shared).bucket.list(f"keys/{tenant.tenant.id}")]


def test_a_database_of_yesterday_finds_the_keys_of_today(
    shared: SharedEndpoint, tenant: Joined, tmp_path: Path
) -> None:
    pushed(shared.endpoint.space(tenant.tenant.id), machine_in(tmp_path))
    before = named(shared, tenant)
    made = shared.endpoint.keys(tenant.tenant.id).rotate()
    shared.database.run(NAME_AGAIN % (before, tenant.tenant.id), name="lifeboat")
    engine_of(shared)._documents.clear()
    shared.endpoint.forget(tenant.tenant.id)
    assert shared.endpoint.keys(tenant.tenant.id).current() == made
    assert verify_endpoint(shared.endpoint, [tenant.tenant]).ok and named(shared, tenant) != before


def anew(shared: SharedEndpoint, tenant: Joined) -> None:
    """As a process that has just been started."""
    engine_of(shared)._documents.clear()
    shared.endpoint.forget(tenant.tenant.id)


def test_a_document_that_the_object_store_exchanged_is_not_believed(shared: SharedEndpoint, tenant: Joined) -> None:
    bucket, key = engine_of(shared).bucket, named(shared, tenant)
    found = wrapped_keys.decode_key_document(bucket.get(key), key, tenant.tenant.id)
    forged = found.moved("transit:https://other.example.com/transit/keys/theirs", list(found.keys))
    bucket.put(key, wrapped_keys.encode_key_document(forged))
    anew(shared, tenant)
    with pytest.raises(VaultDamaged, match="was changed"):
        shared.endpoint.keys(tenant.tenant.id)


def test_a_document_of_yesterday_takes_the_place_of_none(
    shared: SharedEndpoint, tenant: Joined, tmp_path: Path
) -> None:
    """The bucket was put back, and the newest document comes only afterwards."""
    bucket, before = engine_of(shared).bucket, named(shared, tenant)
    old = bucket.get(before)
    shared.endpoint.keys(tenant.tenant.id).rotate()
    pushed(shared.endpoint.space(tenant.tenant.id), machine_in(tmp_path))
    now = named(shared, tenant)
    new = bucket.get(now)
    bucket.put(before, old)
    bucket.delete(now)
    anew(shared, tenant)
    with pytest.raises(VaultDamaged, match="which has only an older version"):
        shared.endpoint.keys(tenant.tenant.id)
    assert named(shared, tenant) == now
    bucket.put(now, new)
    assert verify_endpoint(shared.endpoint, [tenant.tenant]).ok


def test_of_a_document_that_no_row_names_no_unknown_key_source_is_asked(shared: SharedEndpoint, tenant: Joined) -> None:
    endpoint, before = shared.endpoint, named(shared, tenant)
    moved = f"file:{shared.folder / 'key' / 'of-the-tenant.key'}"
    key_source_registry.make_key(moved, outside=endpoint.folder)
    endpoint.keys(tenant.tenant.id).move(moved)
    shared.database.run(NAME_AGAIN % (before, tenant.tenant.id), name="lifeboat")
    anew(shared, tenant)
    with pytest.raises(KeySourceRefused, match="another key source than the tenant") as refused:
        endpoint.keys(tenant.tenant.id)
    assert moved not in f"{refused.value.message} {refused.value.fix}" and named(shared, tenant) == before
    assert data_key_rotation.rotate_keys(endpoint, tenant.tenant, moved).source == moved


def test_a_document_that_was_replaced_is_gone_and_one_that_a_crash_left_is_swept(
    shared: SharedEndpoint, tenant: Joined
) -> None:
    keys = shared.endpoint.keys(tenant.tenant.id)
    keys.rotate()
    assert documents(shared, tenant) == [named(shared, tenant)]
    engine = engine_of(shared)
    left = f"keys/{tenant.tenant.id}/aa/{'ab' * 32}"
    engine.bucket.put(left, b"what a crash left")
    engine.sweep(shared.endpoint.clock.now())
    assert left in documents(shared, tenant)
    engine.sweep(shared.endpoint.clock.now() + timedelta(days=3))
    assert documents(shared, tenant) == [named(shared, tenant)]
    assert keys.sealer().open("body", keys.sealer().seal("body", b"still")) == b"still"


def test_another_key_source_is_that_of_all_machines(shared: SharedEndpoint, tmp_path: Path) -> None:
    endpoint = shared.endpoint
    before, public = endpoint.key_source, endpoint.signing_key().public
    made = f"file:{shared.folder / 'key' / 'moved.key'}"
    key_source_registry.make_key(made, outside=endpoint.folder)
    address = load_transfer_key(endpoint)
    try:
        data_key_rotation.move_endpoint_keys(endpoint, made)
        with Endpoint.open(shared.folder / "worker-1") as elsewhere:
            assert elsewhere.settings.key_source == before and elsewhere.key_source == made
            assert elsewhere.signing_key().public == public and load_transfer_key(elsewhere) == address
            tenant = elsewhere.add_tenant("of the new source")
            assert elsewhere.keys(tenant.id).source == made
    finally:
        data_key_rotation.move_endpoint_keys(endpoint, before)
    assert endpoint.signing_key().public == public and load_transfer_key(endpoint) == address


def test_a_move_to_another_key_source_that_breaks_off_leaves_the_former_one(
    shared: SharedEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint, execute = shared.endpoint, PostgresStore.execute
    before, public = endpoint.key_source, endpoint.signing_key().public
    made = f"file:{shared.folder / 'key' / 'never.key'}"
    key_source_registry.make_key(made, outside=endpoint.folder)
    written = list[str]()

    def executed(rows: PostgresStore, statement: str, parameters: Parameters = ()) -> int:
        if statement == ADD_NOTE:
            written.append(str(parameters[0]))
            if len(written) == 2:
                raise VaultBusy("the connection broke")
        return execute(rows, statement, parameters)

    monkeypatch.setattr(PostgresStore, "execute", executed)
    with pytest.raises(VaultBusy):
        data_key_rotation.move_endpoint_keys(endpoint, made)
    with Endpoint.open(shared.folder / "worker-1") as elsewhere:
        assert elsewhere.key_source == before and elsewhere.signing_key().public == public
