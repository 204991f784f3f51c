"""A key held open for a time by a background process, which ends when there is no reason to hold it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_keys.errors import KeyLocked, KeysError, NoKey
from lifeboat_keys.home.home_keys import HomeKeys, KeyState
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores import key_holder, key_holder_process
from lifeboat_keys.stores.key_environment import KeyEnvironment
from lifeboat_keys.stores.store_kinds import StoreKind
from support import preloaded
from support.alf.raising import raises_code
from support.cli.cli_client import run
from support.patience import patience
from support.short_folders import short_folder
from support.waiting import until

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="Windows has no sockets that only their user can reach"),
    pytest.mark.usefixtures("light_wrapping"),
]

PHRASE = "a long walk by the sea"


@pytest.fixture
def runtime() -> Iterator[Path]:
    """Yield a runtime folder with a short name, because the length of a socket's path is limited."""
    with short_folder() as folder:
        yield folder


@pytest.fixture
def around(runtime: Path) -> KeyEnvironment:
    return KeyEnvironment("home", {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(runtime)})


@pytest.fixture
def keys(tmp_path: Path, around: KeyEnvironment, lightest_wrapping: None) -> Iterator[HomeKeys]:
    """Yield keys wrapped with a passphrase that is not available."""
    given = KeyEnvironment("home", {**around.environment, "LIFEBOAT_PASSPHRASE": PHRASE})
    HomeKeys(tmp_path / "keys", around=given).ensure()
    made = HomeKeys(tmp_path / "keys", around=around)
    yield made
    made.lock()


def _process(path: Path) -> int:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[0])


def test_an_unlocked_key_is_there_until_it_is_locked(keys: HomeKeys) -> None:
    with pytest.raises(KeyLocked):
        keys.user_key()
    held = keys.unlock(PHRASE, 3600)
    assert held is not None
    assert keys.user_key().key_id == held.key.key_id
    assert keys.status().note.startswith("key: unlocked until ")
    assert keys.lock()
    with pytest.raises(KeyLocked):
        keys.user_key()
    assert not keys.lock()


def test_without_a_time_it_is_held_until_it_is_locked(keys: HomeKeys) -> None:
    keys.unlock(PHRASE)
    assert keys.status().note == "key: unlocked until you lock it"


def test_a_wrong_passphrase_holds_nothing(keys: HomeKeys, around: KeyEnvironment) -> None:
    with raises_code(NoKey.WRONG_PASSPHRASE):
        keys.unlock("another one", 3600)
    assert not key_holder.socket_path(around).exists()


def test_it_ends_at_its_time(keys: HomeKeys, around: KeyEnvironment) -> None:
    keys.unlock(PHRASE, 0.5)
    until(lambda: not key_holder.socket_path(around).parent.exists())
    assert keys.status().state is KeyState.NEEDS_KEY


def test_it_ends_with_its_home(keys: HomeKeys, around: KeyEnvironment, tmp_path: Path) -> None:
    keys.unlock(PHRASE, 3600)
    shutil.rmtree(tmp_path / "keys")
    until(lambda: not key_holder.socket_path(around).exists())


def test_it_ends_when_its_socket_is_gone(keys: HomeKeys, around: KeyEnvironment) -> None:
    keys.unlock(PHRASE, 3600)
    path = key_holder.socket_path(around)
    if sys.platform != "linux":
        pytest.skip("which process it is, is known on Linux")
    process = _process(path)
    path.unlink()
    until(lambda: not Path(f"/proc/{process}").exists())


def test_only_the_user_can_reach_it(keys: HomeKeys, around: KeyEnvironment) -> None:
    keys.unlock(PHRASE, 3600)
    path = key_holder.socket_path(around)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.skipif(sys.platform != "linux", reason="what a process may do is shown in /proc")
def test_it_leaves_no_core_dump_and_holds_nothing_of_its_caller(keys: HomeKeys, around: KeyEnvironment) -> None:
    keys.unlock(PHRASE, 3600)
    process = Path(f"/proc/{_process(key_holder.socket_path(around))}")
    limits = [line.split() for line in (process / "limits").read_text().splitlines()]
    assert ["Max", "core", "file", "size", "0", "0", "bytes"] in limits
    assert (process / "cmdline").read_bytes().split(b"\0")[1:4] == [
        b"-P",
        b"-m",
        b"lifeboat_keys.stores.key_holder_process",
    ]
    if os.geteuid() == 0:
        streams = {os.readlink(process / "fd" / str(number)) for number in range(3)}
        assert streams == {"/dev/null"}
        assert PHRASE.encode() not in (process / "environ").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_it_takes_its_socket_along_when_the_session_ends(
    keys: HomeKeys, around: KeyEnvironment, number: signal.Signals
) -> None:
    keys.unlock(PHRASE, 3600)
    path = key_holder.socket_path(around)
    if sys.platform != "linux":
        pytest.skip("which process it is, is known on Linux")
    os.kill(_process(path), number)
    until(lambda: not path.parent.exists())


def test_a_signal_that_comes_at_once_takes_the_socket_along(runtime: Path) -> None:
    folder = runtime / "holder"
    folder.mkdir(mode=0o700)
    place = folder / "socket"
    mask = os.umask(0o077)
    try:
        server = key_holder_process._listen(place)
    finally:
        os.umask(mask)
    place_id, folder_id = key_holder_process._socket_id(place), key_holder_process._folder_id(folder)
    assert place_id is not None and folder_id is not None
    duty = key_holder_process._HoldPeriod(place, place_id, folder, folder_id, math.inf, math.inf, "key", "secret")
    with server:
        key_holder_process._serve(server, duty, sys.exit)
    assert not folder.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else")
def test_another_user_gets_no_answer_even_through_open_doors(
    keys: HomeKeys, around: KeyEnvironment, runtime: Path
) -> None:
    held = keys.unlock(PHRASE, 3600)
    assert held is not None
    path = key_holder.socket_path(around)
    for each, mode in ((runtime, 0o755), (path.parent, 0o755), (path, 0o666)):
        each.chmod(mode)
    program = """
import os, socket, sys
os.setgid(65534)
os.setuid(65534)
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    try:
        connection.sendall(sys.argv[2].encode())
        print(len(connection.recv(4096)))
    except (BrokenPipeError, ConnectionResetError):
        print(0)
"""
    request = json.dumps({"do": "key", "key_id": held.key.key_id}) + "\n"
    command = [sys.executable, "-c", program, str(path), request]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=patience(), check=False)
    assert ended.stdout == "0\n", ended.stderr
    path.parent.chmod(0o700)
    assert keys.user_key().key_id == held.key.key_id


def test_a_socket_that_nobody_serves_is_no_hindrance(keys: HomeKeys, around: KeyEnvironment) -> None:
    path = key_holder.socket_path(around)
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    assert keys.status().state is KeyState.NEEDS_KEY
    keys.unlock(PHRASE, 3600)
    assert keys.status().state is KeyState.OK


def test_somebody_who_connects_and_says_nothing_or_nonsense_stops_nothing(
    keys: HomeKeys, around: KeyEnvironment
) -> None:
    keys.unlock(PHRASE, 3600)
    path = str(key_holder.socket_path(around))
    for said in (b"", b"\n", b"nonsense\n", b"[]\n", b"x" * 10_000, b"[" * 4000 + b"\n"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            with contextlib.suppress(BrokenPipeError):
                connection.sendall(said)
    assert keys.status().state is KeyState.OK


def test_a_folder_that_others_can_enter_is_refused(keys: HomeKeys, around: KeyEnvironment) -> None:
    folder = key_holder.socket_path(around).parent
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    with raises_code(KeysError.UNSAFE) as caught:
        keys.unlock(PHRASE, 3600)
    assert caught.value.fix == f"chmod 700 {folder}"
    assert keys.status().state is KeyState.NEEDS_KEY


def test_a_link_in_the_place_of_the_folder_is_refused_and_what_it_leads_to_stays(
    keys: HomeKeys, around: KeyEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    key_holder.socket_path(around).parent.symlink_to(tmp_path / "elsewhere")
    with raises_code(KeysError.UNSAFE) as caught:
        keys.unlock(PHRASE, 3600)
    assert "XDG_RUNTIME_DIR" in caught.value.fix
    assert not list((tmp_path / "elsewhere").iterdir())


def test_unlocking_twice_at_once_leaves_one_holder_that_answers(keys: HomeKeys, around: KeyEnvironment) -> None:
    threads = [threading.Thread(target=keys.unlock, args=(PHRASE, 3600)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert keys.status().state is KeyState.OK
    assert [entry.name for entry in key_holder.socket_path(around).parent.iterdir()] == ["key"]
    keys.lock()
    assert keys.status().state is KeyState.NEEDS_KEY


def test_a_key_that_was_replaced_meanwhile_is_not_given_for_the_new_one(keys: HomeKeys, around: KeyEnvironment) -> None:
    keys.unlock(PHRASE, 3600)
    assert key_holder.ask_holder(around, UserKey.generate().key_id) is None


def test_a_store_that_is_never_locked_needs_no_holder(tmp_path: Path, around: KeyEnvironment) -> None:
    keys = HomeKeys(tmp_path / "open", around=around)
    keys.ensure(StoreKind.FILE)
    assert keys.unlock() is None
    assert not key_holder.socket_path(around).exists()


def test_a_home_without_an_id_cannot_have_its_key_held(tmp_path: Path) -> None:
    keys = HomeKeys(tmp_path / "keys", around=KeyEnvironment(None, {"LIFEBOAT_PASSPHRASE": PHRASE}))
    keys.ensure()
    with raises_code(KeysError.CANNOT_HOLD):
        keys.unlock()


def test_a_runtime_folder_with_too_long_a_name_is_not_used(around: KeyEnvironment) -> None:
    long = KeyEnvironment("home", {"XDG_RUNTIME_DIR": "/run/" + "x" * 100})
    assert key_holder.socket_path(long) == Path(tempfile.gettempdir()) / f"lifeboat-{os.geteuid()}" / "home" / "key"
    assert key_holder.socket_path(around).parent.name == "lifeboat-home"


def test_the_command_ends_although_the_holder_lives_on(
    isolated_home: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", PHRASE)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))

    def say(*arguments: str) -> bytes:
        command = ["keys", *arguments, "--json"]
        return preloaded.run(command, capture_output=True, timeout=patience(), check=True).stdout

    run("keys", "init", "--words-to", isolated_home / "words", "--no-prove")
    assert b"unlocked" in say("unlock", "--for", "1h")
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", "")
    assert run("keys", "status")["state"] == "ok"
    say("lock")
    assert run("keys", "status")["state"] == "needs_key"
