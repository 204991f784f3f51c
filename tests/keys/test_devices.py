"""The machines that a home has met: identified by their signatures, found by name, refused once lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lifeboat_keys.errors import KeyDamaged, KeysError
from lifeboat_keys.home import device_registry
from lifeboat_keys.home.device_registry import DEVICES, KnownDevice, host_name
from lifeboat_keys.home.home_keys import HomeKeys
from lifeboat_keys.pairs.user_key import UserKey
from support.alf.raising import raises_code

AGENT = "01900000-0000-7000-8000-00000000000a"
MONDAY, FRIDAY = "2026-11-16T08:00:00.000Z", "2026-11-20T08:00:00.000Z"
KEY = UserKey(b"k" * 32)


@pytest.fixture
def keys(tmp_path: Path) -> HomeKeys:
    made = HomeKeys(tmp_path / "keys")
    made.install(KEY)
    made.agent_public(AGENT)
    return made


@pytest.fixture
def laptop(tmp_path: Path) -> HomeKeys:
    """Return the keys of another machine of the same user, with a name given by the user."""
    made = HomeKeys(tmp_path / "laptop")
    made.install(KEY)
    made.agent_public(AGENT)
    made.machines.rename(made.machines.all()[0], "laptop")
    return made


def _names(keys: HomeKeys) -> list[str]:
    return [one.name for one in keys.machines.all()]


def test_a_home_knows_its_own_machine_by_the_name_of_the_host(keys: HomeKeys) -> None:
    (own,) = keys.machines.all()
    assert (own.public, own.name, own.revoked_at) == (keys.device.public, host_name(), None)


def test_a_home_from_before_there_were_machines_learns_its_own(tmp_path: Path, keys: HomeKeys) -> None:
    (tmp_path / "keys" / DEVICES).unlink()
    assert keys.machines.all() == []
    keys.ensure()
    assert _names(keys) == [host_name()]


def test_an_archive_introduces_the_machine_that_made_it(keys: HomeKeys, laptop: HomeKeys) -> None:
    keys.import_agent(laptop.export_agent(AGENT))
    own, met = keys.machines.all()
    assert (met.public, met.name) == (laptop.device.public, "laptop") and own.name == host_name()


def test_a_machine_that_only_made_a_pair_is_called_by_its_id(tmp_path: Path, keys: HomeKeys, laptop: HomeKeys) -> None:
    keys.import_agent(laptop.export_agent(AGENT))
    third = HomeKeys(tmp_path / "third")
    third.install(KEY)
    third.import_agent(keys.export_agent(AGENT))
    assert _names(third) == [host_name(), host_name(), laptop.device.public.hex()[:16]]


@pytest.mark.parametrize("change", [{"name": "server"}, {"testimony": {}}, {"name": 5}])
def test_an_introduction_that_was_changed_is_not_believed(
    keys: HomeKeys, laptop: HomeKeys, change: dict[str, Any]
) -> None:
    document = laptop.export_agent(AGENT)
    keys.import_agent({**document, "device": {**document["device"], **change}})
    assert _names(keys) == [host_name()]
    assert keys.export_agent(AGENT)["pairs"][0] == document["pairs"][0], "the pairs are signed for themselves"


def test_a_name_that_was_given_here_stands_and_times_only_widen(keys: HomeKeys) -> None:
    machines = keys.machines
    machines.meet(b"m" * 32, None, FRIDAY)
    machines.meet(b"m" * 32, "desk", MONDAY)
    assert machines.all()[1] == KnownDevice(b"m" * 32, "desk", MONDAY, FRIDAY)
    machines.rename(machines.all()[1], "workbench")
    machines.meet(b"m" * 32, "desk", FRIDAY)
    assert machines.all()[1].name == "workbench"


def test_a_machine_is_found_by_its_name_or_the_beginning_of_its_id() -> None:
    known = [KnownDevice(b"\xab" * 32, "Laptop", MONDAY, MONDAY), KnownDevice(b"\xcd" * 32, "desk", MONDAY, MONDAY)]
    assert device_registry.find_machine(known, "laptop") == device_registry.find_machine(known, "abab") == known[0]
    with raises_code(KeysError.UNKNOWN_MACHINE, match=r"Laptop \(abababababababab\), desk"):
        device_registry.find_machine(known, "phone")
    with raises_code(KeysError.UNKNOWN_MACHINE, match="give the id of one of them"):
        device_registry.find_machine([known[0], KnownDevice(b"\xcd" * 32, "laptop", MONDAY, MONDAY)], "laptop")
    with raises_code(KeysError.UNKNOWN_MACHINE, match="none"):
        device_registry.find_machine([], "laptop")


def test_a_revoked_machine_counts_no_more(keys: HomeKeys, laptop: HomeKeys) -> None:
    keys.import_agent(laptop.export_agent(AGENT))
    keys.machines.revoke(laptop.device.public, FRIDAY)
    assert keys.trusted.revoked == {laptop.device.public}
    assert [one.revoked_at for one in keys.machines.all()] == [None, FRIDAY]


def test_where_a_key_was_last_seen_is_told_in_words(keys: HomeKeys) -> None:
    assert keys.last_seen("0" * 32) == ""
    keys.machines.key_met("0" * 32, "in an archive of Ada, sequence 12", MONDAY)
    assert keys.last_seen("0" * 32) == "in an archive of Ada, sequence 12, 2026-11-16"
    assert host_name() in keys.last_seen(KEY.key_id)


@pytest.mark.parametrize(
    "content", [b'{"devices": 5}', b'{"devices": [{}]}', b'{"keys": []}', b'{"devices": [{"public": "AAAA"}]}', b"[]"]
)
def test_a_damaged_registry_is_named(tmp_path: Path, keys: HomeKeys, content: bytes) -> None:
    (tmp_path / "keys" / DEVICES).write_bytes(content)
    with pytest.raises(KeyDamaged, match="devices"):
        keys.machines.all()


def test_nothing_secret_stands_in_the_registry(tmp_path: Path, keys: HomeKeys) -> None:
    document = json.loads((tmp_path / "keys" / DEVICES).read_bytes())
    assert set(document["devices"][0]) == {"public", "name", "first_seen", "last_seen", "revoked_at"}
