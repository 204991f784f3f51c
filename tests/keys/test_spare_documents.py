"""Lost or damaged key documents are restored from their spares; destroyed ones are not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_keys.errors import KeysError, NoKey
from lifeboat_keys.home.home_keys import HomeKeys, KeyState
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores.store_kinds import StoreKind
from support.alf.raising import raises_code

AGENT = "01900000-0000-7000-8000-00000000000a"
SPARED = ("user.json", "devices.json", f"agents/{AGENT}.json", "store.json")


@pytest.fixture
def keys(tmp_path: Path) -> HomeKeys:
    made = HomeKeys(tmp_path / "keys", spares=tmp_path / "spares")
    made.ensure()
    made.machines.revoke(b"r" * 32, "2026-11-12T12:00:00.000Z")
    made.agent_public(AGENT)
    assert made.status().state is KeyState.OK
    return made


def _flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(bytes(data))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "removed": Path.unlink,
    "emptied": lambda file: file.write_bytes(b""),
    "halved": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "flipped": _flip,
}


def _known(keys: HomeKeys) -> tuple[object, ...]:
    return keys.public, keys.former, keys.machines.all(), keys.agent_secret(AGENT), keys.store


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("name", SPARED)
def test_a_document_that_is_lost_or_damaged_is_written_again(
    tmp_path: Path, keys: HomeKeys, name: str, how: str
) -> None:
    before, known = (tmp_path / "keys" / name).read_bytes(), _known(keys)
    DAMAGE[how](tmp_path / "keys" / name)
    assert _known(keys) == known
    assert keys.status().state is KeyState.OK
    assert (tmp_path / "keys" / name).read_bytes() == before


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("name", SPARED)
def test_a_copy_that_is_lost_or_damaged_changes_nothing_and_is_made_again(
    tmp_path: Path, keys: HomeKeys, name: str, how: str
) -> None:
    known = _known(keys)
    DAMAGE[how](tmp_path / "spares" / name)
    assert _known(keys) == known
    assert (tmp_path / "spares" / name).read_bytes() == (tmp_path / "keys" / name).read_bytes()


def test_nothing_secret_is_copied(tmp_path: Path, keys: HomeKeys) -> None:
    copied = {path.relative_to(tmp_path / "spares").as_posix() for path in (tmp_path / "spares").rglob("*.*")}
    assert copied == set(SPARED)
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "spares").rglob("*"))


def test_the_pairs_of_an_agent_that_were_destroyed_do_not_come_back(tmp_path: Path, keys: HomeKeys) -> None:
    assert keys.destroy_agent(AGENT)
    assert list(tmp_path.rglob(f"{AGENT}*")) == []
    assert not keys.destroy_agent(AGENT)


def test_pairs_of_which_only_the_copy_is_left_are_destroyed_with_it(tmp_path: Path, keys: HomeKeys) -> None:
    (tmp_path / "keys" / "agents" / f"{AGENT}.json").unlink()
    assert keys.destroy_agent(AGENT)
    assert list(tmp_path.rglob(f"{AGENT}*")) == []


def test_a_home_that_lost_its_folder_of_keys_takes_no_other_key(tmp_path: Path, keys: HomeKeys) -> None:
    own = keys.user_key()
    shutil.rmtree(tmp_path / "keys")
    assert keys.status().state is KeyState.NEEDS_KEY
    with pytest.raises(NoKey):
        keys.ensure()
    with raises_code(KeysError.EXISTS):
        keys.install(UserKey.generate())
    keys.install(own, StoreKind.FILE)
    assert keys.status().state is KeyState.OK and keys.agent_secret(AGENT)


def test_a_rotation_wraps_pairs_of_which_only_the_copy_is_left(tmp_path: Path, keys: HomeKeys) -> None:
    from lifeboat_keys.home.key_rotation import RotationReason

    secret = keys.agent_secret(AGENT)
    shutil.rmtree(tmp_path / "keys" / "agents")
    keys.rotate(keys.user_key(), UserKey.generate(), RotationReason())
    assert keys.agent_secret(AGENT) == secret
    spare, file = (tmp_path / where / "agents" / f"{AGENT}.json" for where in ("spares", "keys"))
    assert spare.read_bytes() == file.read_bytes()


@pytest.mark.parametrize("name", ["device.key", "fingerprint.key"])
@pytest.mark.parametrize("how", ["emptied", "halved", "flipped"])
def test_a_damaged_key_without_a_copy_is_reported(tmp_path: Path, keys: HomeKeys, name: str, how: str) -> None:
    DAMAGE[how](tmp_path / "keys" / name)
    found = keys.status()
    assert found.state is KeyState.ERROR and name in found.note
