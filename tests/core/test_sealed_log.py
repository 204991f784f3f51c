"""A sealed log: what is pushed comes back, nothing shows, and nothing that was changed passes."""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace
from pathlib import Path

import pytest

from lifeboat_alf.deltas.delta_reader import DeltaReader
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_alf.validation.validate_file import validate_archive
from lifeboat_core.home.context import Context
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.sealed import log_contents, log_states
from lifeboat_core.remotes.sealed import log_head as document
from lifeboat_core.remotes.sealed.folder_kind import REMOTE_KIND
from lifeboat_keys.errors import KeyLocked, NoKey
from lifeboat_keys.home.home_keys import HomeKeys
from lifeboat_keys.home.key_rotation import RotationReason
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.errors import EpochBehind, EpochMoved, RemoteDamaged, RemoteRefused, StaleBase, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import RemoteVerification
from support.core.sealed_logs import MACHINE, NAME, RUNTIME, Machine, content_there
from support.vault.vaults import file_key


@pytest.fixture
def laptop(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "laptop", tmp_path / "stick")


def test_every_pushed_state_comes_back(laptop: Machine) -> None:
    numbers = laptop.write(5)
    log = laptop.log()
    assert [each.number for each in log.sequences(AGENT_ID)] == numbers
    for number in numbers:
        assert content_there(log, number) == laptop.content(number)


def test_the_agent_has_its_names_and_its_head(laptop: Machine) -> None:
    laptop.write(2)
    found = laptop.log().agent(AGENT_ID)
    assert (found.name, found.runtime) == (NAME, RUNTIME)
    assert found.head is not None
    assert (found.head.number, found.head.machine) == (1, MACHINE)
    assert found.head.writer == laptop.context.keys().device.id


def test_deltas_come_back_as_they_were_pushed(laptop: Machine) -> None:
    laptop.write(4)
    sent = laptop.bundle(2, 1).file.read()
    found = list(laptop.log().deltas(AGENT_ID, 1))
    assert [(each.base, each.number) for each in found] == [(1, 2), (2, 3)]
    assert found[0].file.read() == sent


def test_a_state_behind_many_deltas_comes_back(laptop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_states, "DEPTH", 2)
    newest = laptop.write(6)[-1]
    assert content_there(laptop.log(), newest) == laptop.content(newest)


def test_the_state_that_is_the_head_already_changes_nothing(laptop: Machine) -> None:
    laptop.write(2)
    log, before = laptop.log(), _tree(laptop.stick)
    assert log.push(AGENT_ID, laptop.bundle(1, 0)).number == 1
    assert _tree(laptop.stick) == before


def test_a_stale_base_is_refused_with_the_head_and_leaves_no_file(laptop: Machine) -> None:
    laptop.write(2)
    laptop.put(b"later")
    before = _tree(laptop.stick)
    with pytest.raises(StaleBase) as caught:
        laptop.log().push(AGENT_ID, laptop.bundle(2, 0))
    assert caught.value.sequence == 1
    assert _tree(laptop.stick) == before


def test_whoever_writes_in_an_older_epoch_is_refused(laptop: Machine) -> None:
    laptop.write(1)
    log = laptop.log()
    assert log.raise_epoch(AGENT_ID, 1) == 2
    laptop.put(b"later")
    with pytest.raises(EpochBehind) as caught:
        laptop.push(log)
    assert caught.value.epoch == 2


def test_an_epoch_is_raised_once(laptop: Machine) -> None:
    laptop.write(1)
    laptop.log().raise_epoch(AGENT_ID, 1)
    with pytest.raises(EpochMoved):
        laptop.log().raise_epoch(AGENT_ID, 1)


def test_a_bundle_that_is_not_what_it_says_is_refused(laptop: Machine) -> None:
    laptop.write(1)
    laptop.put(b"later")
    bundle = laptop.bundle(1, 0)
    bundle.number = 2
    with pytest.raises(RemoteRefused):
        laptop.log().push(AGENT_ID, bundle)


def test_an_agent_of_another_user_in_the_same_folder_is_not_listed(laptop: Machine, tmp_path: Path) -> None:
    laptop.write(1)
    stranger = Machine(tmp_path / "stranger", laptop.stick)
    assert stranger.log().agents() == []
    with pytest.raises(RemoteDamaged):
        stranger.log().agent(AGENT_ID)


# Keys -------------------------------------------------------------------------------------------------------------


def test_pushing_needs_no_secret_of_the_user(laptop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    laptop.write(1)
    laptop.large(b"canary" * 1000)
    monkeypatch.setattr(HomeKeys, "user_key", _away)
    laptop.push()
    assert laptop.log().missing(AGENT_ID, [file_key(b"canary" * 1000)]) == [file_key(b"canary" * 1000)]
    assert laptop.log().agent(AGENT_ID).name == NAME


def test_a_state_is_read_with_the_users_key_only(laptop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    laptop.write(1)
    monkeypatch.setattr(HomeKeys, "user_key", _away)
    with pytest.raises(KeyLocked):
        laptop.log().snapshot(AGENT_ID)


def test_another_machine_with_the_words_reads_all_of_it(laptop: Machine, tmp_path: Path) -> None:
    laptop.large(b"canary" * 1000)
    laptop.push()
    laptop.log().put_object(AGENT_ID, file_key(b"canary" * 1000), b"canary" * 1000)
    laptop.log().put_keys(AGENT_ID, {"canary": "wrapped"})
    other = Machine(tmp_path / "other", laptop.stick, key=laptop.key)
    assert [agent.name for agent in other.log().agents()] == [NAME]
    with other.log().snapshot(AGENT_ID).file as file, SnapshotReader(file) as reader:
        reader.check()
    assert other.log().object(AGENT_ID, _sha256(b"canary" * 1000)) == b"canary" * 1000
    assert other.log().keys(AGENT_ID) == {"canary": "wrapped"}


def test_a_machine_without_the_key_is_told_to_recover_it(laptop: Machine, tmp_path: Path) -> None:
    laptop.write(1)
    around = {"LIFEBOAT_HOME": str(tmp_path / "clean"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    clean = Context.open(around)
    log = REMOTE_KIND.open(clean, RemoteConfig("stick", f"file://{laptop.stick}", sealed=True), None)
    with pytest.raises(NoKey) as caught:
        log.agents()
    assert caught.value.fix == "lifeboat keys recover"


def test_what_was_signed_anew_comes_back_with_its_new_signature(laptop: Machine, tmp_path: Path) -> None:
    laptop.write(3)
    other = Machine(tmp_path / "other", laptop.stick, key=laptop.key)
    with laptop.vault() as vault:
        rows = [row.as_sequence(AGENT_ID) for row in vault.sequences()]
    again = [(row.number, sequence_signatures.sign_sequence(row, other.context.keys().device)) for row in rows]
    assert laptop.log().put_signatures(AGENT_ID, [*again, (99, {})]) == 3
    assert [each.signature for each in laptop.log().sequences(AGENT_ID)] == [document for _, document in again]
    with laptop.log().snapshot(AGENT_ID, 0).file as file, SnapshotReader(file) as reader:
        assert reader.sequence.signature == again[0][1]
    for bundle in laptop.log().deltas(AGENT_ID, 0):
        with bundle.file as file, DeltaReader(file) as delta:
            assert delta.sequence.signature == again[bundle.number][1]


def test_a_signature_that_does_not_hold_is_not_taken(laptop: Machine) -> None:
    laptop.write(2)
    document = next(laptop.log().sequences(AGENT_ID)).signature
    assert document is not None
    with pytest.raises(RemoteRefused):
        laptop.log().put_signatures(AGENT_ID, [(1, document)])


def test_the_words_of_the_new_key_open_what_was_sent_before_it_was_replaced(laptop: Machine, tmp_path: Path) -> None:
    laptop.large(b"canary" * 1000)
    laptop.push()
    laptop.log().put_object(AGENT_ID, file_key(b"canary" * 1000), b"canary" * 1000)
    old, new = laptop.key, UserKey.generate()
    laptop.context.keys().rotate(old, new, RotationReason())
    laptop.log().put_signatures(AGENT_ID, [])
    clean = Machine(tmp_path / "clean", laptop.stick, key=new)
    assert clean.log().agent(AGENT_ID).name == NAME
    assert clean.log().object(AGENT_ID, _sha256(b"canary" * 1000)) == b"canary" * 1000
    with clean.log().snapshot(AGENT_ID).file as file, SnapshotReader(file) as reader:
        reader.check()


# Large artifacts ----------------------------------------------------------------------------------------------------


def test_a_large_artifact_that_no_state_names_is_not_taken(laptop: Machine) -> None:
    laptop.large(b"canary" * 1000)
    laptop.push()
    with pytest.raises(UnknownAtRemote):
        laptop.log().put_object(AGENT_ID, file_key(b"other"), b"other")
    assert laptop.log().missing(AGENT_ID, [file_key(b"other")]) == []


def test_a_large_artifact_is_missing_until_it_was_sent(laptop: Machine) -> None:
    laptop.write(1)
    laptop.large(b"canary" * 1000)
    laptop.push()
    key = file_key(b"canary" * 1000)
    assert laptop.log().missing(AGENT_ID, [key]) == [key]
    for _ in range(2):
        laptop.log().put_object(AGENT_ID, key, b"canary" * 1000)
    assert laptop.log().missing(AGENT_ID, [key]) == []


# What shows, and what is changed --------------------------------------------------------------------------------


def test_no_name_path_or_content_shows(laptop: Machine) -> None:
    laptop.large(b"canary" * 1000)
    laptop.push()
    laptop.log().put_object(AGENT_ID, file_key(b"canary" * 1000), b"canary" * 1000)
    laptop.log().put_keys(AGENT_ID, {"canary": "wrapped"})
    laptop.write(2)
    every = b"".join(data for path, data in _tree(laptop.stick).items() if path not in ("readme.txt", "lifeboat.json"))
    words = (b"canary", b"Canary", b"SOUL", b"openclaw", b"boat lies", _sha256(b"canary" * 1000).encode())
    assert [word for word in words if word in every] == []
    assert [path for path in _tree(laptop.stick) if "canary" in path or _sha256(b"canary" * 1000) in path] == []


def test_every_file_that_was_changed_is_found(laptop: Machine) -> None:
    laptop.write(3)
    laptop.log().put_keys(AGENT_ID, {"canary": "wrapped"})
    for path in sorted(laptop.agent_folder.iterdir()):
        before = path.read_bytes()
        path.write_bytes(before[:-9] + bytes([before[-9] ^ 1]) + before[-8:])
        assert _is_found(laptop), path.name
        path.write_bytes(before)
    assert _verified(laptop).ok


def test_every_file_that_is_gone_is_found(laptop: Machine) -> None:
    laptop.write(3)
    files = sorted(path for path in laptop.agent_folder.iterdir() if path.name != "head.json")
    for path in files:
        before = path.read_bytes()
        path.unlink()
        assert not _verified(laptop).ok, path.name
        path.write_bytes(before)


def test_the_head_of_another_folder_is_refused(laptop: Machine, tmp_path: Path) -> None:
    laptop.write(1)
    twin = Machine(tmp_path / "twin", tmp_path / "other stick", key=laptop.key)
    twin.write(1)
    (laptop.agent_folder / "head.json").write_bytes((twin.agent_folder / "head.json").read_bytes())
    with pytest.raises(RemoteDamaged):
        laptop.log().agent(AGENT_ID)


def test_another_state_there_than_here_is_found(laptop: Machine) -> None:
    laptop.write(2)
    laptop.put(b"later")
    assert not _verified(laptop).ok


def test_a_log_whose_head_is_of_a_lost_machine_is_read_and_doubted(laptop: Machine, tmp_path: Path) -> None:
    laptop.write(1)
    lost = Machine(tmp_path / "lost", laptop.stick, key=laptop.key)
    lost.log().raise_epoch(AGENT_ID, 1)
    device = lost.context.keys().device
    trusted = laptop.context.keys().trusted
    head, _ = laptop.log()._files.head(AGENT_ID) or (b"", "")  # type: ignore[misc]
    without = replace(trusted, revoked=frozenset([device.public]))
    found, doubt = document.decode_head(head, laptop.log().about().id, AGENT_ID, without)
    assert (found.epoch, bool(doubt)) == (2, True)


# In clear -----------------------------------------------------------------------------------------------------------


def test_a_plain_folder_holds_archives_that_any_tool_reads(tmp_path: Path) -> None:
    plain = Machine(tmp_path / "laptop", tmp_path / "stick", sealed=False)
    plain.write(2)
    archives = sorted(plain.agent_folder.glob("*.alf")) + sorted(plain.agent_folder.glob("*.alf-delta"))
    assert [validate_archive(path).ok for path in archives] == [True, True]
    assert content_there(plain.log(), 1) == plain.content(1)


def test_a_plain_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    plain = Machine(tmp_path / "laptop", tmp_path / "stick", sealed=False)
    plain.write(1)
    every = [plain.agent_folder, *plain.agent_folder.iterdir()]
    assert [path.name for path in every if path.stat().st_mode & 0o077] == []


def test_a_folder_is_kept_one_way_only(laptop: Machine, tmp_path: Path) -> None:
    laptop.write(1)
    plain = Machine(tmp_path / "plain", laptop.stick, key=laptop.key, sealed=False)
    with pytest.raises(RemoteRefused):
        plain.log().agents()


# Rows that are moved out of the head -----------------------------------------------------------------------------


def test_the_head_stays_small_and_nothing_is_lost(laptop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_contents, "SEGMENT", 3)
    numbers = laptop.write(10)
    log = laptop.log()
    assert len(log._heads.load(AGENT_ID).head.rows) < 6
    assert [each.number for each in log.sequences(AGENT_ID)] == numbers
    assert content_there(log, numbers[1]) == laptop.content(numbers[1])
    assert _verified(laptop).ok


def _away(keys: HomeKeys) -> UserKey:
    raise KeyLocked("the key is locked")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _verified(machine: Machine) -> RemoteVerification:
    with machine.vault() as vault:
        return machine.log().verify(AGENT_ID, vault.state(), bodies=50, chance=random.Random(1))


def _is_found(machine: Machine) -> bool:
    """By a verification, or by whoever needs the file."""
    if not _verified(machine).ok:
        return True
    try:
        machine.log().keys(AGENT_ID)
    except RemoteDamaged:
        return True
    return False
