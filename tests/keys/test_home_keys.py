"""The keys of one home are made once, never overwritten, refused when open to others, and not needed for captures."""

from __future__ import annotations

import contextlib
import copy
import errno
import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import nacl.public
import pytest

from lifeboat_alf.errors import SignatureError
from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_keys.errors import KeyDamaged, KeysError, NoAgentKey, NoKey, OtherKey, UnknownSealing, UnsealError
from lifeboat_keys.home.home_keys import HomeKeys, KeyState
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import credential_sealing
from support.alf.raising import raises_code
from support.failing_files import READS, FailingFiles

AGENT = "01900000-0000-7000-8000-00000000000a"
OTHER_AGENT = "01900000-0000-7000-8000-00000000000b"
posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has no mode bits")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "keys"


@pytest.fixture
def keys(folder: Path) -> HomeKeys:
    made = HomeKeys(folder)
    assert made.ensure()
    return made


def _seal(keys: HomeKeys, payload: bytes = b"value", agent_id: str = AGENT) -> dict[str, Any]:
    record = {"id": "c", "agent_id": agent_id, "service": "openai", "credential_type": "api_key"}
    sealed = credential_sealing.seal_credential(
        payload,
        agent_public=keys.agent_public(agent_id),
        agent_id=agent_id,
        credential_id="c",
        service="openai",
        credential_type="api_key",
        key_id=keys.public.key_id,
    )
    return {**record, **sealed}


def test_making_the_keys_twice_changes_nothing(folder: Path, keys: HomeKeys) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert not keys.ensure()
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@posix_only
def test_every_key_file_is_private_and_so_are_the_folders(folder: Path, keys: HomeKeys) -> None:
    keys.agent_public(AGENT)
    modes = {path.relative_to(folder).as_posix(): path.stat().st_mode & 0o777 for path in folder.rglob("*")}
    assert modes == {
        ".lock": 0o600,
        "user.key": 0o600,
        "store.json": 0o600,
        "user.json": 0o600,
        "device.key": 0o600,
        "fingerprint.key": 0o600,
        "devices.json": 0o600,
        "agents": 0o700,
        f"agents/{AGENT}.json": 0o600,
    }
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_home_without_keys_says_so_and_names_the_command(folder: Path) -> None:
    keys = HomeKeys(folder)
    assert keys.status().state is KeyState.NEEDS_KEY
    for ask in (lambda: keys.public, lambda: keys.device, keys.user_key, lambda: keys.fingerprint(b"x")):
        with pytest.raises(NoKey) as caught:
            ask()
        assert caught.value.fix == "lifeboat keys init"
    assert not folder.exists()


def test_the_status_names_the_key_and_that_its_file_is_unprotected(keys: HomeKeys) -> None:
    status = keys.status()
    assert (status.state, status.key_id, status.store) == (KeyState.OK, keys.user_key().key_id, "file")
    assert status.note == "key: in a file without encryption"


def test_capture_needs_no_secret_of_the_user(folder: Path, keys: HomeKeys) -> None:
    (folder / "user.key").unlink()
    record = _seal(keys)
    assert keys.device.public
    assert keys.fingerprint(b"value")
    assert keys.status().state is KeyState.NEEDS_KEY
    assert keys.status().key_id == keys.public.key_id
    with pytest.raises(NoKey) as caught:
        keys.open(record)
    assert caught.value.fix == "lifeboat keys recover"


def test_a_lost_key_is_not_replaced_by_a_new_one(folder: Path, keys: HomeKeys) -> None:
    key_id = keys.public.key_id
    (folder / "user.key").unlink()
    assert not keys.ensure()
    assert not (folder / "user.key").exists()
    assert keys.public.key_id == key_id


def test_the_words_bring_a_lost_key_back(folder: Path, keys: HomeKeys) -> None:
    words = keys.user_key().words()
    record = _seal(keys, b"payload")
    (folder / "user.key").unlink()
    keys.install(UserKey.from_words(words))
    assert keys.open(record) == b"payload"
    assert keys.status().state is KeyState.OK


def test_another_key_never_takes_the_place_of_the_one_that_is_there(keys: HomeKeys) -> None:
    key_id = keys.public.key_id
    with raises_code(KeysError.EXISTS, match=key_id):
        keys.install(UserKey.generate())
    assert keys.user_key().key_id == key_id


def test_a_home_takes_a_key_from_words_when_it_has_none(folder: Path) -> None:
    key = UserKey.generate()
    keys = HomeKeys(folder)
    keys.install(key)
    assert keys.user_key().key_id == key.key_id
    assert keys.device.user == key.public
    assert not keys.ensure()


@posix_only
@pytest.mark.parametrize("name", ["user.key", "device.key", "fingerprint.key"])
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_file_that_others_can_read_is_refused_with_the_fix(
    folder: Path, keys: HomeKeys, name: str, mode: int
) -> None:
    (folder / name).chmod(mode)
    with raises_code(KeysError.UNSAFE) as caught:
        _ask_for(keys, name)
    assert caught.value.fix == f"chmod 600 {folder / name}"
    assert caught.value.exit_status == 3


def _ask_for(keys: HomeKeys, name: str) -> object:
    return {
        "user.key": keys.user_key,
        "device.key": lambda: keys.device,
        "fingerprint.key": lambda: keys.fingerprint(b"x"),
    }[name]()


@posix_only
def test_a_folder_that_others_can_enter_is_refused_with_the_fix(folder: Path, keys: HomeKeys) -> None:
    folder.chmod(0o755)
    with raises_code(KeysError.UNSAFE) as caught:
        keys.user_key()
    assert caught.value.fix == f"chmod 700 {folder}"
    assert keys.status().state is KeyState.ERROR


@posix_only
def test_a_key_file_that_is_a_link_or_a_pipe_is_refused(folder: Path, keys: HomeKeys) -> None:
    elsewhere = folder / "elsewhere"
    (folder / "user.key").rename(elsewhere)
    (folder / "user.key").symlink_to(elsewhere)
    with raises_code(KeysError.UNSAFE):
        keys.user_key()
    (folder / "user.key").unlink()
    os.mkfifo(folder / "user.key", 0o600)
    with raises_code(KeysError.UNSAFE):
        keys.user_key()


@posix_only
def test_a_key_folder_that_leads_elsewhere_is_refused(tmp_path: Path, keys: HomeKeys, folder: Path) -> None:
    (tmp_path / "linked").symlink_to(folder)
    with raises_code(KeysError.UNSAFE, match="must be a directory, not a file or a link"):
        HomeKeys(tmp_path / "linked").user_key()


@pytest.mark.parametrize("name", ["user.key", "user.json", "device.key", "fingerprint.key"])
@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"secret": "AAAA"}', b'{"secret": 5, "user": 5}'])
def test_a_damaged_key_file_is_named(folder: Path, keys: HomeKeys, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(KeyDamaged, match=name.replace(".", r"\.")):
        keys.public if name == "user.json" else _ask_for(keys, name)


def test_a_key_file_that_holds_another_key_than_it_names_is_refused(folder: Path, keys: HomeKeys) -> None:
    document = json.loads((folder / "user.key").read_bytes())
    document["key_id"] = "0" * 32
    (folder / "user.key").write_text(json.dumps(document))
    with pytest.raises(KeyDamaged, match="states the id of one key, but contains another key"):
        keys.user_key()


def test_a_user_key_that_is_not_the_one_of_this_home_is_refused(tmp_path: Path, folder: Path, keys: HomeKeys) -> None:
    HomeKeys(tmp_path / "other").ensure()
    (tmp_path / "other" / "user.key").replace(folder / "user.key")
    with pytest.raises(OtherKey):
        keys.user_key()


def test_a_device_key_that_the_user_did_not_certify_is_refused(tmp_path: Path, folder: Path, keys: HomeKeys) -> None:
    HomeKeys(tmp_path / "other").ensure()
    (tmp_path / "other" / "device.key").replace(folder / "device.key")
    with pytest.raises(KeyDamaged, match="not certified by your key"):
        keys.device  # noqa: B018


def test_what_is_missing_is_made_again_and_the_rest_stays(folder: Path, keys: HomeKeys) -> None:
    device, key_id = keys.device.public, keys.public.key_id
    for name in ("user.json", "fingerprint.key"):
        (folder / name).unlink()
    assert not keys.ensure()
    assert (keys.device.public, keys.public.key_id) == (device, key_id)
    (folder / "device.key").unlink()
    assert keys.ensure(), "whether the words were ever shown is not known"
    assert keys.device.public != device


def test_a_home_that_lost_both_files_of_its_key_gets_no_other_one(folder: Path, keys: HomeKeys) -> None:
    key = keys.user_key()
    (folder / "user.key").unlink()
    (folder / "user.json").unlink()
    assert not keys.ensure()
    assert not (folder / "user.key").exists()
    assert keys.public == key.public
    with raises_code(KeysError.EXISTS):
        keys.install(UserKey.generate())
    keys.install(key)
    assert keys.status().state is KeyState.OK


def test_an_agent_keeps_its_pair_and_no_two_share_one(keys: HomeKeys) -> None:
    assert keys.agent_public(AGENT) == keys.agent_public(AGENT)
    assert keys.agent_public(AGENT) != keys.agent_public(OTHER_AGENT)
    secret = keys.agent_secret(AGENT)
    assert bytes(nacl.public.PrivateKey(secret).public_key) == keys.agent_public(AGENT)


def test_the_secret_half_of_a_pair_stands_nowhere_in_clear(folder: Path, keys: HomeKeys) -> None:
    keys.agent_public(AGENT)
    secret = keys.agent_secret(AGENT)
    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert secret not in written
    assert secret.hex().encode() not in written
    assert json.dumps(list(secret)).encode() not in written


def test_an_agent_without_a_pair_has_no_secret_to_give(keys: HomeKeys) -> None:
    with pytest.raises(NoAgentKey):
        keys.agent_secret(AGENT)
    with pytest.raises(NoAgentKey):
        keys.export_agent(AGENT)


@pytest.mark.parametrize("agent_id", ["", "../user", "a/b", ".lock", "a\0b", "x" * 65])
def test_an_id_that_is_no_file_name_is_refused(keys: HomeKeys, agent_id: str) -> None:
    with pytest.raises(KeyDamaged, match="not a valid agent id"):
        keys.agent_public(agent_id)
    with pytest.raises(KeyDamaged, match="not a valid agent id"):
        keys.import_agent({"agent_id": agent_id})


def test_credentials_open_on_another_machine_with_the_words_alone(tmp_path: Path, keys: HomeKeys) -> None:
    record = _seal(keys, b"payload")
    travelling = json.loads(json.dumps(keys.export_agent(AGENT)))
    other = HomeKeys(tmp_path / "other")
    other.install(UserKey.from_words(keys.user_key().words()))
    with pytest.raises(NoAgentKey):
        other.open(record)
    other.import_agent(travelling)
    assert other.open(record) == b"payload"
    assert other.agent_public(AGENT) == keys.agent_public(AGENT)
    assert other.export_agent(AGENT)["pairs"] == travelling["pairs"]


def test_pairs_of_two_machines_live_side_by_side(tmp_path: Path, keys: HomeKeys) -> None:
    other = HomeKeys(tmp_path / "other")
    other.install(keys.user_key())
    here, there = _seal(keys, b"here"), _seal(other, b"there")
    own = other.agent_public(AGENT)
    other.import_agent(keys.export_agent(AGENT))
    other.import_agent(keys.export_agent(AGENT))
    assert other.agent_public(AGENT) == own
    assert (other.open(here), other.open(there)) == (b"here", b"there")
    assert len(other.export_agent(AGENT)["pairs"]) == 2


def test_keys_of_another_user_are_refused_and_nothing_is_written(tmp_path: Path, folder: Path, keys: HomeKeys) -> None:
    other = HomeKeys(tmp_path / "other")
    other.ensure()
    other.agent_public(AGENT)
    with pytest.raises(OtherKey, match=other.public.key_id):
        keys.import_agent(other.export_agent(AGENT))
    assert not (folder / "agents").exists()


def test_a_pair_that_no_device_of_the_user_made_is_refused(tmp_path: Path, folder: Path, keys: HomeKeys) -> None:
    stranger = HomeKeys(tmp_path / "other")
    stranger.ensure()
    stranger.agent_public(AGENT)
    theirs = stranger.export_agent(AGENT)
    with pytest.raises(SignatureError):
        keys.import_agent({**theirs, "user": keys.public.to_json()})
    assert not (folder / "agents").exists()


@pytest.mark.parametrize("field", ["public", "wrapped", "created_at", "agent_id"])
def test_a_changed_pair_is_refused(keys: HomeKeys, field: str) -> None:
    keys.agent_public(AGENT)
    keys.agent_public(OTHER_AGENT)
    document = copy.deepcopy(keys.export_agent(AGENT))
    document["pairs"][0][field] = keys.export_agent(OTHER_AGENT)["pairs"][0][field] + (
        "" if field != "created_at" else "0"
    )
    with pytest.raises((SignatureError, KeyDamaged)):
        keys.import_agent(document)


@pytest.mark.parametrize("pairs", [None, [], [5], [{}], "x"])
def test_keys_of_the_wrong_shape_are_refused(keys: HomeKeys, pairs: object) -> None:
    with pytest.raises(KeyDamaged):
        keys.import_agent({"agent_id": AGENT, "user": keys.public.to_json(), "pairs": pairs})


def test_a_credential_of_an_unknown_form_is_named_as_such(keys: HomeKeys) -> None:
    keys.agent_public(AGENT)
    with pytest.raises(UnknownSealing):
        keys.open({"id": "c", "agent_id": AGENT, "encryption": {"algorithm": "aes-256-gcm"}, "encrypted_payload": ""})


def test_a_credential_of_another_users_agent_is_named_as_such(tmp_path: Path, keys: HomeKeys) -> None:
    record = _seal(keys)
    stranger = HomeKeys(tmp_path / "stranger")
    stranger.ensure()
    with raises_code(UnsealError.WRONG_USER_KEY, match=f"{keys.public.key_id}.*{stranger.public.key_id}"):
        stranger.open(record)


def test_a_credential_moved_to_another_agent_does_not_open(keys: HomeKeys) -> None:
    record = _seal(keys)
    keys.agent_public(OTHER_AGENT)
    with raises_code(UnsealError.SWAPPED_AGENT, match=AGENT):
        keys.open({**record, "agent_id": OTHER_AGENT})
    with raises_code(UnsealError.WRONG_BINDING):
        keys.open({**record, "service": "github"})


def test_a_fingerprint_is_equal_for_equal_values_and_only_here(tmp_path: Path, keys: HomeKeys) -> None:
    other = HomeKeys(tmp_path / "other")
    other.ensure()
    assert keys.fingerprint(b"1234") == keys.fingerprint(b"1234")
    assert keys.fingerprint(b"1234") != keys.fingerprint(b"1235")
    assert keys.fingerprint(b"1234") != other.fingerprint(b"1234")


class _NoSpace(SystemFiles):
    """A disk that is full for one file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.fired = False

    def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
        if self.name in os.fspath(path):
            self.fired = True
            super().write_new(path, data[: len(data) // 2], mode=mode, sync=sync)
            raise OSError(28, "No space left on device")
        super().write_new(path, data, mode=mode, sync=sync)


@pytest.mark.parametrize("name", ["user.key", "user.json", "device.key", "fingerprint.key"])
def test_a_full_disk_leaves_no_half_key_and_the_next_try_completes(folder: Path, name: str) -> None:
    full = _NoSpace(name)
    with pytest.raises(KeysError, match="No space left"):
        HomeKeys(folder, files=full).ensure()
    assert full.fired
    assert not (folder / name).exists()
    assert HomeKeys(folder).ensure(), "the words were not shown yet"
    assert HomeKeys(folder).status().state is KeyState.OK
    assert [path.name for path in folder.iterdir() if path.suffix == ".tmp"] == []


class _Garbles(SystemFiles):
    """A disk that reports success but stores something else."""

    def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
        super().write_new(path, data.replace(b'"version": 1', b'"version": 7'), mode=mode, sync=sync)


def test_a_key_that_does_not_read_back_is_not_used(folder: Path) -> None:
    with pytest.raises(KeyDamaged, match="when read again"):
        HomeKeys(folder, files=_Garbles()).ensure()
    assert not (folder / "user.json").exists()


def _ensure_and_name(folder: str) -> tuple[bool, str, str]:
    keys = HomeKeys(Path(folder))
    made = keys.ensure()
    return made, keys.public.key_id, keys.agent_public(AGENT).hex()


def test_processes_that_start_together_agree_on_one_key(folder: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        answers = pool.map(_ensure_and_name, [str(folder)] * 6)
    assert sorted(made for made, _, _ in answers) == [False] * 5 + [True]
    assert len({answer[1:] for answer in answers}) == 1


def test_what_a_write_left_that_was_cut_off_is_gone_after_the_next_one(folder: Path, keys: HomeKeys) -> None:
    keys.agent_public(AGENT)
    left = [folder / ".user.key.0123456789ab.tmp", folder / "agents" / ".x.json.0123456789ab.tmp"]
    for file in left:
        file.write_text("may hold a key")
    keys.note_proven("2026-11-12T12:00:00.000Z")
    assert not any(file.exists() for file in left)
    assert keys.agent_public(AGENT) and keys.user_key()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"proven_at": 5}', b'{"proven_at": "x"}', b'{"proven_at": [null]}'])
def test_a_note_of_proven_words_that_is_none_is_no_proof(folder: Path, keys: HomeKeys, content: bytes) -> None:
    keys.note_proven("2026-11-12T12:00:00.000Z")
    assert keys.status().proven_at == "2026-11-12T12:00:00.000Z"
    note = folder / "proven.json"
    changed = {**json.loads(note.read_bytes()), **json.loads(content)} if content.startswith(b"{") else None
    note.write_bytes(content if changed is None else json.dumps(changed).encode())
    assert (keys.proven_at, keys.status().proven_at, keys.status().state) == (None, None, KeyState.OK)


@pytest.mark.parametrize("operation", sorted(READS))
def test_what_the_system_does_not_give_is_an_error_of_the_keys_and_a_line_of_status(
    folder: Path, keys: HomeKeys, operation: str
) -> None:
    keys.agent_public(AGENT)
    refused = HomeKeys(folder, FailingFiles(errno.EIO, lambda name, path: name == operation))
    for use in (lambda: refused.user_key(), lambda: refused.ensure(), lambda: refused.agent_secret(AGENT)):
        with contextlib.suppress(KeysError):
            use()
    assert refused.status().state in KeyState


def test_a_lock_that_is_none_is_named(folder: Path, keys: HomeKeys) -> None:
    (folder / ".lock").unlink(missing_ok=True)
    (folder / ".lock").mkdir()
    with pytest.raises(KeysError, match=r"\.lock cannot be used"):
        keys.note_proven("2026-11-12T12:00:00.000Z")


@pytest.mark.parametrize("name", ["user.json", "device.key", "fingerprint.key", "devices.json", "store.json"])
def test_a_damaged_document_names_what_makes_it_anew_and_that_does(folder: Path, keys: HomeKeys, name: str) -> None:
    record, key = _seal(keys), keys.user_key()
    (folder / name).write_bytes(b"\0" * 100)
    with pytest.raises(KeyDamaged) as caught:
        keys.ensure()
        keys.fingerprint(b"value")
        keys.user_key()
    assert caught.value.fix == f"mv {folder / name} {folder / name}.damaged, then: lifeboat keys recover"
    (folder / name).rename(folder / f"{name}.damaged")
    keys.install(key)
    assert keys.status().state is KeyState.OK
    assert keys.open(record) == b"value" and keys.open(_seal(keys)) == b"value" and keys.fingerprint(b"value")


def test_what_the_words_cannot_make_anew_has_to_come_from_a_copy(folder: Path, keys: HomeKeys) -> None:
    keys.agent_public(AGENT)
    (folder / "agents" / f"{AGENT}.json").write_bytes(b"")
    with pytest.raises(KeyDamaged) as caught:
        keys.agent_secret(AGENT)
    assert caught.value.fix.startswith(f"restore {AGENT}.json from a backup")
