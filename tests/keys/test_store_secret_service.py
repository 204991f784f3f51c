"""A real OS keyring: gnome-keyring on a separate bus for each test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lifeboat_core.health import status_gathering
from lifeboat_core.home.context import Context
from lifeboat_keys.errors import KeyringLocked, KeysError
from lifeboat_keys.home.home_keys import HomeKeys, KeyState
from lifeboat_keys.pairs.strict_base64 import to_base64
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores.key_environment import KeyEnvironment
from lifeboat_keys.stores.keyring_store import SERVICE, KeyringStore
from lifeboat_keys.stores.store_kinds import StoreKind
from support.alf.raising import raises_code
from support.core.protected import Protected
from support.keys.secret_service import (
    SecretService,
    forked_keyring_process,
    secret_service,
    secret_service_to_come,
)
from support.patience import patience

__all__ = ["forked_keyring_process", "secret_service", "secret_service_to_come"]


HOME_ID = "01900000-0000-7000-8000-0000000000aa"
OTHER_HOME_ID = "01900000-0000-7000-8000-0000000000bb"


def _around(service: SecretService, home_id: str = HOME_ID) -> KeyEnvironment:
    return KeyEnvironment(home_id, service.environment, temporary=False)


def _python(program: str, service: SecretService, *arguments: str) -> str:
    """Run another program on the same bus."""
    command = [sys.executable, "-c", program, *arguments]
    ended = subprocess.run(
        command, env=service.environment, capture_output=True, text=True, timeout=patience(), check=True
    )
    return ended.stdout.strip()


_READ = "import keyring, sys; print(keyring.get_password(*sys.argv[1:]))"
_WRITE = "import keyring, sys; keyring.set_password(*sys.argv[1:])"


def test_a_key_is_kept_and_another_process_reads_it(tmp_path: Path, secret_service: SecretService) -> None:
    keys = HomeKeys(tmp_path / "keys", around=_around(secret_service))
    assert keys.ensure()
    assert (keys.store, keys.status().note) == (StoreKind.KEYRING, "key: in the OS keyring (Secret Service)")
    key = keys.user_key()
    user = f"{HOME_ID}/{key.key_id}"
    assert _python(_READ, secret_service, SERVICE, user) == to_base64(key.secret)
    assert not [file for file in (tmp_path / "keys").rglob("*") if file.is_file() and key.secret in file.read_bytes()]


def test_a_locked_keyring_needs_the_key_and_capture_goes_on(tmp_path: Path, secret_service: SecretService) -> None:
    ada = _Ada(tmp_path / "ada", secret_service)
    ada.context.keys().ensure(StoreKind.KEYRING)
    ada.add()
    secret_service.lock()
    ada.write("MEMORY.md", "# Memory\n\n## Tea\n\nLikes black tea.\n")
    assert ada.capture().sequence == 1
    found = status_gathering.gather_status(ada.context)
    assert (found.key.state, found.agents[0].state) == (KeyState.NEEDS_KEY, "needs_key")
    assert "lifeboat keys unlock" in found.key.note


@pytest.mark.usefixtures("forked_keyring_process")
def test_unlocking_a_keyring_that_nobody_can_be_asked_for_says_so(
    tmp_path: Path, secret_service: SecretService
) -> None:
    keys = HomeKeys(tmp_path / "keys", around=_around(secret_service))
    keys.ensure()
    secret_service.lock()
    with pytest.raises(KeyringLocked) as caught:
        keys.unlock()
    assert caught.value.fix == "lifeboat keys recover --store passphrase"


@pytest.mark.usefixtures("forked_keyring_process")
def test_a_bus_that_dies_takes_nothing_with_it_and_one_that_comes_back_is_found(
    tmp_path: Path, secret_service: SecretService
) -> None:
    keys = HomeKeys(tmp_path / "keys", around=_around(secret_service))
    keys.ensure()
    key_id = keys.user_key().key_id
    secret_service.stop()
    assert (keys.status().state, keys.status().key_id) == (KeyState.NEEDS_KEY, key_id)
    assert not keys.ensure()
    assert keys.device.public
    secret_service.start()
    assert keys.user_key().key_id == key_id


@pytest.mark.usefixtures("forked_keyring_process")
def test_a_bus_that_appears_later_is_offered_and_takes_the_key(
    tmp_path: Path, secret_service_to_come: SecretService
) -> None:
    service = secret_service_to_come
    keys = HomeKeys(tmp_path / "keys", around=_around(service))
    keys.ensure()
    assert (keys.store, keys.store_is_chosen) == (StoreKind.FILE, False)
    assert keys.store_problem(StoreKind.KEYRING) is not None
    service.start()
    assert keys.store_problem(StoreKind.KEYRING) is None
    key_id = keys.user_key().key_id
    assert keys.move(StoreKind.KEYRING) == ["user.key"]
    assert not (tmp_path / "keys" / "user.key").exists()
    assert (keys.user_key().key_id, keys.store) == (key_id, StoreKind.KEYRING)


def test_the_keyring_is_found_without_the_address_of_its_bus(tmp_path: Path, secret_service: SecretService) -> None:
    HomeKeys(tmp_path / "keys", around=_around(secret_service)).ensure()
    untold = {**secret_service.environment}
    del untold["DBUS_SESSION_BUS_ADDRESS"]
    keys = HomeKeys(tmp_path / "keys", around=KeyEnvironment(HOME_ID, untold))
    assert keys.status().state is KeyState.OK


@pytest.mark.usefixtures("forked_keyring_process")
def test_an_item_of_the_same_name_stays_what_it_was(secret_service: SecretService) -> None:
    key = UserKey.generate()
    user = f"{HOME_ID}/{key.key_id}"
    _python(_WRITE, secret_service, SERVICE, user, "something of somebody else")
    with raises_code(KeysError.EXISTS):
        KeyringStore(_around(secret_service)).keep(key)
    assert _python(_READ, secret_service, SERVICE, user) == "something of somebody else"


@pytest.mark.usefixtures("forked_keyring_process")
def test_two_homes_have_their_keys_beside_each_other(tmp_path: Path, secret_service: SecretService) -> None:
    one = HomeKeys(tmp_path / "one", around=_around(secret_service))
    other = HomeKeys(tmp_path / "other", around=_around(secret_service, OTHER_HOME_ID))
    for keys in (one, other):
        keys.ensure()
    assert one.user_key().key_id != other.user_key().key_id
    assert one.status().state is other.status().state is KeyState.OK


@pytest.mark.usefixtures("forked_keyring_process")
def test_a_further_key_lies_beside_the_first(tmp_path: Path, secret_service: SecretService) -> None:
    keys = HomeKeys(tmp_path / "keys", around=_around(secret_service))
    keys.ensure()
    key, further = keys.user_key(), UserKey.generate()
    keys.keep(further)
    store = KeyringStore(_around(secret_service))
    assert store.read(key.key_id).secret == key.secret
    assert store.read(further.key_id).secret == further.secret


class _Ada(Protected):
    """An agent whose home has a Secret Service."""

    def __init__(self, folder: Path, service: SecretService) -> None:
        super().__init__(folder, config='{"env": {"OPENAI_API_KEY": "sk-fake-0123456789abcdef"}}')
        self.service = service

    @property
    def context(self) -> Context:
        around = {**self.service.environment, "LIFEBOAT_HOME": str(self.folder / "home")}
        return Context.open(around, self.files, self.clock)
