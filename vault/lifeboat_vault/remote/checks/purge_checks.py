"""Checks of purges: what is named is removed, everything else stays as it was signed, and nothing comes back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace

from lifeboat_alf.common import ids, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redactions import RECORDS, WHOLE_AGENT, ByteEdit, LeafReplacement, Redaction
from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import Record, State
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import redaction_signatures, sequence_signatures, vault_receipts
from lifeboat_vault.errors import AgentErased, RemoteRefused, UnknownAtRemote
from lifeboat_vault.remote.checks.remote_trial import (
    NOTE,
    UNKNOWN_FILE,
    RemoteTrial,
    TrialMachine,
    expect_equal,
    expect_refused,
    expect_that,
    reopen_bundle,
)
from lifeboat_vault.remote.remote_contract import Remote, RemoteRedaction
from lifeboat_vault.vault import EntryPut

_SECRET = b"the number was 4711 0815"
_DIARY = "raw/openclaw/DIARY.md"


# Redactions of a machine --------------------------------------------------------------------------------------------


def _of(
    machine: TrialMachine, leaves: dict[bytes, LeafReplacement | None], records: list[Record], **changed: str
) -> Redaction:
    now = times.to_text(SystemClock().now())
    made = Redaction(
        id=ids.make_id(now),
        agent_id=machine.agent_id,
        scope=RECORDS,
        reason="user_request",
        requested_at=now,
        requested_by="a check",
        record_ids=tuple(record.id for record in records),
        partitions_affected=tuple(sorted({record.partition for record in records})),
        searched=tuple(row.number for row in machine.vault.sequences()),
        leaves=leaves,
    )
    return redaction_signatures.sign_redaction(replace(made, **changed), machine.device)  # type: ignore[arg-type]


def _of_record(machine: TrialMachine, record: Record) -> Redaction:
    """Return a redaction of every version of a record."""
    items = (item for item in machine.vault.history() if item.record_id == record.id)
    return _of(machine, {item.leaf.digest: None for item in items}, [record])


def _of_passage(machine: TrialMachine, path: str) -> Redaction:
    """Return a redaction of the secret wherever it occurs in a file."""
    leaves: dict[bytes, LeafReplacement | None] = {}
    for item in machine.vault.history():
        body = machine.vault.read_object(item.object) if item.path == path else b""
        if _SECRET in body:
            edit = ByteEdit(body.index(_SECRET), len(_SECRET))
            leaves[item.leaf.digest] = redactions.replacement_of(body, [edit])
    return _of(machine, leaves, [])


def _of_all(machine: TrialMachine) -> Redaction:
    return _of(machine, {}, [], scope=WHOLE_AGENT)


def _record(machine: TrialMachine, number: int) -> Record:
    """Return a record that the state `number` has and earlier ones do not."""
    before = {record.id for record in machine.vault.state(number - 1).records()} if number else set()
    return next(record for record in machine.vault.state(number).records() if record.id not in before)


def _redact(machine: TrialMachine, remote: Remote, redaction: Redaction) -> RemoteRedaction:
    """Apply a redaction at the remote and on this machine."""
    state = remote.redact(machine.agent_id, redaction.to_json())
    machine.vault.redact(redaction)
    _expect_receipt(state, redaction)
    return state


def _expect_receipt(state: RemoteRedaction, redaction: Redaction) -> None:
    expect_that(state.applies_at is None, "the remote delays the purge, although the sender may remove the whole agent")
    expect_that(state.receipt is not None, "the remote returned no receipt for the purge")
    receipt = vault_receipts.decode_vault_receipt(state.receipt)
    found = (receipt.agent_id, receipt.redaction_id, receipt.redaction_digest)
    expect_equal(found, (redaction.agent_id, redaction.id, redaction.digest.hex()), "the purge named in the receipt")
    expect_equal(receipt.remaining, 0, "the number of remaining objects in the receipt")
    vault_receipts.verify_vault_receipt(receipt, trusted=None, endpoints={})


# Expected states ----------------------------------------------------------------------------------------------------


def _expect_without(machine: TrialMachine, remote: Remote, record: Record) -> None:
    """Expect that every state can be read, is whole by digest and signature, and lacks the record or has it as gone."""
    for number in machine.numbers(remote):
        with remote.snapshot(machine.agent_id, number).file as file, SnapshotReader(file) as reader:
            _expect_whole(reader, number)
            _expect_gone(reader, record, f"state {number}")


def _expect_gone(state: State, record: Record, what: str) -> None:
    expect_that(state.record(record.id) is None, f"{what}: the purged record still exists")
    expect_that(record.id not in [each.id for each in state.records()], f"{what}: the purged record is still listed")
    assert record.line is not None
    expect_that(
        all(record.line not in each.line for each in state.records()),
        f"{what}: the content of the purged record still exists",
    )


def _expect_whole(state: State, number: int) -> None:
    expect_equal(merkle.state_digest(state), state.sequence.digest, f"sequence {number}: the digest")
    sequence_signatures.verify_sequence(state.sequence, None)
    for redaction in state.redactions:
        redaction_signatures.verify_redaction(redaction, None)
    for entry in state.entries():
        expect_that(
            state.redactions.hold(entry.leaf, state.body(entry.path)),
            f"sequence {number}: the file {entry.path} is damaged",
        )
    for record in state.records():
        expect_that(
            state.redactions.hold(record.leaf, record.line), f"sequence {number}: the record {record.id} is damaged"
        )


def a_purged_record_is_in_no_state(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote, captures=4)
    before = machine.sequences(trial.remote)
    record = _record(machine, 1)
    _redact(machine, trial.remote, _of_record(machine, record))
    expect_equal(
        [(each.number, each.digest, each.signature) for each in machine.sequences(trial.remote)],
        [(each.number, each.digest, each.signature) for each in before],
        "the sequences on the remote",
    )
    _expect_without(machine, trial.another(), record)


def a_purged_record_is_in_no_delta(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote, captures=4)
    record = _record(machine, 1)
    _redact(machine, trial.remote, _of_record(machine, record))
    with trial.remote.snapshot(machine.agent_id, 0).file as file, SnapshotReader(file) as reader:
        state: State = reader
        for each in trial.remote.deltas(machine.agent_id, 0):
            state = AppliedState(state, DeltaReader(each.file))
            _expect_gone(state, record, f"the delta to sequence {each.number}")
            _expect_whole(state, each.number)
    expect_equal(state.sequence.number, machine.here.number, "the sequence number after all deltas")


def a_passage_is_cut_from_every_state(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.commit({_DIARY: EntryPut({}, b"Before. " + _SECRET + b" After.\n")})
    machine.push(trial.remote, machine.snapshot())
    for _ in range(2):
        machine.capture()
        machine.push(trial.remote, machine.delta(machine.here.number - 1))
    _redact(machine, trial.remote, _of_passage(machine, _DIARY))
    for number in machine.numbers(trial.remote):
        with trial.remote.snapshot(machine.agent_id, number).file as file, SnapshotReader(file) as reader:
            _expect_whole(reader, number)
            expect_equal(reader.body(_DIARY), b"Before.  After.\n", f"the content of the file in sequence {number}")


def a_purge_is_listed_and_the_same_again_changes_nothing(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote, captures=2)
    redaction = _of_record(machine, _record(machine, 1))
    _redact(machine, trial.remote, redaction)
    state = trial.another().redact(machine.agent_id, redaction.to_json())
    _expect_receipt(state, redaction)
    listed = [redactions.decode_redaction(each) for each in trial.remote.redactions(machine.agent_id)]
    expect_equal([each.digest for each in listed], [redaction.digest], "the purges that the remote lists")


def a_purge_takes_the_signature_of_whoever_writes_now(trial: RemoteTrial) -> None:
    """After a key was replaced, its states and purges are signed again, because the old signatures no longer count."""
    machine, newer = trial.machine(), DeviceKey.generate(trial.user)
    machine.begin(trial.remote, captures=2)
    redaction = _of_record(machine, _record(machine, 1))
    _redact(machine, trial.remote, redaction)
    stranger = redaction_signatures.sign_redaction(redaction, DeviceKey.generate(UserKey.generate()))
    with contextlib.suppress(RemoteRefused):
        trial.remote.redact(machine.agent_id, stranger.to_json())
    _expect_signed(trial.another(), machine, redaction)
    broken = replace(redaction, signature={**stranger.to_json()["signature"], "signature": "AA=="})
    expect_refused(
        RemoteRefused,
        lambda: trial.remote.redact(machine.agent_id, broken.to_json()),
        "a purge with an invalid signature",
    )
    again = redaction_signatures.sign_redaction(redaction, newer)
    _expect_receipt(trial.remote.redact(machine.agent_id, again.to_json()), redaction)
    _expect_signed(trial.another(), machine, again)
    _expect_signed(trial.remote, machine, again)


def _expect_signed(remote: Remote, machine: TrialMachine, redaction: Redaction) -> None:
    """Expect the new signature in the list and in every bundle that it explains."""
    expect_equal(remote.redactions(machine.agent_id), [redaction.to_json()], "the purges that the remote lists")
    with remote.snapshot(machine.agent_id, 1).file as file, SnapshotReader(file) as reader:
        expect_equal(
            [each.to_json() for each in reader.redactions], [redaction.to_json()], "the purges in a downloaded snapshot"
        )
    for each in remote.deltas(machine.agent_id, 0):
        with each.file as file, DeltaReader(file) as delta:
            expect_equal(
                [one.to_json() for one in delta.redactions], [redaction.to_json()], "the purges in a downloaded delta"
            )


def states_go_on_after_a_purge(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote, captures=2)
    record = _record(machine, 1)
    _redact(machine, trial.remote, _of_record(machine, record))
    machine.capture()
    machine.push(trial.remote, machine.delta(1))
    machine.expect_there(trial.remote)
    _expect_without(machine, trial.remote, record)


def a_delta_from_before_a_purge_brings_nothing_back(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote)
    machine.capture()
    record, older = _record(machine, 1), machine.delta(0)
    _redact(machine, trial.remote, _of_record(machine, record))
    machine.push(trial.remote, older)
    machine.expect_there(trial.remote)
    _expect_without(machine, trial.remote, record)


def a_snapshot_from_before_a_purge_brings_nothing_back(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.capture()
    machine.capture()
    record, older = _record(machine, 1), machine.snapshot()
    _redact(machine, trial.remote, _of_record(machine, record))
    machine.push(trial.remote, older)
    machine.expect_there(trial.remote)
    _expect_without(machine, trial.remote, record)


def a_machine_that_purged_begins_a_copy(trial: RemoteTrial) -> None:
    """The bundle itself states what is gone from it."""
    machine = trial.machine()
    machine.capture()
    machine.capture()
    record = _record(machine, 1)
    redaction = _of_record(machine, record)
    machine.vault.redact(redaction)
    machine.push(trial.remote, machine.snapshot())
    machine.expect_there(trial.remote)
    _expect_receipt(trial.remote.redact(machine.agent_id, redaction.to_json()), redaction)
    _expect_without(machine, trial.remote, record)


def a_purge_that_nobody_signed_who_may_is_refused(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote, captures=2)
    record = _record(machine, 1)
    redaction = _of_record(machine, record)
    stranger = DeviceKey.generate(UserKey.generate())
    wrong: dict[str, JsonObject] = {
        "a purge without a signature": {**redaction.to_json(), "signature": None},
        "a purge that was changed after it was signed": {**redaction.to_json(), "reason": "another"},
        "a purge that another user signed": redaction_signatures.sign_redaction(
            replace(redaction, signature=None), stranger
        ).to_json(),
        "a purge of another agent": _of(machine, dict(redaction.leaves), [], agent_id=trial.unknown_agent()).to_json(),
        "a document that is not a purge": {"version": 1},
    }
    for what, document in wrong.items():
        expect_refused(RemoteRefused, lambda document=document: trial.remote.redact(machine.agent_id, document), what)  # type: ignore[misc]
    with trial.remote.snapshot(machine.agent_id).file as file, SnapshotReader(file) as reader:
        expect_that(reader.record(record.id) is not None, "data was destroyed by a purge that the remote refused")
    expect_equal(trial.remote.redactions(machine.agent_id), [], "the purges that the remote lists")


def purges_of_an_agent_that_is_not_there_are_refused(trial: RemoteTrial) -> None:
    unknown = trial.unknown_agent()
    machine = trial.machine(agent_id=unknown)
    machine.capture()
    document = _of_record(machine, _record(machine, 0)).to_json()
    expect_refused(UnknownAtRemote, lambda: trial.remote.redact(unknown, document), "a purge")
    expect_refused(UnknownAtRemote, lambda: trial.remote.redactions(unknown), "the purges")


def an_agent_that_was_purged_whole_is_taken_no_more(trial: RemoteTrial) -> None:
    machine, remote = trial.machine(), trial.remote
    machine.begin(remote, captures=2)
    remote.put_keys(machine.agent_id, {"agent_id": "invented", "pairs": []})
    redaction = _of_all(machine)
    _expect_receipt(remote.redact(machine.agent_id, redaction.to_json()), redaction)
    for what, work in _everything(machine, trial.another()).items():
        error = expect_refused(AgentErased, work, what)
        found = redactions.decode_redaction(error.redaction)
        expect_equal(found.digest, redaction.digest, f"{what}: the purge named in the error")
    _expect_receipt(remote.redact(machine.agent_id, redaction.to_json()), redaction)
    listed = [redactions.decode_redaction(each).digest for each in remote.redactions(machine.agent_id)]
    expect_equal(listed, [redaction.digest], "the purges that the remote lists")
    expect_that(
        machine.agent_id not in [each.id for each in remote.agents()], "the remote still lists the purged agent"
    )


def _everything(machine: TrialMachine, remote: Remote) -> dict[str, Callable[[], object]]:
    agent_id = machine.agent_id
    return {
        "agent": lambda: remote.agent(agent_id),
        "register": lambda: remote.register(agent_id, "again", "openclaw"),
        "push": lambda: machine.push(remote, reopen_bundle(machine.snapshot())),
        "snapshot": lambda: remote.snapshot(agent_id),
        "sequences": lambda: list(remote.sequences(agent_id)),
        "deltas": lambda: list(remote.deltas(agent_id, 0)),
        "keys": lambda: remote.keys(agent_id),
        "put_keys": lambda: remote.put_keys(agent_id, {}),
        "missing": lambda: remote.missing(agent_id, [UNKNOWN_FILE]),
        "object": lambda: remote.object(agent_id, "0" * 64),
        "raise_epoch": lambda: remote.raise_epoch(agent_id, 1),
        "another purge": lambda: remote.redact(agent_id, _of_all(machine).to_json()),
    }


def a_cut_file_is_cut_in_what_comes_afterwards(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote)
    machine.commit({_DIARY: EntryPut({}, _SECRET + b" stays away\n"), NOTE: EntryPut({}, b"short")})
    older = machine.delta(0)
    _redact(machine, trial.remote, _of_passage(machine, _DIARY))
    machine.push(trial.remote, older)
    with trial.remote.snapshot(machine.agent_id).file as file, SnapshotReader(file) as reader:
        _expect_whole(reader, reader.sequence.number)
        expect_equal(reader.body(_DIARY), b" stays away\n", "the file")


ALL = (
    a_purged_record_is_in_no_state,
    a_purged_record_is_in_no_delta,
    a_passage_is_cut_from_every_state,
    a_purge_is_listed_and_the_same_again_changes_nothing,
    a_purge_takes_the_signature_of_whoever_writes_now,
    states_go_on_after_a_purge,
    a_delta_from_before_a_purge_brings_nothing_back,
    a_snapshot_from_before_a_purge_brings_nothing_back,
    a_machine_that_purged_begins_a_copy,
    a_purge_that_nobody_signed_who_may_is_refused,
    purges_of_an_agent_that_is_not_there_are_refused,
    an_agent_that_was_purged_whole_is_taken_no_more,
    a_cut_file_is_cut_in_what_comes_afterwards,
)
