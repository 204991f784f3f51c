from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_endpoint.engines.files_engine import FolderPlace
from lifeboat_endpoint.service.endpoint_limits import EndpointLimits
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_vault.at_rest import key_document_store
from lifeboat_vault.at_rest.key_document_store import FILE
from lifeboat_vault.at_rest.key_sources import key_source_registry
from lifeboat_vault.errors import (
    KeyRevoked,
    KeySourceRefused,
    OtherDataKey,
    VaultBusy,
    VaultDamaged,
    VaultError,
    VaultMissing,
)
from support.alf.raising import raises_code
from support.endpoint import sealed
from support.endpoint.sealed import (
    AGENT,
    OTHER_AGENT,
    OTHER_TENANT,
    TENANT,
    MovingClock,
    data_keys,
    key_file,
    opened_keys,
)
from support.endpoint.spaces import PURGING
from support.killing import killed_at
from support.vault.key_places import KINDS, KeyPlace, key_place
from support.vault.vaults import ManualClock


@pytest.fixture(autouse=True, params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KeyPlace]:
    """Yield a key place of each kind of source."""
    with key_place(request.param, tmp_path, monkeypatch) as found:
        monkeypatch.setattr(sealed, "make_source", lambda folder: found.spec)
        yield found


def document(folder: Path, tenant: str = TENANT) -> Path:
    return folder / "data" / "tenants" / tenant / FILE


def test_what_was_sealed_opens_in_another_process(tmp_path: Path) -> None:
    sealed = data_keys(tmp_path).sealer(AGENT).seal("body", b"secret")
    assert opened_keys(tmp_path).sealer(AGENT).open("body", sealed) == b"secret"


def test_keys_stand_wrapped_in_a_file_of_their_owner(tmp_path: Path) -> None:
    keys = data_keys(tmp_path)
    found = json.loads(document(tmp_path).read_bytes())
    assert [each["id"] for each in found["keys"]] == keys.ids() and found["scope"] == "tenant"
    assert document(tmp_path).stat().st_mode & 0o777 == 0o600


def test_there_is_one_set_of_keys(tmp_path: Path) -> None:
    data_keys(tmp_path)
    with raises_code(VaultError.EXISTS):
        data_keys(tmp_path)


def test_keys_that_are_not_there_are_missing(tmp_path: Path) -> None:
    with pytest.raises(VaultMissing):
        opened_keys(tmp_path)


def test_agents_of_a_tenant_have_keys_of_one_data_key(tmp_path: Path) -> None:
    keys = data_keys(tmp_path)
    one, two = keys.sealer(AGENT), keys.sealer(OTHER_AGENT)
    assert one.key_id == two.key_id == keys.current()
    with pytest.raises(VaultDamaged):
        two.open("body", one.seal("body", b"secret"))


def test_agents_have_data_keys_of_their_own_where_it_is_so_configured(tmp_path: Path) -> None:
    keys = data_keys(tmp_path, scope="agent")
    ids = [keys.sealer(agent).key_id for agent in (None, AGENT, OTHER_AGENT)]
    assert len(set(ids)) == 3 and keys.ids() == ids
    assert keys.sealer(AGENT).key_id == ids[1] == opened_keys(tmp_path).sealer(AGENT).key_id


def test_a_rotated_key_opens_what_it_sealed_until_it_is_destroyed(tmp_path: Path) -> None:
    keys = data_keys(tmp_path)
    first = keys.sealer(AGENT)
    sealed = first.seal("body", b"secret")
    second = keys.rotate()
    assert keys.sealer(AGENT).key_id == second and keys.ids() == [first.key_id, second]
    with pytest.raises(OtherDataKey):
        keys.sealer(AGENT).open("body", sealed)
    assert keys.sealer_of(first.key_id, AGENT).open("body", sealed) == b"secret"
    assert keys.destroy([]) == [first.key_id] and keys.ids() == [second]
    with pytest.raises(KeyRevoked, match="destroyed"):
        keys.sealer_of(first.key_id, AGENT)
    with pytest.raises(KeyRevoked):
        first.open("body", sealed)


def test_destroying_keeps_what_is_asked_for_and_what_is_current(tmp_path: Path) -> None:
    keys = data_keys(tmp_path, scope="agent")
    first = keys.sealer(AGENT).key_id
    keys.rotate()
    assert len(keys.ids()) == 4
    gone = keys.destroy([first])
    assert len(gone) == 1 and first in keys.ids() and keys.current(AGENT) in keys.ids() and keys.destroy([first]) == []


def test_the_keys_of_one_agent_can_be_destroyed(tmp_path: Path) -> None:
    keys = data_keys(tmp_path, scope="agent")
    one, other = keys.sealer(AGENT).key_id, keys.sealer(OTHER_AGENT).key_id
    assert keys.destroy_agent(AGENT) == [one] and other in keys.ids() and keys.destroy_agent(AGENT) == []


def test_an_agent_that_is_removed_takes_its_keys_along(tmp_path: Path) -> None:
    keys = data_keys(tmp_path, scope="agent")
    folder = document(tmp_path).parent
    with contextlib.closing(
        TenantSpace(
            FolderPlace(folder, TENANT, files=SystemFiles(), clock=ManualClock()),
            TENANT,
            keys,
            limits=EndpointLimits(),
            purging=PURGING,
            clock=ManualClock(),
        )
    ) as space:
        for agent in (AGENT, OTHER_AGENT):
            space.register(agent, "Ada", "openclaw")
        gone = keys.current(AGENT)
        space.remove_agent(AGENT)
    assert gone not in opened_keys(tmp_path).ids() and len(keys.ids()) == 2


def test_a_key_that_all_agents_have_is_not_destroyed_with_one(tmp_path: Path) -> None:
    keys = data_keys(tmp_path)
    keys.sealer(AGENT)
    assert keys.destroy_agent(AGENT) == [] and len(keys.ids()) == 1


def test_another_process_sees_a_rotation_at_once(tmp_path: Path) -> None:
    keys = data_keys(tmp_path)
    other = opened_keys(tmp_path)
    assert other.sealer(AGENT).key_id == keys.current()
    assert keys.rotate() == other.sealer(AGENT).key_id


def test_a_key_is_asked_for_again_after_a_while(tmp_path: Path, place: KeyPlace) -> None:
    clock = MovingClock()
    sealer = data_keys(tmp_path, clock=clock).sealer(AGENT)
    sealed = sealer.seal("body", b"secret")
    place.take_away()
    held = key_source_registry.open_key_source(place.spec, outside=tmp_path / "data").cache_seconds
    clock.advance(seconds=int(held) - 1)
    assert sealer.open("body", sealed) == b"secret"
    clock.advance(seconds=2)
    with pytest.raises(KeyRevoked, match=place.told):
        sealer.open("body", sealed)
    place.give_back()
    assert sealer.open("body", sealed) == b"secret"


def test_a_tenant_is_created_only_where_its_source_gives_a_key(tmp_path: Path) -> None:
    with pytest.raises(KeyRevoked):
        data_keys(tmp_path, source=f"file:{tmp_path}/nothing.key")
    assert not document(tmp_path).exists() and not (tmp_path / "nothing.key").exists()


def test_keys_move_to_another_source(tmp_path: Path, place: KeyPlace) -> None:
    keys = data_keys(tmp_path)
    sealed = keys.sealer(AGENT).seal("body", b"secret")
    keys.rotate()
    second = key_file(tmp_path, "customer.key")
    keys.move(second)
    place.take_away()
    assert keys.source == second
    fresh = opened_keys(tmp_path)
    assert fresh.sealer_of(fresh.ids()[0], AGENT).open("body", sealed) == b"secret"


def test_keys_stay_where_they_are_when_the_new_source_gives_no_key(tmp_path: Path) -> None:
    keys = data_keys(tmp_path)
    before = document(tmp_path).read_bytes()
    with pytest.raises(KeyRevoked):
        keys.move(f"file:{tmp_path}/nothing.key")
    assert document(tmp_path).read_bytes() == before


def test_a_source_among_the_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeySourceRefused):
        data_keys(tmp_path, source=f"file:{tmp_path}/data/tenants/endpoint.key")


def test_keys_of_another_tenant_are_not_taken(tmp_path: Path) -> None:
    data_keys(tmp_path)
    data_keys(tmp_path, OTHER_TENANT)
    document(tmp_path).write_bytes(document(tmp_path, OTHER_TENANT).read_bytes())
    with pytest.raises(VaultDamaged, match="of the tenant"):
        opened_keys(tmp_path)


PLACES = {
    "tenant": (OTHER_TENANT, {}),
    "scope": (TENANT, {"scope": AGENT}),
    "id": (TENANT, {"id": "000000000000"}),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_wrapped_key_does_not_open_in_another_place(tmp_path: Path, place: str) -> None:
    data_keys(tmp_path, scope="agent")
    tenant, changed = PLACES[place]
    found = json.loads(document(tmp_path).read_bytes())
    found["keys"][0] |= changed
    path = document(tmp_path, tenant)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**found, "tenant": tenant}))
    with pytest.raises(VaultDamaged, match="contains another data key"):
        opened_keys(tmp_path, tenant).sealer(AGENT if place == "scope" else None)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": "lifeboat data keys", "version": 9}'])
def test_a_document_that_is_none_is_damage(tmp_path: Path, text: str) -> None:
    data_keys(tmp_path)
    document(tmp_path).write_text(text)
    with pytest.raises(VaultDamaged):
        opened_keys(tmp_path)


def test_a_kill_while_a_key_is_made_leaves_the_ones_there_were(tmp_path: Path) -> None:
    keys = data_keys(tmp_path)
    before = keys.ids()
    assert killed_at(keys.rotate, CrashPoint.REENCRYPT_KEY_MADE)
    assert opened_keys(tmp_path).ids() == before
    keys.rotate()
    assert len(opened_keys(tmp_path).ids()) == 2


def test_a_kill_while_a_key_is_destroyed_leaves_it(tmp_path: Path) -> None:
    keys = data_keys(tmp_path)
    keys.rotate()
    assert killed_at(lambda: keys.destroy([]), CrashPoint.REENCRYPT_KEY_DESTROYED)
    assert len(opened_keys(tmp_path).ids()) == 2 and len(keys.destroy([])) == 1


def test_an_agent_that_many_begin_with_at_once_has_one_key(tmp_path: Path) -> None:
    data_keys(tmp_path, scope="agent")
    shared = opened_keys(tmp_path)
    asked = [shared, shared, opened_keys(tmp_path), opened_keys(tmp_path)]
    with ThreadPoolExecutor(len(asked)) as pool:
        ids = {sealer.key_id for sealer in pool.map(lambda keys: keys.sealer(AGENT), asked)}
    assert len(ids) == 1 and len(opened_keys(tmp_path).ids()) == 2


def test_who_changes_keys_waits_for_who_does_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = data_keys(tmp_path)
    monkeypatch.setattr(key_document_store, "_LOCK_SECONDS", 0.1)
    with keys._changing(), pytest.raises(VaultBusy):
        opened_keys(tmp_path).rotate()


def test_nothing_is_asked_of_the_source_to_look_at_the_keys(tmp_path: Path, place: KeyPlace) -> None:
    ids = data_keys(tmp_path).ids()
    place.take_away()
    keys = opened_keys(tmp_path)
    assert keys.ids() == ids and keys.current() == ids[0]
