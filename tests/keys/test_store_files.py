"""Keys in files and from programs: wrapped with a passphrase, named by the environment, printed by a command."""

from __future__ import annotations

import errno
import functools
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nacl.exceptions
import nacl.pwhash
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_keys.errors import (
    KdfOutOfBounds,
    KeyDamaged,
    KeyLocked,
    KeysError,
    NoKey,
    OtherKey,
    UnknownWrapping,
    WrappedChanged,
)
from lifeboat_keys.home.home_keys import HomeKeys, KeyState
from lifeboat_keys.home.key_rotation import RotationReason
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores import command_store, passphrase_wrapping
from lifeboat_keys.stores.key_environment import KeyEnvironment
from lifeboat_keys.stores.key_file_store import KeyFileStore
from lifeboat_keys.stores.key_texts import key_from
from lifeboat_keys.stores.store_kinds import StoreKind
from support.alf.raising import raises_code
from support.failing_files import FailingFiles

PHRASE = "a long walk by the sea"
pytestmark = pytest.mark.usefixtures("lightest_wrapping")
posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has no mode bits")


@pytest.fixture
def home(tmp_path: Path) -> Callable[..., HomeKeys]:
    """Return the keys of one folder, with an environment."""

    def make(key_command: str = "", **environment: str) -> HomeKeys:
        around = KeyEnvironment("home", environment, lambda: key_command)
        return HomeKeys(tmp_path / "keys", around=around)

    return make


def _private(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def _prints(text: str, status: int = 0) -> str:
    program = f"import sys; print({text!r}); print('its errors', file=sys.stderr); sys.exit({status})"
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(program)}"


# A passphrase ----------------------------------------------------------------------------------------------------


def test_a_passphrase_in_the_environment_makes_and_opens_a_wrapped_key_unasked(home: Callable[..., HomeKeys]) -> None:
    keys = home(LIFEBOAT_PASSPHRASE=PHRASE)
    assert keys.ensure()
    assert (keys.store, keys.status().note) == (StoreKind.PASSPHRASE, "key: in a file encrypted with a passphrase")
    assert home(LIFEBOAT_PASSPHRASE=PHRASE).user_key().key_id == keys.public.key_id


def test_nothing_of_a_wrapped_key_lies_open(tmp_path: Path, home: Callable[..., HomeKeys]) -> None:
    keys = home(LIFEBOAT_PASSPHRASE=PHRASE)
    keys.ensure()
    secret = keys.user_key().secret
    files = [file.read_bytes() for file in (tmp_path / "keys").rglob("*") if file.is_file()]
    assert not [data for data in files if secret in data or secret.hex().encode() in data or PHRASE.encode() in data]


def test_a_passphrase_file_opens_it_as_well_and_has_to_be_private(
    tmp_path: Path, home: Callable[..., HomeKeys]
) -> None:
    home(LIFEBOAT_PASSPHRASE=PHRASE).ensure()
    file = _private(tmp_path / "phrase", f"{PHRASE}\n")
    keys = home(LIFEBOAT_PASSPHRASE_FILE=str(file))
    assert keys.status().state is KeyState.OK
    file.write_bytes(b"\xef\xbb\xbf" + PHRASE.encode() + b"\r\n")  # as an editor of Windows writes it
    assert keys.status().state is KeyState.OK
    if os.name == "posix":
        file.chmod(0o644)
        with raises_code(KeysError.UNSAFE) as caught:
            keys.user_key()
        assert caught.value.fix == f"chmod 600 {file}"
        file.chmod(0o600)
    file.write_text("\n")
    with raises_code(KeysError.NO_PASSPHRASE, match="is empty"):
        keys.user_key()
    file.unlink()
    with raises_code(KeysError.NO_PASSPHRASE, match="does not exist"):
        keys.user_key()


def test_without_a_passphrase_the_key_is_locked_and_the_command_named(home: Callable[..., HomeKeys]) -> None:
    home(LIFEBOAT_PASSPHRASE=PHRASE).ensure()
    with pytest.raises(KeyLocked) as caught:
        home().user_key()
    assert caught.value.fix == "lifeboat keys unlock"
    status = home().status()
    assert status.state is KeyState.NEEDS_KEY
    assert "lifeboat keys unlock" in status.note
    assert home().device.public


def test_a_wrong_passphrase_is_an_error_of_its_own(home: Callable[..., HomeKeys]) -> None:
    home(LIFEBOAT_PASSPHRASE=PHRASE).ensure()
    keys = home(LIFEBOAT_PASSPHRASE="another one")
    with raises_code(NoKey.WRONG_PASSPHRASE):
        keys.user_key()
    assert keys.status().state is KeyState.NEEDS_KEY


def test_a_passphrase_in_another_spelling_of_the_same_characters_opens_it() -> None:
    key = UserKey.generate()
    document = passphrase_wrapping.wrap_user_key(key, "caf\u00e9 au lait")
    assert passphrase_wrapping.unwrap_user_key(document, "cafe\u0301 au lait").key_id == key.key_id


def test_a_key_is_not_wrapped_with_nothing_or_with_little(home: Callable[..., HomeKeys]) -> None:
    with raises_code(KeysError.NO_PASSPHRASE):
        home().ensure(StoreKind.PASSPHRASE)
    with raises_code(KeysError.NO_PASSPHRASE, match="8 characters"):
        home(LIFEBOAT_PASSPHRASE="short").ensure()


def test_the_words_wrap_the_key_anew_when_the_passphrase_is_forgotten(home: Callable[..., HomeKeys]) -> None:
    home(LIFEBOAT_PASSPHRASE="what was it again").ensure()
    words = home(LIFEBOAT_PASSPHRASE="what was it again").user_key().words()
    home(LIFEBOAT_PASSPHRASE=PHRASE).install(UserKey.from_words(words))
    assert home(LIFEBOAT_PASSPHRASE=PHRASE).status().state is KeyState.OK


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("operations", 0),
        ("operations", 11),
        ("operations", True),
        ("operations", "3"),
        ("memory", (64 << 20) - 1),
        ("memory", (1 << 30) + 1),
        ("memory", 1 << 60),
        ("memory", None),
    ],
)
def test_absurd_parameters_are_refused_before_anything_is_derived(
    field: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = passphrase_wrapping.wrap_user_key(UserKey.generate(), PHRASE)

    def never(*arguments: object) -> bytes:
        raise AssertionError("it was derived")

    monkeypatch.setattr(passphrase_wrapping, "_derive", never)
    with pytest.raises(KdfOutOfBounds):
        passphrase_wrapping.unwrap_user_key({**document, field: value}, PHRASE)


@pytest.mark.parametrize(
    ("field", "value"),
    [("kdf", "scrypt"), ("kdf", "argon2i"), ("cipher", "aes-256-gcm"), ("version", 2), ("kind", "x")],
)
def test_another_algorithm_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(UnknownWrapping):
        passphrase_wrapping.unwrap_user_key(
            {**passphrase_wrapping.wrap_user_key(UserKey.generate(), PHRASE), field: value}, PHRASE
        )


@pytest.mark.parametrize("field", ["salt", "nonce", "sealed", "key_id", "digest"])
def test_a_changed_file_is_told_from_a_wrong_passphrase(field: str) -> None:
    document = passphrase_wrapping.wrap_user_key(UserKey.generate(), PHRASE)
    other = passphrase_wrapping.wrap_user_key(UserKey.generate(), PHRASE)
    with pytest.raises(WrappedChanged):
        passphrase_wrapping.unwrap_user_key({**document, field: other[field]}, PHRASE)
    with pytest.raises(WrappedChanged):
        passphrase_wrapping.unwrap_user_key({**document, field: "%%"}, PHRASE)


@pytest.mark.parametrize("field", ["salt", "nonce", "sealed", "key_id"])
def test_a_changed_file_with_a_right_digest_still_does_not_open(field: str) -> None:
    document = passphrase_wrapping.wrap_user_key(UserKey.generate(), PHRASE)
    changed = {**document, field: passphrase_wrapping.wrap_user_key(UserKey.generate(), PHRASE)[field]}
    changed["digest"] = passphrase_wrapping._digest(
        {name: value for name, value in changed.items() if name != "digest"}
    )
    with pytest.raises((NoKey, WrappedChanged)) as refused:
        passphrase_wrapping.unwrap_user_key(changed, PHRASE)
    assert refused.value.code in (NoKey.WRONG_PASSPHRASE.code, WrappedChanged.code)


def test_a_passphrase_that_is_no_text_is_told_so(home: Callable[..., HomeKeys]) -> None:
    undecodable = b"a long walk by the \xff sea".decode("utf-8", "surrogateescape")
    with raises_code(KeysError.NO_PASSPHRASE, match="not valid text"):
        home(LIFEBOAT_PASSPHRASE=undecodable).ensure()
    home(LIFEBOAT_PASSPHRASE=PHRASE).ensure()
    with raises_code(KeysError.NO_PASSPHRASE, match="not valid text"):
        home(LIFEBOAT_PASSPHRASE=undecodable).user_key()


@pytest.mark.parametrize("refusal", [nacl.exceptions.RuntimeError("failed"), MemoryError()])
def test_a_lack_of_memory_is_not_called_a_wrong_passphrase(refusal: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    document = passphrase_wrapping.wrap_user_key(UserKey.generate(), PHRASE)

    def derive(*arguments: object) -> bytes:
        raise refusal

    monkeypatch.setattr(nacl.pwhash.argon2id, "kdf", derive)
    with pytest.raises(KeysError, match="64 MiB of free memory") as caught:
        passphrase_wrapping.unwrap_user_key(document, PHRASE)
    assert caught.value.code != NoKey.WRONG_PASSPHRASE.code


# A file that the environment names -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["words", "document"])
def test_a_key_file_holds_words_or_the_document(tmp_path: Path, home: Callable[..., HomeKeys], form: str) -> None:
    key = UserKey.generate()
    text = " ".join(key.words())
    if form == "document":
        HomeKeys(tmp_path / "other").install(key)
        text = (tmp_path / "other" / "user.key").read_text()
    keys = home(LIFEBOAT_KEY_FILE=str(_private(tmp_path / "key", text)))
    keys.ensure()
    assert (keys.user_key().key_id, keys.store) == (key.key_id, StoreKind.KEY_FILE)
    assert keys.status().note == "key: in the file that LIFEBOAT_KEY_FILE names"
    assert not (tmp_path / "keys" / "user.key").exists()


@posix_only
def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path, home: Callable[..., HomeKeys]) -> None:
    file = _private(tmp_path / "key", " ".join(UserKey.generate().words()))
    file.chmod(0o640)
    with raises_code(KeysError.UNSAFE) as caught:
        home(LIFEBOAT_KEY_FILE=str(file)).ensure()
    assert caught.value.fix == f"chmod 600 {file}"


def test_a_mistyped_key_file_is_not_made(tmp_path: Path, home: Callable[..., HomeKeys]) -> None:
    keys = home(LIFEBOAT_KEY_FILE=str(tmp_path / "mistyped"))
    with pytest.raises(NoKey) as caught:
        keys.ensure()
    assert caught.value.fix == "lifeboat keys init --store key_file"
    assert not (tmp_path / "mistyped").exists()
    assert keys.ensure(StoreKind.KEY_FILE)
    assert keys.status().state is KeyState.OK


def test_a_key_file_of_another_key_is_told_by_both_ids(tmp_path: Path, home: Callable[..., HomeKeys]) -> None:
    home().ensure()
    other = UserKey.generate()
    file = _private(tmp_path / "key", " ".join(other.words()))
    keys = home(LIFEBOAT_KEY_FILE=str(file))
    with pytest.raises(OtherKey) as caught:
        keys.user_key()
    assert other.key_id in caught.value.message and keys.public.key_id in caught.value.message
    with raises_code(KeysError.EXISTS):
        keys.keep(UserKey.generate())
    assert file.read_text() == " ".join(other.words())


def test_two_homes_that_make_one_key_file_at_once_leave_one_key_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = KeyFileStore(tmp_path / "key", SystemFiles())
    first, second = UserKey.generate(), UserKey.generate()
    store.keep(first)
    monkeypatch.setattr(KeyFileStore, "find", lambda self: None)  # the second one looked before the first one wrote
    with raises_code(KeysError.EXISTS):
        store.keep(second)
    monkeypatch.undo()
    assert store.read(first.key_id).key_id == first.key_id


def test_a_key_file_that_could_not_be_written_whole_is_not_left(tmp_path: Path) -> None:
    files = FailingFiles(errno.EIO, lambda name, path: name == "sync_folder")
    with pytest.raises(KeysError, match="could not be written"):
        KeyFileStore(tmp_path / "key", files).keep(UserKey.generate())
    assert not (tmp_path / "key").exists()


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, '{"a":' + "[" * 100_000, "abandon " * 24, "{", '{"secret": 5}', "\udcff"]
)
def test_a_key_file_without_a_key_says_so_and_repeats_nothing(
    tmp_path: Path, home: Callable[..., HomeKeys], text: str
) -> None:
    file = tmp_path / "key"
    file.write_bytes(text.encode(errors="surrogateescape"))
    file.chmod(0o600)
    with pytest.raises(KeysError) as caught:
        home(LIFEBOAT_KEY_FILE=str(file)).ensure()
    assert "abandon" not in caught.value.message


# A command -------------------------------------------------------------------------------------------------------


def test_a_command_prints_the_key(tmp_path: Path, home: Callable[..., HomeKeys]) -> None:
    key = UserKey.generate()
    keys = home(_prints(" ".join(key.words())))
    keys.ensure()
    assert (keys.user_key().key_id, keys.store) == (key.key_id, StoreKind.COMMAND)
    assert keys.status().note == "key: from the program in the setting key_command"
    assert not (tmp_path / "keys" / "user.key").exists()


def test_a_command_that_fails_is_told_without_a_word_of_what_it_printed(home: Callable[..., HomeKeys]) -> None:
    words = " ".join(UserKey.generate().words())
    with raises_code(NoKey.COMMAND_FAILED) as caught:
        home(_prints(words, status=3)).ensure()
    said = f"{caught.value.message} {caught.value!r}"
    assert "status 3" in said and "11 bytes" in said
    assert "its errors" not in said and not set(words.split()) & set(said.split())


def test_a_command_that_prints_no_key_is_told_without_it(home: Callable[..., HomeKeys]) -> None:
    with raises_code(NoKey.COMMAND_FAILED, match="did not print a key") as caught:
        home(_prints("correct horse battery staple")).ensure()
    assert "horse" not in caught.value.message


def test_a_command_that_is_not_there_or_does_not_end_is_told(
    home: Callable[..., HomeKeys], monkeypatch: pytest.MonkeyPatch
) -> None:
    with raises_code(NoKey.COMMAND_FAILED, match="could not be started"):
        home("/does/not/exist").ensure()
    monkeypatch.setattr(command_store, "SECONDS", 0.5)
    with raises_code(NoKey.COMMAND_FAILED, match="did not end"):
        home(f"{sys.executable} -c 'import time; time.sleep(600)'").ensure()


@pytest.mark.parametrize(
    ("setting", "said"), [("pass show 'lifeboat", "split into words"), ("   ", "empty"), ("''", "could not be started")]
)
def test_a_command_that_is_none_is_told(setting: str, said: str, home: Callable[..., HomeKeys], tmp_path: Path) -> None:
    home(_prints(" ".join(UserKey.generate().words()))).ensure()
    with raises_code(NoKey.COMMAND_FAILED, match=said):
        home(setting).user_key()


def test_a_command_that_prints_without_end_is_stopped(home: Callable[..., HomeKeys]) -> None:
    for stream in ("stdout", "stderr"):
        program = f"import sys\nwhile True: sys.{stream}.write('x' * 65536)"
        with raises_code(NoKey.COMMAND_FAILED, match="printed more than"):
            home(f"{shlex.quote(sys.executable)} -c {shlex.quote(program)}").ensure()


@posix_only
def test_what_a_command_leaves_running_is_not_waited_for(home: Callable[..., HomeKeys], tmp_path: Path) -> None:
    key, file = UserKey.generate(), tmp_path / "pids"
    program = f"""
import subprocess
helper = subprocess.Popen(["sleep", "600"])
with open({str(file)!r}, "a") as stream:
    stream.write(f"{{helper.pid}} ")
print({" ".join(key.words())!r})
"""
    keys = home(f"{shlex.quote(sys.executable)} -c {shlex.quote(program)}")
    try:
        keys.ensure()
        assert keys.user_key().key_id == key.key_id
    finally:
        for number in file.read_text().split():
            os.kill(int(number), signal.SIGKILL)


def test_no_shell_sees_the_command(tmp_path: Path, home: Callable[..., HomeKeys]) -> None:
    with raises_code(NoKey.COMMAND_FAILED):
        home(f"true; touch {tmp_path / 'touched'}").ensure()
    assert not (tmp_path / "touched").exists()


def test_the_command_is_not_given_the_passphrase(home: Callable[..., HomeKeys]) -> None:
    key = UserKey.generate()
    program = f"import os; assert 'LIFEBOAT_PASSPHRASE' not in os.environ; print({' '.join(key.words())!r})"
    around = {"LIFEBOAT_PASSPHRASE": PHRASE, "PATH": os.environ["PATH"]}
    keys = home(f"{sys.executable} -c {shlex.quote(program)}", **around)
    keys.ensure()
    assert keys.store is StoreKind.COMMAND


def test_a_store_that_only_the_user_fills_takes_no_further_key(home: Callable[..., HomeKeys]) -> None:
    keys = home(_prints(" ".join(UserKey.generate().words())))
    keys.ensure()
    with raises_code(KeysError.STORE_READ_ONLY):
        keys.keep(UserKey.generate())


def test_a_command_that_is_no_longer_set_needs_the_key(home: Callable[..., HomeKeys]) -> None:
    home(_prints(" ".join(UserKey.generate().words()))).ensure()
    assert home().status().state is KeyState.NEEDS_KEY


# From one store to another ---------------------------------------------------------------------------------------


def test_a_key_moves_and_the_unprotected_file_goes(tmp_path: Path, home: Callable[..., HomeKeys]) -> None:
    home().ensure()
    keys = home(LIFEBOAT_PASSPHRASE=PHRASE)
    key_id = keys.user_key().key_id
    assert keys.move(StoreKind.PASSPHRASE) == ["user.key"]
    assert not (tmp_path / "keys" / "user.key").exists()
    assert (keys.user_key().key_id, keys.store) == (key_id, StoreKind.PASSPHRASE)
    assert not keys.left_open()


def test_a_move_that_was_interrupted_is_seen_and_finished(tmp_path: Path, home: Callable[..., HomeKeys]) -> None:
    home().ensure()
    file = tmp_path / "keys" / "user.key"
    data = file.read_bytes()
    keys = home(LIFEBOAT_PASSPHRASE=PHRASE)
    keys.move(StoreKind.PASSPHRASE)
    _private(file, data.decode())
    assert keys.left_open() == ["user.key"]
    assert keys.move(StoreKind.PASSPHRASE) == ["user.key"]
    assert not file.exists()


def test_a_key_that_cannot_move_stays_where_it_was(tmp_path: Path, home: Callable[..., HomeKeys]) -> None:
    keys = home()
    keys.ensure()
    for store, error in ((StoreKind.PASSPHRASE, KeysError.NO_PASSPHRASE), (StoreKind.COMMAND, NoKey.COMMAND_FAILED)):
        with raises_code(error):
            keys.move(store)
        assert (keys.store, keys.status().state) == (StoreKind.FILE, KeyState.OK)
    assert (tmp_path / "keys" / "user.key").exists()


def test_further_keys_move_with_the_first(home: Callable[..., HomeKeys], tmp_path: Path) -> None:
    keys = home(LIFEBOAT_PASSPHRASE=PHRASE)
    keys.ensure(StoreKind.FILE)
    further = UserKey.generate()
    keys.keep(further)
    assert (tmp_path / "keys" / "users" / f"{further.key_id}.json").exists()
    assert len(keys.move(StoreKind.PASSPHRASE)) == 2
    assert (tmp_path / "keys" / "wrapped" / f"{further.key_id}.json").exists()
    assert not list((tmp_path / "keys" / "users").iterdir())


def test_a_status_runs_no_program_of_the_user_unless_it_has_to_be_thorough(
    tmp_path: Path, home: Callable[..., HomeKeys]
) -> None:
    words = " ".join(UserKey.generate().words())
    ran = tmp_path / "ran"
    command = f"sh -c 'echo once >> {ran}; echo {words}'"
    home(command).ensure(StoreKind.COMMAND)
    ran.unlink()
    assert home(command).status().state is KeyState.OK and not ran.exists()
    assert home(command).status(thorough=True).state is KeyState.OK and ran.exists()


def test_a_replaced_key_goes_with_the_file_because_the_new_one_opens_it(
    tmp_path: Path, home: Callable[..., HomeKeys]
) -> None:
    keys = home()
    keys.ensure()
    old, new = keys.user_key(), UserKey.generate()
    keys.rotate(old, new, RotationReason())
    moved = home(_prints(" ".join(new.words())))
    assert sorted(moved.move(StoreKind.COMMAND)) == ["user.key", f"users/{new.key_id}.json"]
    assert (moved.store, moved.status().state) == (StoreKind.COMMAND, KeyState.OK)
    assert [one.open(moved.user_key()).key_id for one in moved.former] == [old.key_id]


def test_a_home_from_before_there_were_stores_has_its_key_in_the_file(
    tmp_path: Path, home: Callable[..., HomeKeys]
) -> None:
    HomeKeys(tmp_path / "keys").ensure()
    (tmp_path / "keys" / "store.json").unlink()
    keys = home(LIFEBOAT_PASSPHRASE=PHRASE)
    assert not keys.ensure()
    assert (keys.store, keys.status().state) == (StoreKind.FILE, KeyState.OK)


@pytest.mark.parametrize("content", ["{}", '{"store": "cloud"}', '{"store": 5}', "["])
def test_a_damaged_record_of_the_store_is_named_and_nothing_raises_in_status(
    tmp_path: Path, home: Callable[..., HomeKeys], content: str
) -> None:
    keys = home()
    keys.ensure()
    (tmp_path / "keys" / "store.json").write_text(content)
    with pytest.raises(KeyDamaged, match=r"store\.json"):
        keys.user_key()
    assert keys.status().state is KeyState.ERROR
    assert keys.device.public


def test_a_damaged_file_stays_and_the_words_bring_the_key_back_beside_it(
    tmp_path: Path, home: Callable[..., HomeKeys]
) -> None:
    keys = home()
    keys.ensure()
    words = keys.user_key().words()
    (tmp_path / "keys" / "user.key").write_text("half a fi")
    with pytest.raises(KeyDamaged):
        keys.user_key()
    keys.install(UserKey.from_words(words))
    assert keys.user_key().words() == words
    assert (tmp_path / "keys" / "user.key").read_text() == "half a fi"


def test_a_home_that_lost_all_that_says_whose_it_is_gets_no_second_key(
    tmp_path: Path, home: Callable[..., HomeKeys]
) -> None:
    keys = home(LIFEBOAT_PASSPHRASE=PHRASE)
    keys.ensure()
    keys.agent_public("01900000-0000-7000-8000-00000000000a")
    words = keys.user_key().words()
    for name in ("user.json", "device.key"):
        (tmp_path / "keys" / name).unlink()
    with pytest.raises(NoKey, match="contain the key id of this home") as caught:
        keys.ensure()
    assert caught.value.fix == "lifeboat keys recover"
    keys.install(UserKey.from_words(words))
    assert keys.status().state is KeyState.OK


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_a_text_that_is_no_key_is_an_error_of_the_keys(text: bytes) -> None:
    with pytest.raises(KeysError):
        key_from(text, "the text")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_FIELDS = [
    "kind",
    "version",
    "key_id",
    "kdf",
    "operations",
    "memory",
    "salt",
    "cipher",
    "nonce",
    "sealed",
    "digest",
]


@functools.cache
def _wrapped() -> dict[str, Any]:
    """Return a wrapped key for tests that only read it."""
    return passphrase_wrapping.wrap_user_key(UserKey.generate(), PHRASE)


@given(st.sampled_from([*_FIELDS, "another"]), _JSON)
@example("key_id", float("inf"))
@example("another", 1 << 80)
def test_a_wrapped_key_with_any_field_changed_is_an_error_of_the_keys(field: str, value: Any) -> None:
    document = _wrapped()
    assert set(document) == set(_FIELDS)
    assume(value != document.get(field))
    with pytest.raises(KeysError):
        passphrase_wrapping.unwrap_user_key({**document, field: value}, PHRASE)


def test_the_time_of_a_proof_is_kept_for_this_key_only(tmp_path: Path, home: Callable[..., HomeKeys]) -> None:
    keys = home()
    keys.ensure()
    assert keys.status().proven_at is None
    keys.note_proven("2026-11-20T12:00:00.000Z")
    assert home().status().proven_at == "2026-11-20T12:00:00.000Z"
    file = tmp_path / "keys" / "proven.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "key_id": "0" * 32}))
    assert keys.status().proven_at is None
