from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from lifeboat_keys.stores import keyring_store
from lifeboat_vault.at_rest.key_sources import key_source_registry
from lifeboat_vault.at_rest.key_sources.file_source import default_file
from lifeboat_vault.at_rest.key_sources.key_source_contract import KeySource
from lifeboat_vault.errors import KeyRevoked, KeySourceRefused, VaultDamaged
from support.keys import keyring_fakes

SECRET = bytes(range(32))


def made(spec: str, folder: Path) -> KeySource:
    key_source_registry.make_key(spec, outside=folder / "data")
    return key_source_registry.open_key_source(spec, outside=folder / "data")


def test_a_key_file_wraps_and_unwraps(tmp_path: Path) -> None:
    source = made(f"file:{tmp_path}/keys/endpoint.key", tmp_path)
    wrapped = source.wrap(SECRET)
    assert source.unwrap(wrapped) == SECRET and SECRET not in wrapped and wrapped != source.wrap(SECRET)
    assert source.spec == f"file:{tmp_path}/keys/endpoint.key"


def test_a_key_file_is_its_owners_only_and_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "endpoint.key"
    source = made(f"file:{path}", tmp_path)
    wrapped = source.wrap(SECRET)
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    assert made(f"file:{path}", tmp_path).unwrap(wrapped) == SECRET


def test_no_key_is_made_by_opening_a_source(tmp_path: Path) -> None:
    source = key_source_registry.open_key_source(f"file:{tmp_path}/endpoint.key", outside=tmp_path / "data")
    with pytest.raises(KeyRevoked, match="contains no key"):
        source.wrap(SECRET)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["data/endpoint.key", "data/tenants/endpoint.key", "keys/../data/endpoint.key"])
def test_a_key_among_the_data_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "keys").mkdir()
    with pytest.raises(KeySourceRefused, match="the folder of the data"):
        key_source_registry.make_key(f"file:{tmp_path}/{place}", outside=tmp_path / "data")


def test_a_link_that_leads_among_the_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "keys").symlink_to(tmp_path / "data")
    with pytest.raises(KeySourceRefused, match="the folder of the data"):
        key_source_registry.open_key_source(f"file:{tmp_path}/keys/endpoint.key", outside=tmp_path / "data")


def test_data_folder_behind_a_link_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "disk")
    with pytest.raises(KeySourceRefused, match="the folder of the data"):
        key_source_registry.open_key_source(f"file:{tmp_path}/disk/endpoint.key", outside=tmp_path / "data")


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    source = made(f"file:{tmp_path}/endpoint.key", tmp_path)
    (tmp_path / "endpoint.key").chmod(0o640)
    with pytest.raises(KeySourceRefused, match="other users can read the key file") as caught:
        source.wrap(SECRET)
    assert caught.value.fix == f"chmod 600 {tmp_path}/endpoint.key"


def test_a_key_file_that_holds_no_key_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "endpoint.key"
    path.write_text("not a key")
    path.chmod(0o600)
    with pytest.raises(KeySourceRefused, match="must contain 32 bytes"):
        made(f"file:{path}", tmp_path)
    assert path.read_text() == "not a key"


def test_another_key_in_the_file_is_told_from_damage(tmp_path: Path) -> None:
    source = made(f"file:{tmp_path}/endpoint.key", tmp_path)
    wrapped = source.wrap(SECRET)
    with pytest.raises(VaultDamaged):
        source.unwrap(wrapped[:-1] + bytes([wrapped[-1] ^ 1]))
    (tmp_path / "endpoint.key").write_text(os.urandom(32).hex())
    with pytest.raises(KeyRevoked, match="a different key"):
        source.unwrap(wrapped)


@pytest.mark.parametrize(
    "text",
    [
        SECRET.hex(),
        SECRET.hex().upper() + "\n",
        base64.b64encode(SECRET).decode(),
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
    ],
)
def test_a_variable_holds_a_key_as_hexadecimal_or_base64(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("EXAMPLE_KEY", SECRET.hex())
    wrapped = made("env:EXAMPLE_KEY", tmp_path).wrap(b"data")
    monkeypatch.setenv("EXAMPLE_KEY", text)
    assert made("env:EXAMPLE_KEY", tmp_path).unwrap(wrapped) == b"data"


def test_a_variable_that_is_gone_gives_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAMPLE_KEY", SECRET.hex())
    source = made("env:EXAMPLE_KEY", tmp_path)
    wrapped = source.wrap(b"data")
    monkeypatch.delenv("EXAMPLE_KEY")
    with pytest.raises(KeyRevoked, match="env:EXAMPLE_KEY contains no key"):
        source.unwrap(wrapped)


def test_a_variable_without_a_key_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeySourceRefused, match="is not set"):
        key_source_registry.make_key("env:EXAMPLE_KEY", outside=tmp_path)
    monkeypatch.setenv("EXAMPLE_KEY", "too short")
    with pytest.raises(KeySourceRefused, match="must contain 32 bytes"):
        key_source_registry.make_key("env:EXAMPLE_KEY", outside=tmp_path)


def test_the_keyring_keeps_a_key_under_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring_store, "PROGRAM", keyring_fakes.program("good", tmp_path / "items"))
    wrapped = made("keyring:home", tmp_path).wrap(b"data")
    assert made("keyring:home", tmp_path).unwrap(wrapped) == b"data"


@pytest.mark.parametrize("behaviour", ["locked", "absent", "gone"])
def test_a_keyring_that_does_not_answer_gives_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str
) -> None:
    monkeypatch.setattr(keyring_store, "PROGRAM", keyring_fakes.program(behaviour, tmp_path / "items"))
    source = key_source_registry.open_key_source("keyring:home", outside=tmp_path / "data")
    with pytest.raises(KeyRevoked, match="keyring:home: the keyring did not respond"):
        source.unwrap(b"")
    with pytest.raises(KeySourceRefused):
        key_source_registry.make_key("keyring:home", outside=tmp_path / "data")


def test_a_keyring_that_is_slow_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring_store, "PROGRAM", keyring_fakes.program("slow", tmp_path / "items"))
    monkeypatch.setattr(keyring_store, "SECONDS", 0.5)
    with pytest.raises(KeyRevoked, match="did not end within"):
        key_source_registry.open_key_source("keyring:home", outside=tmp_path / "data").unwrap(b"")


@pytest.mark.parametrize("spec", ["", "file", "file:", "nowhere:key", "/etc/key", "file:relative/endpoint.key"])
def test_what_names_no_source_is_refused(tmp_path: Path, spec: str) -> None:
    with pytest.raises(KeySourceRefused):
        key_source_registry.open_key_source(spec, outside=tmp_path)


def test_kinds_come_from_entry_points() -> None:
    assert {"file", "keyring", "env"} <= set(key_source_registry.list_kinds())


def test_the_default_file_lies_in_the_users_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert default_file("0190") == tmp_path / "lifeboat" / "endpoint" / "0190.key"


PLUG_IN = """
from lifeboat_vault.at_rest.key_sources.local_key import LocalKey

class Remote:
    def open(self, where, *, outside):
        return LocalKey(f"kms:{where}", lambda: where.encode() * 32)

    def make(self, where, *, outside):
        pass

KIND = Remote()
"""


def test_another_kind_is_one_more_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kms_plug_in.py").write_text(PLUG_IN)
    (tmp_path / "kms_plug_in-1.dist-info").mkdir()
    (tmp_path / "kms_plug_in-1.dist-info" / "METADATA").write_text("Name: kms-plug-in\nVersion: 1\n")
    (tmp_path / "kms_plug_in-1.dist-info" / "entry_points.txt").write_text(
        f"[{key_source_registry.GROUP}]\nkms = kms_plug_in:KIND\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(key_source_registry, "_entry_points", key_source_registry._entry_points.__wrapped__)
    source = made("kms:a", tmp_path)
    assert (
        source.spec == "kms:a"
        and source.unwrap(source.wrap(SECRET)) == SECRET
        and "kms" in key_source_registry.list_kinds()
    )
