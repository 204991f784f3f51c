"""Credentials of remotes are where the user's key is: in the OS keyring, or in a file of the home."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common.doctor_checks import DoctorLevel
from lifeboat_cli.doctor import check_remotes
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.arrange_credentials import arrange_credentials
from lifeboat_core.remotes.manage_remotes import RemoteAccess, add_remote, give_token, remove_remote
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_keys.stores import keyring_store
from lifeboat_keys.stores.store_kinds import StoreKind
from lifeboat_vault.errors import RemoteDenied, RemoteUnreachable
from support.core.protected import SteadyClock
from support.core.webdav_machines import TOKEN, shorten_waits
from support.core.webdav_servers import PASSWORD, SmallServer, small_server
from support.keys import keyring_fakes


class FakeKeyring:
    """A keyring that keeps its items in a file and behaves as another file says."""

    def __init__(self, folder: Path) -> None:
        self.items = folder / "items"
        self.behaviour = folder / "behaviour"
        self.becomes("good")

    def becomes(self, behaviour: str) -> None:
        self.behaviour.write_text(behaviour)

    def secrets(self) -> dict[str, str]:
        """Return the items that are no keys."""
        found: dict[str, str] = json.loads(self.items.read_text()) if self.items.exists() else {}
        return {name: text for name, text in found.items() if "/remote/" in name}


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKeyring:
    shorten_waits(monkeypatch)
    made = FakeKeyring(tmp_path)
    monkeypatch.setattr(keyring_store, "PROGRAM", keyring_fakes.program(made.behaviour, made.items))
    return made


@pytest.fixture
def server() -> Iterator[SmallServer]:
    with small_server() as running:
        yield running


def home_with_key(tmp_path: Path, store: StoreKind) -> Context:
    around = {"LIFEBOAT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    around |= {"PYTHONPATH": ":".join(sys.path)}
    opened = Context.open(around, clock=SteadyClock())
    opened.keys().ensure(store)
    return opened


def added(context: Context, server: SmallServer) -> None:
    add_remote(context, "cloud", RemoteAccess(server.url(), token=TOKEN), sealed=True)


def leaks(context: Context) -> list[str]:
    """Return the files of the home that contain the password."""
    home = context.home.folder
    return [path.name for path in home.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]


def test_with_a_key_in_the_keyring_no_file_contains_the_password(
    keyring: FakeKeyring, server: SmallServer, tmp_path: Path
) -> None:
    context = home_with_key(tmp_path, StoreKind.KEYRING)
    added(context, server)
    assert leaks(context) == []
    assert list(keyring.secrets().values()) == [TOKEN]
    assert remote_registry.load_token(context, "cloud") == TOKEN
    assert open_remote(context, remote_registry.find_remote(context, "cloud")).about().id


def test_a_key_in_a_file_keeps_the_password_in_a_private_file(
    keyring: FakeKeyring, server: SmallServer, tmp_path: Path
) -> None:
    context = home_with_key(tmp_path, StoreKind.FILE)
    added(context, server)
    assert leaks(context) == ["cloud.token"]
    assert remote_registry.locate_token_file(context, "cloud").stat().st_mode & 0o077 == 0
    assert keyring.secrets() == {}


def test_replaced_and_removed_credentials_leave_the_keyring(
    keyring: FakeKeyring, server: SmallServer, tmp_path: Path
) -> None:
    context = home_with_key(tmp_path, StoreKind.KEYRING)
    added(context, server)
    (first,) = keyring.secrets()
    give_token(context, remote_registry.find_remote(context, "cloud"), TOKEN)
    (second,) = keyring.secrets()
    assert first != second and remote_registry.load_token(context, "cloud") == TOKEN
    remove_remote(context, "cloud")
    assert keyring.secrets() == {}


def test_a_locked_keyring_makes_pushes_wait_and_names_the_command(
    keyring: FakeKeyring, server: SmallServer, tmp_path: Path
) -> None:
    context = home_with_key(tmp_path, StoreKind.KEYRING)
    added(context, server)
    keyring.becomes("locked")
    with pytest.raises(RemoteUnreachable, match="keyring") as raised:
        remote_registry.load_token(context, "cloud")
    assert raised.value.retryable and raised.value.fix == "lifeboat keys unlock"
    keyring.becomes("good")
    assert remote_registry.load_token(context, "cloud") == TOKEN


def test_credentials_that_are_gone_from_the_keyring_are_asked_for_again(
    keyring: FakeKeyring, server: SmallServer, tmp_path: Path
) -> None:
    context = home_with_key(tmp_path, StoreKind.KEYRING)
    added(context, server)
    keyring.items.write_text("{}")
    with pytest.raises(RemoteDenied, match="no longer contains") as raised:
        remote_registry.load_token(context, "cloud")
    assert raised.value.fix == "lifeboat remote token cloud --token-stdin"


@pytest.mark.parametrize("behaviour", ["locked", "absent", "forgetful"])
def test_a_keyring_that_takes_nothing_leaves_the_password_in_a_file_that_doctor_names(
    behaviour: str, keyring: FakeKeyring, server: SmallServer, tmp_path: Path
) -> None:
    context = home_with_key(tmp_path, StoreKind.KEYRING)
    keyring.becomes(behaviour)
    added(context, server)
    assert leaks(context) == ["cloud.token"]
    found = [each for each in check_remotes.check(context) if "OS keyring" in each.result]
    assert [(each.level, each.fix) for each in found] == [(DoctorLevel.WARNING, "lifeboat keys init --store keyring")]


def test_credentials_of_an_older_release_move_into_the_keyring(
    keyring: FakeKeyring, server: SmallServer, tmp_path: Path
) -> None:
    context = home_with_key(tmp_path, StoreKind.KEYRING)
    added(context, server)
    remote_registry.save_token(context, "cloud", TOKEN)
    assert leaks(context) == ["cloud.token"]
    (said,) = arrange_credentials(context)
    assert "now in the OS keyring" in said and PASSWORD not in said
    assert leaks(context) == [] and remote_registry.load_token(context, "cloud") == TOKEN
    assert arrange_credentials(context) == []


def test_credentials_follow_the_key_out_of_the_keyring(
    keyring: FakeKeyring, server: SmallServer, tmp_path: Path
) -> None:
    context = home_with_key(tmp_path, StoreKind.KEYRING)
    added(context, server)
    context.keys().move(StoreKind.FILE)
    (said,) = arrange_credentials(context)
    assert "cloud.token" in said
    assert keyring.secrets() == {} and remote_registry.load_token(context, "cloud") == TOKEN


def test_the_token_of_an_endpoint_stays_in_its_file(keyring: FakeKeyring, tmp_path: Path) -> None:
    context = home_with_key(tmp_path, StoreKind.KEYRING)
    remote_registry.save_token(context, "home", "lb_abcdefgh_secret")
    assert remote_registry.load_stored_token(context, "home") == "lb_abcdefgh_secret"
    assert keyring.secrets() == {}
