"""A client with a push token describes a file falsely. The machine that has the bytes still sends them, and a restore
gets them."""

from __future__ import annotations

import hashlib

import pytest

from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states.agent_state import Leaf
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_vault.errors import DraftInvalid, RemoteRefused, UnknownAtRemote
from lifeboat_vault.remote.checks.remote_trial import NOTE, RemoteTrial, TrialMachine, make_bundle
from lifeboat_vault.remote.remote_contract import FileKey
from lifeboat_vault.vault import EntryPut
from support.endpoint.falsified_bundles import FALSIFICATIONS, Falsify, falsified_delta, falsified_snapshot, leave_out
from support.endpoint.in_process_remote import InProcessRemote
from support.endpoint.spaces import trial

__all__ = ["trial"]

FILM, SONG = "artifacts/film.mp4", "artifacts/song.ogg"
FILM_BYTES, SONG_BYTES = b"tier three " * 40_000, b"tier three, too " * 20_000

any_falsification = pytest.mark.parametrize("false", FALSIFICATIONS.values(), ids=FALSIFICATIONS.keys())


@pytest.fixture
def space(trial: RemoteTrial) -> TenantSpace:
    remote = trial.remote
    assert isinstance(remote, InProcessRemote)
    return remote.space


@pytest.fixture
def machine(trial: RemoteTrial) -> TrialMachine:
    """A machine with two large files and a note that has sent nothing yet."""
    made = trial.machine()
    meta = {"attachment": {"id": trial.unknown_agent(), "media_type": "video/mp4", "tier": 3}}
    large = {FILM: EntryPut(meta, FILM_BYTES), SONG: EntryPut(meta, SONG_BYTES)}
    made.commit({**large, NOTE: EntryPut({}, b"the lamp was lit\n")})
    return made


def send_what_is_missing(machine: TrialMachine, trial: RemoteTrial, *, read: bool = False) -> list[str]:
    """Do what a machine does at a contact; return the paths that were missing."""
    keys = {machine.file_key(entry.path): entry.path for entry in machine.vault.state().entries()}
    missing = trial.remote.missing(machine.agent_id, list(keys), read=read)
    for key in missing:
        trial.remote.put_object(machine.agent_id, key, machine.vault.state().body(keys[key]))
    return sorted(keys[key] for key in missing)


def lacking(space: TenantSpace, machine: TrialMachine) -> int:
    """Return how many absent files a verification names. It must find no damage."""
    with space.vault(machine.agent_id) as vault:
        found = vault.verify(trusted=None)
        assert found.findings == []
        return len(found.lacking)


def comes_back_whole(space: TenantSpace, machine: TrialMachine) -> bool:
    """Return whether a new machine gets each file of the head with its bytes and metadata."""
    state = machine.vault.state()
    with space.snapshot(machine.agent_id).file as file, SnapshotReader(file) as reader:
        assert list(reader.entries()) == list(state.entries())
        assert reader.sequence.digest == state.sequence.digest
    for entry in state.entries():
        assert entry.sha256 is not None
        assert space.read(machine.agent_id, state.sequence.number, [entry.path], []) == [state.body(entry.path)]
    assert space.object(machine.agent_id, machine.file_key(FILM).sha256) == FILM_BYTES
    return True


@any_falsification
def test_a_large_file_that_was_falsified_in_a_snapshot_is_asked_for_and_taken(
    trial: RemoteTrial, space: TenantSpace, machine: TrialMachine, false: Falsify
) -> None:
    machine.push(trial.remote, falsified_snapshot(machine.vault, {FILM: false}))
    assert lacking(space, machine) == 2
    assert send_what_is_missing(machine, trial) == [FILM, SONG]
    assert send_what_is_missing(machine, trial, read=True) == []
    assert lacking(space, machine) == 0
    assert comes_back_whole(space, machine)


@any_falsification
def test_a_large_file_that_was_falsified_in_a_delta_is_asked_for_and_taken(
    trial: RemoteTrial, space: TenantSpace, machine: TrialMachine, false: Falsify
) -> None:
    machine.push(trial.remote, machine.snapshot())
    send_what_is_missing(machine, trial)
    meta = {"attachment": {"id": trial.unknown_agent(), "media_type": "video/mp4", "tier": 3}}
    machine.commit({FILM: EntryPut(meta, FILM_BYTES + b"!"), "artifacts/new.mp4": EntryPut(meta, b"new" * 90_000)})
    machine.push(trial.remote, falsified_delta(machine.vault, {FILM: false, "artifacts/new.mp4": false}, 0, 1))
    assert send_what_is_missing(machine, trial) == [FILM, "artifacts/new.mp4"]
    assert lacking(space, machine) == 0
    assert space.read(machine.agent_id, 0, [FILM], []) == [FILM_BYTES]
    assert space.read(machine.agent_id, 1, [FILM], []) == [FILM_BYTES + b"!"]


@any_falsification
@pytest.mark.parametrize("base", [None, 0])
def test_bytes_that_were_left_out_of_an_ordinary_file_are_asked_for_and_taken(
    trial: RemoteTrial, space: TenantSpace, machine: TrialMachine, false: Falsify, base: int | None
) -> None:
    if base is None:
        machine.push(trial.remote, falsified_snapshot(machine.vault, {NOTE: false}))
    else:
        machine.push(trial.remote, machine.snapshot())
        machine.capture()
        machine.push(trial.remote, falsified_delta(machine.vault, {NOTE: false}, 0, machine.here.number))
    assert NOTE in send_what_is_missing(machine, trial)
    assert lacking(space, machine) == 0
    assert comes_back_whole(space, machine)


def test_a_file_that_is_described_as_another_one_keeps_nobody_from_sending_that(
    trial: RemoteTrial, space: TenantSpace, machine: TrialMachine
) -> None:
    song = machine.file_key(SONG)
    false = {FILM: lambda entry: entry._replace(sha256=song.sha256, size=len(SONG_BYTES))}
    machine.push(trial.remote, falsified_snapshot(machine.vault, false))
    space.put_object(machine.agent_id, song.sha256, SONG_BYTES)  # as a client of an earlier release sends it
    assert space.read(machine.agent_id, 0, [SONG, FILM], []) == [SONG_BYTES, None]
    assert send_what_is_missing(machine, trial) == [FILM]
    assert comes_back_whole(space, machine)


def test_what_was_falsified_stands_in_the_audit(trial: RemoteTrial, space: TenantSpace, machine: TrialMachine) -> None:
    machine.push(trial.remote, falsified_snapshot(machine.vault, {FILM: FALSIFICATIONS["size"]}))
    send_what_is_missing(machine, trial)
    with space.vault(machine.agent_id) as vault:
        filled = [row.details for row in vault.audit_rows() if row.kind == "fill"]
    assert {row["bytes"]: row["described_otherwise"] for row in filled} == {len(FILM_BYTES): 1, len(SONG_BYTES): 0}


def test_a_falsified_file_under_another_path_gets_the_bytes_that_are_there(
    trial: RemoteTrial, space: TenantSpace, machine: TrialMachine
) -> None:
    machine.push(trial.remote, machine.snapshot())
    send_what_is_missing(machine, trial)
    entry = machine.vault.state().entry(FILM)
    assert entry is not None
    machine.commit({"artifacts/copy.mp4": EntryPut(entry.meta, FILM_BYTES)})
    false = FALSIFICATIONS["everything"]
    machine.push(trial.remote, falsified_delta(machine.vault, {"artifacts/copy.mp4": false}, 0, 1))
    assert send_what_is_missing(machine, trial) == []
    assert comes_back_whole(space, machine)


@pytest.mark.parametrize("read", [False, True])
def test_a_file_of_a_leaf_that_no_state_has_is_neither_missing_nor_taken(
    trial: RemoteTrial, machine: TrialMachine, read: bool
) -> None:
    machine.push(trial.remote, machine.snapshot())
    body = b"never named"
    salt = b"s" * 16
    key = FileKey(Leaf(hashlib.sha256(salt + body).digest(), salt), hashlib.sha256(body).hexdigest())
    assert trial.remote.missing(machine.agent_id, [key], read=read) == []
    with pytest.raises(UnknownAtRemote):
        trial.remote.put_object(machine.agent_id, key, body)


def test_a_salt_cannot_take_its_bytes_from_the_file(
    trial: RemoteTrial, space: TenantSpace, machine: TrialMachine
) -> None:
    machine.push(trial.remote, machine.snapshot())
    leaf = machine.file_key(FILM).leaf
    shifted = Leaf(leaf.digest, leaf.salt + FILM_BYTES[:4])
    with space.vault(machine.agent_id) as vault, pytest.raises(DraftInvalid):
        vault.artifacts.fill_leaf(shifted, FILM_BYTES[4:])
    with pytest.raises(RemoteRefused):
        space.put_object(
            machine.agent_id, hashlib.sha256(FILM_BYTES[4:]).hexdigest(), FILM_BYTES[4:], salt=shifted.salt
        )


def test_bytes_of_another_sha256_than_was_said_are_refused(
    trial: RemoteTrial, space: TenantSpace, machine: TrialMachine
) -> None:
    machine.push(trial.remote, machine.snapshot())
    key = machine.file_key(FILM)
    with pytest.raises(RemoteRefused):
        space.put_object(machine.agent_id, "ab" * 32, FILM_BYTES, salt=key.leaf.salt)


def test_a_delta_on_a_file_whose_bytes_were_left_out_is_refused_until_they_came(
    trial: RemoteTrial, space: TenantSpace, machine: TrialMachine
) -> None:
    body = b"".join(b"- %d: the lamp was lit\n" % count for count in range(400))
    machine.commit({NOTE: EntryPut({}, body)})
    machine.push(trial.remote, falsified_snapshot(machine.vault, {NOTE: leave_out}))
    machine.commit({NOTE: EntryPut({}, body + b"and again\n")})
    sent = machine.delta(1)
    data = sent.file.read()
    with pytest.raises(RemoteRefused):
        trial.remote.push(machine.agent_id, make_bundle("delta", 2, 1, data))
    state = machine.vault.state(1)
    entry = state.entry(NOTE)
    assert entry is not None and entry.sha256 is not None
    trial.remote.put_object(machine.agent_id, FileKey(entry.leaf, entry.sha256), body)
    trial.remote.push(machine.agent_id, make_bundle("delta", 2, 1, data))
    assert space.read(machine.agent_id, 2, [NOTE], []) == [body + b"and again\n"]
