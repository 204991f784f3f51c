"""The doctor on the key: its store, whether that can be reached, and what would be better."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_cli.doctor import check_key as key
from lifeboat_core.home.context import Context
from lifeboat_keys.stores import key_environment, keyring_store
from lifeboat_keys.stores.store_kinds import StoreKind
from support.core.protected import Protected
from support.keys.keyring_fakes import program

PHRASE = "a long walk by the sea"


class Ada(Protected):
    """An agent whose commands have a richer environment."""

    def __init__(self, folder: Path) -> None:
        self.extra: dict[str, str] = {}
        super().__init__(folder)

    @property
    def context(self) -> Context:
        around = {"LIFEBOAT_HOME": str(self.folder / "home"), "HOME": str(self.folder / "user"), "PATH": os.defpath}
        return Context.open({**around, **self.extra}, self.files, self.clock)


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lightest_wrapping: None) -> Ada:
    monkeypatch.setattr(keyring_store, "PROGRAM", program("absent", tmp_path / "items"))
    return Ada(tmp_path / "ada")


@pytest.fixture
def lasting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make homes of this test count as permanent."""
    monkeypatch.setattr(key, "is_in_temporary_folder", lambda folder: False)
    monkeypatch.setattr(key_environment, "is_in_temporary_folder", lambda folder: False)


def _findings(ada: Ada) -> list[DoctorFinding]:
    return list(key.check(ada.context))


def _fixes(ada: Ada) -> list[str | None]:
    return [one.fix for one in _findings(ada)]


def test_a_home_without_a_key_is_told_how_to_make_one(ada: Ada) -> None:
    assert _fixes(ada) == ["lifeboat keys init"]


def test_an_unprotected_file_is_a_warning_with_the_way_out(ada: Ada) -> None:
    ada.context.keys().ensure()
    first, second = _findings(ada)
    assert (first.level, first.fix) == (DoctorLevel.WARNING, "lifeboat keys init --store passphrase")
    assert "without encryption" in first.result
    assert (second.level, "temporary" in second.result) == (DoctorLevel.OK, True)


def test_a_keyring_that_came_later_is_offered_to_those_who_did_not_choose_the_file(
    ada: Ada, tmp_path: Path, lasting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.context.keys().ensure()
    assert "lifeboat keys init --store keyring" not in _fixes(ada)
    monkeypatch.setattr(keyring_store, "PROGRAM", program("good", tmp_path / "items"))
    assert "lifeboat keys init --store keyring" in _fixes(ada)
    ada.context.keys().move(StoreKind.KEYRING)
    (found,) = _findings(ada)
    assert (found.level, found.result) == (DoctorLevel.OK, "in the OS keyring (Fake), available")
    ada.context.keys().move(StoreKind.FILE)
    assert "lifeboat keys init --store keyring" not in _fixes(ada)


def test_a_locked_keyring_is_found_with_the_command(ada: Ada, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring_store, "PROGRAM", program("good", tmp_path / "items"))
    ada.context.keys().ensure(StoreKind.KEYRING)
    monkeypatch.setattr(keyring_store, "PROGRAM", program("locked", tmp_path / "items"))
    (found,) = _findings(ada)
    assert (found.level, found.fix) == (DoctorLevel.ERROR, "lifeboat keys unlock")


def test_a_passphrase_in_the_environment_is_named_and_its_file_is_not(ada: Ada, tmp_path: Path) -> None:
    ada.extra = {"LIFEBOAT_PASSPHRASE": PHRASE}
    ada.context.keys().ensure()
    reached, exposed = _findings(ada)
    assert (reached.level, exposed.level) == (DoctorLevel.OK, DoctorLevel.WARNING)
    assert "LIFEBOAT_PASSPHRASE is set" in exposed.result and PHRASE not in str(exposed)
    file = tmp_path / "phrase"
    file.write_text(PHRASE)
    file.chmod(0o600)
    ada.extra = {"LIFEBOAT_PASSPHRASE_FILE": str(file)}
    assert [one.level for one in _findings(ada)] == [DoctorLevel.OK]


def test_an_unprotected_copy_that_a_cut_off_move_left_is_found(ada: Ada) -> None:
    ada.extra = {"LIFEBOAT_PASSPHRASE": PHRASE}
    keys = ada.context.keys()
    keys.ensure(StoreKind.FILE)
    file = ada.context.home.keys_folder / "user.key"
    data = file.read_bytes()
    keys.move(StoreKind.PASSPHRASE)
    file.write_bytes(data)
    file.chmod(0o600)
    assert "lifeboat keys init --store passphrase" in _fixes(ada)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no mode bits")
def test_a_key_file_that_others_can_read_is_found_with_the_command(ada: Ada) -> None:
    ada.context.keys().ensure()
    file = ada.context.home.keys_folder / "user.key"
    file.chmod(0o644)
    assert f"chmod 600 {file}" in _fixes(ada)
