"""Checks of reading back: whole states, deltas in order, artifacts, keys, signatures, and verification."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import Entry, Sequence, State, StateView
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.errors import RemoteRefused, UnknownAtRemote
from lifeboat_vault.remote.checks.remote_trial import (
    NOTE,
    UNKNOWN_FILE,
    RemoteTrial,
    TrialMachine,
    expect_equal,
    expect_refused,
    expect_that,
)
from lifeboat_vault.remote.remote_contract import FileKey, Remote, RemoteBundle
from lifeboat_vault.vault import EntryPut

_ODD = {
    "raw/openclaw/a b/ä ö ü.md": b"spaces and marks",
    "raw/openclaw/船/\U0001f6f6.md": b"other scripts",
    "raw/openclaw/100%;'--\".md": b"what means something to others",
    "raw/openclaw/empty": b"",
    "raw/openclaw/large.bin": bytes(range(256)) * 3000,
}


def _history(trial: RemoteTrial) -> TrialMachine:
    """Push a history with unusual files, removals and gaps."""
    machine = trial.machine()
    machine.commit({path: EntryPut({}, body) for path, body in _ODD.items()})
    machine.push(trial.remote, machine.snapshot())
    machine.capture(number=3)
    machine.push(trial.remote, machine.delta(0))
    machine.commit({next(iter(_ODD)): None, NOTE: EntryPut({"mode": "private"}, b"short now")}, number=4)
    machine.capture()
    machine.push(trial.remote, machine.delta(3))
    machine.capture()
    machine.push(trial.remote, machine.delta(5))
    return machine


def _content(state: State) -> dict[str, object]:
    """Return everything that a state says."""
    items: dict[str, object] = {entry.path: (entry.meta, entry.leaf, _body(state, entry)) for entry in state.entries()}
    return items | {f"record {record.id}": record for record in state.records()}


def _body(state: State, entry: Entry) -> bytes | None:
    try:
        return state.body(entry.path)
    except KeyError:
        return None


def _expect_same(found: State, wanted: State, what: str) -> None:
    mine, theirs = _content(wanted), _content(found)
    expect_equal(sorted(theirs), sorted(mine), f"{what}: the list of files and memories")
    for name, item in mine.items():
        expect_that(theirs[name] == item, f"{what}: the content of {name} was changed")
    expect_equal(found.sequence, wanted.sequence, f"{what}: the signed sequence number and digest")
    expect_equal(merkle.state_digest(found), wanted.sequence.digest, f"{what}: the digest of the fetched data")


def every_state_comes_back_as_it_was_signed(trial: RemoteTrial) -> None:
    machine = _history(trial)
    expect_equal(machine.numbers(trial.remote), [0, 3, 5, 6], "the sequence numbers on the remote")
    for number in machine.numbers(trial.remote):
        with trial.remote.snapshot(machine.agent_id, number).file as file, SnapshotReader(file) as reader:
            _expect_same(reader, machine.vault.state(number), f"state {number}")


def what_is_listed_is_what_was_signed(trial: RemoteTrial) -> None:
    machine = _history(trial)
    for found in machine.sequences(trial.remote):
        row = machine.vault.sequence(found.number)
        told = Sequence(
            machine.agent_id, found.number, found.base, found.epoch, found.time, found.digest, found.signature
        )
        expect_equal(told, row.as_sequence(machine.agent_id), f"sequence {found.number}")
        expect_equal(found.writer, machine.device.id, f"the machine that wrote sequence {found.number}")


def the_head_is_given_unless_a_number_is_named(trial: RemoteTrial) -> None:
    machine = _history(trial)
    got = trial.remote.snapshot(machine.agent_id)
    with got.file, SnapshotReader(got.file) as reader:
        expect_equal((got.kind, got.number, got.base), ("snapshot", 6, None), "the bundle")
        expect_equal(reader.sequence, machine.vault.state().sequence, "the state")


def a_state_that_is_not_there_is_not_made_up(trial: RemoteTrial) -> None:
    machine = _history(trial)
    for number in (1, 4, 7):
        expect_refused(
            UnknownAtRemote,
            lambda number=number: trial.remote.snapshot(machine.agent_id, number),  # type: ignore[misc]
            f"state {number}",
        )
        expect_refused(
            UnknownAtRemote,
            lambda number=number: _numbers(trial.remote.deltas(machine.agent_id, number)),  # type: ignore[misc]
            f"deltas since sequence {number}",
        )
    empty = trial.agent()
    expect_refused(UnknownAtRemote, lambda: trial.remote.snapshot(empty), "a snapshot of an agent without history")
    expect_equal(list(trial.remote.sequences(empty)), [], "the sequences of an agent without history")


def _numbers(deltas: Iterator[RemoteBundle]) -> list[tuple[int | None, int]]:
    found = []
    for each in deltas:
        each.file.close()
        found.append((each.base, each.number))
    return found


def deltas_since_a_state_come_in_order_without_a_gap(trial: RemoteTrial) -> None:
    machine = _history(trial)
    for since, wanted in ((0, [(0, 3), (3, 5), (5, 6)]), (3, [(3, 5), (5, 6)]), (6, [])):
        found = _numbers(trial.remote.deltas(machine.agent_id, since))
        expect_equal(found, wanted, f"the deltas since sequence {since}")


def a_snapshot_and_the_deltas_after_it_make_the_head(trial: RemoteTrial) -> None:
    machine = _history(trial)
    for start in (0, 3):
        with trial.remote.snapshot(machine.agent_id, start).file as file, SnapshotReader(file) as reader:
            _expect_same(
                _applied(trial.remote, machine.agent_id, reader),
                machine.vault.state(),
                f"the deltas applied to sequence {start}",
            )


def _applied(remote: Remote, agent_id: str, state: State) -> State:
    readers = [DeltaReader(each.file) for each in remote.deltas(agent_id, state.sequence.number)]
    for reader in readers:
        state = AppliedState(state, reader)
    return state


def the_same_request_gives_the_same_bytes(trial: RemoteTrial) -> None:
    machine = _history(trial)
    first, second = ([_bytes(got) for got in _everything(trial.remote, machine)] for _ in range(2))
    expect_that(first == second, "two downloads of the same data returned different bytes")


def _everything(remote: Remote, machine: TrialMachine) -> Iterator[RemoteBundle]:
    yield remote.snapshot(machine.agent_id, 3)
    yield remote.snapshot(machine.agent_id)
    yield from remote.deltas(machine.agent_id, 0)


def _bytes(got: RemoteBundle) -> bytes:
    with got.file:
        data = got.file.read()
    expect_equal(got.size, len(data), "the declared size of a download")
    return data


# Artifacts, keys and signatures -------------------------------------------------------------------------------------

_ARTIFACT = b"tier three " * 20_000


def _with_artifact(trial: RemoteTrial) -> tuple[TrialMachine, FileKey]:
    machine = trial.machine()
    attachment = {"id": trial.unknown_agent(), "media_type": "application/octet-stream", "tier": 3}
    machine.commit({"artifacts/film.bin": EntryPut({"attachment": attachment}, _ARTIFACT)})
    machine.push(trial.remote, machine.snapshot())
    return machine, machine.file_key("artifacts/film.bin")


def large_artifacts_travel_apart_and_only_once(trial: RemoteTrial) -> None:
    machine, key = _with_artifact(trial)
    remote, agent_id, unknown = trial.remote, machine.agent_id, UNKNOWN_FILE
    expect_equal(remote.missing(agent_id, [key, unknown]), [key], "the artifacts that the remote reports as missing")
    expect_refused(
        UnknownAtRemote,
        lambda: remote.object(agent_id, key.sha256),
        "the download of an artifact that was not uploaded yet",
    )
    remote.put_object(agent_id, key, _ARTIFACT)
    expect_equal(
        remote.missing(agent_id, [key, unknown]),
        [],
        "the artifacts that the remote reports as missing after the upload",
    )
    remote.put_object(agent_id, key, _ARTIFACT)
    expect_that(remote.object(agent_id, key.sha256) == _ARTIFACT, "the content of the uploaded artifact was changed")
    expect_refused(
        UnknownAtRemote,
        lambda: remote.object(agent_id, unknown.sha256),
        "the download of an artifact that belongs to no sequence",
    )
    machine.expect_there(remote)


def a_large_artifact_with_other_bytes_is_refused(trial: RemoteTrial) -> None:
    machine, key = _with_artifact(trial)
    false = _ARTIFACT[:-1] + b"!"
    expect_refused(RemoteRefused, lambda: trial.remote.put_object(machine.agent_id, key, false), "other bytes")
    expect_equal(
        trial.remote.missing(machine.agent_id, [key]), [key], "the artifacts that the remote reports as missing"
    )


_KEYS: JsonObject = {"agent_id": "invented", "pairs": [{"wrapped": "é" * 40}]}


def the_wrapped_keys_travel_with_the_agent(trial: RemoteTrial) -> None:
    machine, remote = trial.machine(), trial.remote
    expect_that(remote.keys(machine.agent_id) is None, "the remote returned agent keys that were never sent to it")
    machine.capture()
    machine.push(remote, machine.snapshot(keys=_KEYS))
    expect_equal(remote.keys(machine.agent_id), _KEYS, "the agent keys from the pushed snapshot")
    newer = {**_KEYS, "pairs": []}
    remote.put_keys(machine.agent_id, newer)
    expect_equal(trial.another().keys(machine.agent_id), newer, "the agent keys that were sent later")
    with remote.snapshot(machine.agent_id).file as file, SnapshotReader(file) as reader:
        expect_equal(reader.keys, newer, "the agent keys in a downloaded snapshot")
    expect_equal(machine.numbers(remote), [0], "the sequence numbers on the remote")


def signatures_are_replaced_by_others_that_hold(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote, captures=3)
    other = DeviceKey.generate(trial.user)
    state = machine.vault.state(1)
    made = sequence_signatures.sign_sequence(replace(state.sequence, signature=None), other)
    found = trial.remote.put_signatures(machine.agent_id, [(1, made), (77, made)])
    expect_equal(found, 1, "the number of accepted signatures")
    expect_equal(
        {each.number: each.signature == made for each in machine.sequences(trial.remote)},
        {0: False, 1: True, 2: False},
        "the sequences with the new signature",
    )
    expect_refused(
        RemoteRefused,
        lambda: trial.remote.put_signatures(machine.agent_id, [(2, made)]),
        "a signature that belongs to another sequence",
    )
    with trial.remote.snapshot(machine.agent_id, 1).file as file, SnapshotReader(file) as reader:
        expect_equal(reader.sequence.signature, made, "the signature in a downloaded snapshot")


# Verification -------------------------------------------------------------------------------------------------------


def a_true_copy_is_verified(trial: RemoteTrial) -> None:
    machine = _history(trial)
    found = trial.remote.verify(machine.agent_id, machine.vault.state(), bodies=50, chance=random.Random(1))
    expect_equal(found.findings, [], "the findings")
    expect_that(
        found.number == 6 and found.items > 0 and found.bytes > 0, "the verification read no data from the remote"
    )


class _AlteredState(StateView):
    """A state in which one thing differs: what a remote has that lost or changed it."""

    def __init__(self, state: State, **changed: object) -> None:
        super().__init__(state)
        self._changed = changed

    @property
    def sequence(self) -> Sequence:
        return replace(self._state.sequence, **self._changed)  # type: ignore[arg-type]

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        for entry in self._state.entries(prefix):
            yield entry if self._changed else entry._replace(leaf=merkle.new_leaf(b"something else"))

    def entry(self, path: str) -> Entry | None:
        return next((entry for entry in self.entries() if entry.path == path), None)


def a_copy_that_differs_is_found_out(trial: RemoteTrial) -> None:
    machine = _history(trial)
    state = machine.vault.state()
    different: dict[str, State] = {
        "other bytes": _AlteredState(state),
        "another digest": _AlteredState(state, digest=bytes(32)),
        "another number": _AlteredState(state, number=9),
    }
    for what, wanted in different.items():
        found = trial.remote.verify(machine.agent_id, wanted, bodies=50, chance=random.Random(1))
        expect_that(not found.ok, f"{what}: the verification must report a difference, but found none")


def an_agent_without_history_does_not_pass_for_a_copy(trial: RemoteTrial) -> None:
    agent_id = trial.agent()
    state = MemoryState(agent_id)
    found = trial.remote.verify(agent_id, state, bodies=5, chance=random.Random(1))
    expect_that(not found.ok, "the verification of an agent without history must report a difference, but found none")


ALL = (
    every_state_comes_back_as_it_was_signed,
    what_is_listed_is_what_was_signed,
    the_head_is_given_unless_a_number_is_named,
    a_state_that_is_not_there_is_not_made_up,
    deltas_since_a_state_come_in_order_without_a_gap,
    a_snapshot_and_the_deltas_after_it_make_the_head,
    the_same_request_gives_the_same_bytes,
    large_artifacts_travel_apart_and_only_once,
    a_large_artifact_with_other_bytes_is_refused,
    the_wrapped_keys_travel_with_the_agent,
    signatures_are_replaced_by_others_that_hold,
    a_true_copy_is_verified,
    a_copy_that_differs_is_found_out,
    an_agent_without_history_does_not_pass_for_a_copy,
)
