"""The OS keyring as a store: it may be locked, absent, slow, dead or wrong, which affects nothing but itself."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.errors import ErrorCode
from lifeboat_core.health import status_gathering
from lifeboat_keys import child_processes
from lifeboat_keys.errors import KeyDamaged, KeyringLocked, KeysError, NoKey, OtherKey
from lifeboat_keys.home.home_keys import HomeKeys, KeyState
from lifeboat_keys.pairs.strict_base64 import from_base64
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores import keyring_process, keyring_store
from lifeboat_keys.stores.key_environment import KeyEnvironment
from lifeboat_keys.stores.keyring_store import KeyringStore, session_environment
from lifeboat_keys.stores.store_kinds import StoreKind
from support.alf.raising import raises_code
from support.core.protected import Protected
from support.keys.keyring_fakes import ANOTHER, program
from support.patience import patience
from support.short_folders import short

__all__ = ["short"]

HOME_ID = "01900000-0000-7000-8000-0000000000aa"
FAULTS: dict[str, ErrorCode | type[KeysError]] = {
    "locked": KeyringLocked,
    "absent": NoKey.KEYRING_AWAY,
    "dying": NoKey.KEYRING_AWAY,
    "gone": NoKey.KEYRING_AWAY,
    "slow": NoKey.KEYRING_SLOW,
    "lying": OtherKey,
    "garbled": KeyDamaged,
}


@pytest.fixture
def around() -> KeyEnvironment:
    return KeyEnvironment(HOME_ID, dict(os.environ), temporary=False)


class Keyring:
    """A keyring as its process sees it."""

    def __init__(self, items: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.items = items
        self._patch = monkeypatch
        self.becomes("good")

    def becomes(self, behaviour: str) -> None:
        self._patch.setattr(keyring_store, "PROGRAM", program(behaviour, self.items))
        self._patch.setattr(keyring_store, "SECONDS", 1.0 if behaviour == "slow" else patience())

    def held(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.items.read_text()) if self.items.exists() else {}
        return found

    def hold(self, items: dict[str, str]) -> None:
        self.items.write_text(json.dumps(items))


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Keyring:
    return Keyring(tmp_path / "items", monkeypatch)


def test_a_key_goes_in_under_the_ids_of_home_and_key_and_comes_out_again(around: KeyEnvironment, fake: Keyring) -> None:
    key = UserKey.generate()
    KeyringStore(around).keep(key)
    assert list(fake.held()) == [f"lifeboat {HOME_ID}/{key.key_id}"]
    assert KeyringStore(around).read(key.key_id).secret == key.secret


def test_keeping_a_key_twice_writes_it_once(around: KeyEnvironment, fake: Keyring) -> None:
    key = UserKey.generate()
    KeyringStore(around).keep(key)
    fake.items.chmod(0o400)
    before = fake.items.stat()
    KeyringStore(around).keep(key)
    assert fake.items.stat().st_mtime_ns == before.st_mtime_ns


def test_an_item_of_the_same_name_is_never_overwritten(around: KeyEnvironment, fake: Keyring) -> None:
    key = UserKey.generate()
    there = {f"lifeboat {HOME_ID}/{key.key_id}": "something of somebody else"}
    fake.hold(there)
    with raises_code(KeysError.EXISTS, match=key.key_id):
        KeyringStore(around).keep(key)
    assert fake.held() == there


def test_the_keys_of_two_homes_lie_beside_each_other(around: KeyEnvironment, fake: Keyring) -> None:
    key = UserKey.generate()
    KeyringStore(around).keep(key)
    other = KeyEnvironment("another-home", around.environment)
    with pytest.raises(NoKey, match="does not contain the key"):
        KeyringStore(other).read(key.key_id)
    KeyringStore(other).keep(key)
    assert len(fake.held()) == 2


@pytest.mark.parametrize("behaviour", FAULTS)
def test_each_way_of_failing_is_an_error_of_its_own(around: KeyEnvironment, fake: Keyring, behaviour: str) -> None:
    key = UserKey.generate()
    KeyringStore(around).keep(key)
    fake.becomes(behaviour)
    with raises_code(FAULTS[behaviour]) as caught:
        KeyringStore(around).read(key.key_id)
    assert caught.value.code == FAULTS[behaviour].code


def test_a_lying_keyring_is_told_by_both_key_ids(around: KeyEnvironment, fake: Keyring) -> None:
    key, another = UserKey.generate(), UserKey(from_base64(ANOTHER))
    fake.becomes("lying")
    with pytest.raises(OtherKey) as caught:
        KeyringStore(around).read(key.key_id)
    assert key.key_id in caught.value.message and another.key_id in caught.value.message


def test_a_keyring_that_takes_a_key_and_does_not_hold_it_is_not_trusted(around: KeyEnvironment, fake: Keyring) -> None:
    fake.becomes("forgetful")
    with raises_code(NoKey.KEYRING_AWAY, match="did not store it"):
        KeyringStore(around).keep(UserKey.generate())


def test_a_backend_that_prints_does_not_spoil_the_answer(around: KeyEnvironment, fake: Keyring) -> None:
    fake.becomes("talking")
    key = UserKey.generate()
    KeyringStore(around).keep(key)
    assert KeyringStore(around).read(key.key_id).key_id == key.key_id


def test_a_program_that_does_not_exist_is_a_keyring_that_is_away(
    around: KeyEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring_store, "PROGRAM", ("/does/not/exist",))
    problem = KeyringStore(around).problem()
    assert problem is not None and problem.code == NoKey.KEYRING_AWAY.code


def test_a_key_never_stands_in_an_argument_or_in_the_environment(
    around: KeyEnvironment, fake: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    real = subprocess.Popen

    def watched(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        seen.append(f"{command} {options['env']}")
        return real(command, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(subprocess, "Popen", watched)
    key = UserKey.generate()
    KeyringStore(around).keep(key)
    (held,) = fake.held().values()
    assert seen and held not in seen[0] and held.rstrip("=") not in seen[0]


# Which keyring ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["keyring.backends.null.Keyring", "keyring.backends.chainer.ChainerBackend"])
def test_no_variable_and_no_file_chooses_a_backend(tmp_path: Path, named: str) -> None:
    (tmp_path / "python_keyring").mkdir()
    (tmp_path / "python_keyring" / "keyringrc.cfg").write_text(f"[backend]\ndefault-keyring={named}\n")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
        "XDG_RUNTIME_DIR": str(tmp_path),
        "PYTHON_KEYRING_BACKEND": named,
    }
    request = json.dumps({"do": "keep", "service": "s", "user": "u", "secret": "x"}).encode()
    ended = subprocess.run(
        keyring_store.PROGRAM, input=request, env=environment, capture_output=True, timeout=patience(), check=True
    )
    assert json.loads(ended.stdout) == {"error": "away", "detail": "NoKeyringBackend"}


def test_a_package_in_the_working_folder_is_not_taken_for_the_keyring(tmp_path: Path) -> None:
    (tmp_path / "keyring.py").write_text("raise SystemExit(7)")
    (tmp_path / "lifeboat_keys.py").write_text("raise SystemExit(7)")
    ended = subprocess.run(
        keyring_store.PROGRAM,
        input=b'{"do": "read"}',
        cwd=tmp_path,
        env={},
        capture_output=True,
        timeout=patience(),
        check=False,
    )
    assert ended.returncode == 0 and b"NoKeyringBackend" in ended.stdout


def test_a_path_that_names_the_working_folder_leads_to_no_package_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"open({str(tmp_path / 'was here')!r}, 'w').close()")
    monkeypatch.chdir(tmp_path)
    KeyringStore(KeyEnvironment(HOME_ID, {**os.environ, "PYTHONPATH": os.pathsep + "."})).problem()
    assert not (tmp_path / "was here").exists()


@pytest.mark.parametrize("said", ["''", "'{}'", "'[' * 200_000", "'{\"error\":' * 200_000", "'x' * 50_000_000"])
def test_an_answer_that_is_none_is_a_keyring_that_is_away(
    around: KeyEnvironment, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setattr(keyring_store, "PROGRAM", (sys.executable, "-c", f"print({said})"))
    with raises_code(NoKey.KEYRING_AWAY, match="without an answer"):
        KeyringStore(around).read("0")


def test_only_known_classes_are_backends() -> None:
    known = [place for place, _, _ in keyring_process._KNOWN]
    assert not [place for place in known if any(word in place for word in ("null", "fail", "alt", "chainer"))]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no session bus")
def test_the_bus_is_found_where_a_service_was_not_told_of_it(short: Path) -> None:
    around = KeyEnvironment(HOME_ID, {"XDG_RUNTIME_DIR": str(short), "LIFEBOAT_PASSPHRASE": "x", "TOKEN": "x"})
    assert "DBUS_SESSION_BUS_ADDRESS" not in session_environment(around)
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(str(short / "bus"))
        chosen = session_environment(around)
    assert chosen["DBUS_SESSION_BUS_ADDRESS"] == f"unix:path={short / 'bus'}"
    assert chosen.keys() == {"DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"}


def test_the_long_running_program_never_loads_the_keyring() -> None:
    program = "import lifeboat_cli.keys.key_commands, lifeboat_core.home.context, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=patience(), check=True
    )
    assert not {"keyring", "secretstorage", "cryptography"} & set(loaded.stdout.split())


# A home ----------------------------------------------------------------------------------------------------------


def test_the_best_place_there_is_is_the_keyring_and_a_temporary_home_never_takes_it(
    tmp_path: Path, around: KeyEnvironment, fake: Keyring
) -> None:
    keys = HomeKeys(tmp_path / "keys", around=around)
    keys.ensure()
    assert (keys.store, keys.status().note) == (StoreKind.KEYRING, "key: in the OS keyring (Fake)")
    assert not (tmp_path / "keys" / "user.key").exists()
    temporary = HomeKeys(tmp_path / "others", around=KeyEnvironment(HOME_ID, around.environment, temporary=True))
    temporary.ensure()
    assert (temporary.store, len(fake.held())) == (StoreKind.FILE, 1)


@pytest.mark.parametrize("behaviour", ["locked", "absent", "dying", "gone", "slow", "forgetful", "garbled"])
def test_a_keyring_that_cannot_be_used_now_is_not_chosen(
    tmp_path: Path, around: KeyEnvironment, fake: Keyring, behaviour: str
) -> None:
    fake.becomes(behaviour)
    keys = HomeKeys(tmp_path / "keys", around=around)
    keys.ensure()
    assert (keys.status().state, keys.store) == (KeyState.OK, StoreKind.FILE)
    assert keys.status().note == "key: in a file without encryption"


@pytest.mark.parametrize("behaviour", FAULTS)
def test_capture_and_status_go_on_whatever_the_keyring_does(tmp_path: Path, fake: Keyring, behaviour: str) -> None:
    ada = Protected(tmp_path / "ada", config='{"env": {"OPENAI_API_KEY": "sk-fake-0123456789abcdef"}}')
    ada.context.keys().ensure(StoreKind.KEYRING)
    ada.add()
    fake.becomes(behaviour)
    ada.write("MEMORY.md", "# Memory\n\n## Tea\n\nLikes black tea.\n")
    ada.write_config('{"env": {"OPENAI_API_KEY": "sk-fake-fedcba9876543210"}}')
    assert ada.capture().sequence == 1
    found = status_gathering.gather_status(ada.context)
    wanted = KeyState.ERROR if behaviour in ("lying", "garbled") else KeyState.NEEDS_KEY
    assert found.key.state == wanted
    assert found.key.key_id == ada.context.keys().public.key_id
    assert (found.agents[0].sequence, found.agents[0].state) == (1, str(wanted))


def test_status_asks_the_keyring_once_and_a_capture_never(
    tmp_path: Path, fake: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = Protected(tmp_path / "ada", config='{"env": {"OPENAI_API_KEY": "sk-fake-0123456789abcdef"}}')
    ada.context.keys().ensure(StoreKind.KEYRING)
    ada.add()
    asked = []
    real = child_processes.run_child

    def counted(*arguments: Any, **options: Any) -> child_processes.ChildResult:
        asked.append(arguments)
        return real(*arguments, **options)

    monkeypatch.setattr(child_processes, "run_child", counted)
    ada.write("MEMORY.md", "# Memory\n\n## Tea\n\nLikes black tea.\n")
    ada.write_config('{"env": {"OPENAI_API_KEY": "sk-fake-fedcba9876543210"}}')
    assert ada.capture().sequence == 1
    assert not asked
    assert status_gathering.gather_status(ada.context).key.state == KeyState.OK
    assert len(asked) == 1


def test_the_note_of_a_locked_keyring_names_the_command(tmp_path: Path, around: KeyEnvironment, fake: Keyring) -> None:
    keys = HomeKeys(tmp_path / "keys", around=around)
    keys.ensure()
    fake.becomes("locked")
    assert "lifeboat keys unlock" in keys.status().note
    fake.becomes("good")
    assert keys.status().state is KeyState.OK


def test_a_home_that_lost_its_id_finds_its_key_under_the_one_it_had(
    tmp_path: Path, around: KeyEnvironment, fake: Keyring
) -> None:
    HomeKeys(tmp_path / "keys", around=around).ensure()
    renamed = HomeKeys(tmp_path / "keys", around=KeyEnvironment("another-id", around.environment))
    assert renamed.status().state is KeyState.OK
