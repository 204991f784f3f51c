"""Fetch from a remote: one state, or a whole history as a vault. Nothing is used before its digest and its signature
were verified."""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from lifeboat_alf.archive import artifact_index
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.redaction.redactions import NONE, Redaction, Redactions
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states.agent_state import (
    BodyAbsent,
    Entry,
    GoneRecord,
    Leaf,
    Record,
    Sequence,
    State,
    StateView,
    path_key,
)
from lifeboat_core.errors import NothingToRestore, RestoreError
from lifeboat_core.history.sequence_counts import count_draft
from lifeboat_core.home.context import Context
from lifeboat_core.home.home_key import load_known_public
from lifeboat_core.processes.progress import Tell
from lifeboat_core.remotes.redactions import listed_redactions
from lifeboat_core.restore.restore_plan import load_trusted_keys
from lifeboat_core.texts.human_text import sequences_text
from lifeboat_keys.errors import NoKey, OtherKey, SignedByAnother
from lifeboat_vault.errors import RemoteDamaged, UnknownAtRemote, VaultDamaged
from lifeboat_vault.remote.remote_contract import Remote, RemoteBundle, RemoteSequence
from lifeboat_vault.vault import Draft, EntryPut, Vault, draft_of_delta, draft_of_state


class RedactedRemoteState:
    """A `State` of which named leaves hold what `known` redactions left of them. Digests stay the same.

    A redaction that came with the state and is known counts as it is known: it may have been signed again.
    """

    def __init__(self, state: State, known: Redactions) -> None:
        self._state = state
        self._known = known
        self.redactions = Redactions({each.id: each for each in (*state.redactions, *known)}.values())

    @property
    def sequence(self) -> Sequence:
        return self._state.sequence

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return (self._entry(entry) for entry in self._state.entries(prefix))

    def entry(self, path: str) -> Entry | None:
        found = self._state.entry(path)
        return None if found is None else self._entry(found)

    def _entry(self, entry: Entry) -> Entry:
        if not self._is_named(entry.leaf):
            return entry
        bare = entry._replace(leaf=Leaf(entry.leaf.digest), sha256=None)
        try:
            body = self._settled(entry)
        except BodyAbsent:
            return bare
        return bare._replace(size=len(body))

    def body(self, path: str) -> bytes:
        """Raises KeyError, BodyAbsent, RedactionInvalid."""
        entry = self._state.entry(path)
        if entry is None or not self._is_named(entry.leaf):
            return self._state.body(path)
        return self._settled(entry)

    def _settled(self, entry: Entry) -> bytes:
        return self.redactions.settled(entry.leaf, self._state.body(entry.path)) or b""

    def records(self, partition: str | None = None) -> Iterator[Record]:
        for record in self._state.records(partition):
            found = self._record(record)
            if found is not None:
                yield found

    def record(self, record_id: str) -> Record | None:
        found = self._state.record(record_id)
        return None if found is None else self._record(found)

    def _record(self, record: Record) -> Record | None:
        """Return a record, None for one that is gone."""
        if not self._is_named(record.leaf):
            return record
        line = self.redactions.settled(record.leaf, record.line)
        return None if line is None else record._replace(leaf=Leaf(record.leaf.digest), line=line)

    def gone(self) -> Iterator[GoneRecord]:
        fresh = (
            GoneRecord(record.id, record.partition, record.position, Leaf(record.leaf.digest))
            for record in self._state.records()
            if self._is_named(record.leaf) and self._record(record) is None
        )
        return heapq.merge(self._state.gone(), fresh, key=lambda gone: (path_key(gone.partition), gone.position))

    def _is_named(self, leaf: Leaf) -> bool:
        return bool(self._known.all_naming(leaf.digest))


_WORTH_TELLING = 64 * 1024
"""Bytes."""


@runtime_checkable
class TransferReporting(Protocol):
    """A remote that can report how much of a transfer has arrived."""

    def follow(self, moved: Callable[[int, int], None]) -> None:
        """Call a function with the number of bytes of a body that have arrived, and their total."""


def follow_transfer(remote: Remote, tell: Tell) -> None:
    """Report from now on how much of each large body has arrived, if the remote can."""

    def moved(done: int, total: int) -> None:
        if total >= _WORTH_TELLING:
            tell("Fetching", done, total)

    if isinstance(remote, TransferReporting):
        remote.follow(moved)


class RemoteState(StateView):
    """A state of a remote whose large artifacts are fetched when they are read."""

    def __init__(self, state: State, remote: Remote) -> None:
        super().__init__(state)
        self._remote = remote

    def body(self, path: str) -> bytes:
        """Raises KeyError, BodyAbsent, RemoteError; VaultDamaged for a large artifact that differs from what was sent:
        a restore then brings the rest."""
        try:
            return self._state.body(path)
        except BodyAbsent:
            entry = self._state.entry(path)
            if entry is None or entry.sha256 is None or not artifact_index.is_referenced(entry.meta):
                raise
        try:
            return fetch_artifact(self._remote, self.sequence.agent_id, path, entry.sha256, entry.leaf, self.redactions)
        except (RemoteDamaged, SignatureError) as error:
            raise VaultDamaged(error.message) from error


def fetch_artifact(
    remote: Remote, agent_id: str, path: str, sha256: str, leaf: Leaf | None, redactions: Redactions = NONE
) -> bytes:
    """Return the bytes of a large artifact, verified against its leaf or against what a purge left of it. Raises
    BodyAbsent if the remote has none of them."""
    try:
        body = remote.object(agent_id, sha256)
    except UnknownAtRemote:
        raise BodyAbsent(path) from None
    is_known = leaf is not None and (leaf.salt or redactions.all_naming(leaf.digest))
    if leaf is not None and is_known and not redactions.hold(leaf, body):
        raise SignatureError(f"the remote returned changed content for {path}")
    return body


@contextmanager
def open_remote_state(remote: Remote, agent_id: str, number: int | None, purged: Redactions = NONE) -> Iterator[State]:
    """Open one state, by default the head, inside the `with`.

    What was `purged` and still waits at the remote is left out of it. Raises UnknownAtRemote, ArchiveError.
    """
    with _opened(remote.snapshot(agent_id, number)) as bundle, SnapshotReader(bundle.file) as reader:
        if (reader.sequence.agent_id, reader.sequence.number) != (agent_id, bundle.number):
            raise RemoteDamaged(f"the remote returned data that is not sequence {bundle.number} of {agent_id}")
        if number not in (None, bundle.number):
            raise RemoteDamaged(f"the remote returned sequence {bundle.number} instead of {number}")
        found = RemoteState(reader, remote)
        yield RedactedRemoteState(found, purged) if len(purged) else found


def fetch_redactions(
    context: Context, remote: Remote, agent_id: str, *, accept_unsigned: bool = False
) -> list[Redaction]:
    """Return what was purged of an agent according to a remote: redactions of trusted signers or, where unsigned states
    are accepted, of any signer. Raises AgentErased, RemoteDamaged, RemoteError."""
    found = listed_redactions.load_listed(remote, agent_id, None if accept_unsigned else load_trusted_keys(context))
    return list(found.counting)


def take_keys(context: Context, remote: Remote, agent_id: str, *, accept_unsigned: bool = False) -> list[str]:
    """Keep the agent's wrapped keys, and return for people which of them are of no use here.

    A home without a key gets no key here other than that of the agent: its words would be refused later. Raises NoKey.
    """
    document = remote.keys(agent_id)
    if document is not None and not accept_unsigned and load_known_public(context) is None:
        raise NoKey(
            "the agent belongs to a user's key, and this home has no key yet: enter the 24 words "
            "of that key. If the key is not yours, use --accept-unsigned to restore the agent "
            "without its credentials",
            fix="lifeboat keys recover",
        )
    context.keys().ensure()
    if document is None:
        return []
    try:
        context.keys().import_agent(document)
    except (OtherKey, SignedByAnother) as error:
        return [
            f"the credentials of the agent cannot be opened on this machine ({error.message}); enter "
            "them in the runtime again"
        ]
    return []


# A whole history --------------------------------------------------------------------------------------------------


def fetch_history(
    context: Context,
    remote: Remote,
    agent_id: str,
    folder: Path,
    *,
    accept_unsigned: bool,
    tell: Tell,
    known: Iterable[Redaction] = (),
) -> None:
    """Make a vault in `folder` of everything that the remote has, each state with its number and signature.

    What was purged, according to the remote or as `known` here, is left out.

    Raises NothingToRestore, SignatureError, RestoreError.UNSIGNED_STATE, RemoteError; then the folder is useless.
    """
    there = fetch_redactions(context, remote, agent_id, accept_unsigned=accept_unsigned)
    rows = {row.number: row for row in remote.sequences(agent_id)}
    if not rows:
        raise NothingToRestore("the agent is registered on the remote, but has no sequence there")
    first = min(rows)
    tell("Fetching the history", 0, max(rows) - first + 1)
    Vault.create(folder, agent_id, files=context.files, clock=context.clock).close()
    with Vault.open(folder, files=context.files, clock=context.clock) as vault:
        for redaction in {each.id: each for each in (*known, *there)}.values():
            vault.redact(redaction)
        with _opened(remote.snapshot(agent_id, first)) as bundle, SnapshotReader(bundle.file) as reader:
            whole = count_draft(draft_of_state(reader), None)
            _accept(context, vault, remote, reader.sequence, whole, rows)
        for bundle in remote.deltas(agent_id, first):
            with _opened(bundle), DeltaReader(bundle.file) as delta:
                applied = AppliedState(vault.state(), delta)
                change = count_draft(draft_of_delta(applied), applied.base)
                _accept(context, vault, remote, applied.sequence, change, rows)
            tell("Fetching the history", applied.sequence.number - first + 1, max(rows) - first + 1)
        tell("Checking the fetched history", 0, None)
        _check(context, vault, max(rows), accept_unsigned=accept_unsigned)


def _accept(
    context: Context,
    vault: Vault,
    remote: Remote,
    sequence: Sequence,
    draft: Draft,
    rows: Mapping[int, RemoteSequence],
) -> None:
    row = rows.get(sequence.number)
    kind, writer = ("snapshot", "") if row is None else (row.kind, row.writer)
    made = {path: _whole(remote, vault, path, put) for path, put in draft.entries.items()}
    vault.accept(sequence, replace(draft, entries=made), kind=kind, writer=writer, raw_time=context.now())


def _whole(remote: Remote, vault: Vault, path: str, put: EntryPut | None) -> EntryPut | None:
    """Return a large artifact with its bytes if the remote has them."""
    if put is None or put.sha256 is None or put.body is None or not artifact_index.is_referenced(put.meta):
        return put
    return put._replace(body=partial(_fetched_whole, remote, vault, path, put.sha256, put.leaf))


def _fetched_whole(remote: Remote, vault: Vault, path: str, sha256: str, leaf: Leaf | None) -> bytes:
    """Return the bytes of a large artifact.

    One that differs from what was sent counts as absent: the rest of the history is fetched, and a restore names the
    file. Raises BodyAbsent, RemoteError.
    """
    try:
        return fetch_artifact(remote, vault.agent_id, path, sha256, leaf, vault.redactions)
    except (RemoteDamaged, SignatureError):
        raise BodyAbsent(path) from None


def _check(context: Context, vault: Vault, head: int, *, accept_unsigned: bool) -> None:
    """Verify every state against its bytes, its digest and its signature."""
    found = vault.verify(trusted=load_trusted_keys(context), whole=True)
    older = [each for each in found.findings if each.kind == "signature" and each.subject != f"sequence {head}"]
    wrong = [each for each in found.findings if each not in older]
    if wrong or (older and not accept_unsigned):
        first = (wrong or older)[0]
        # A signature that does not count any more (an older state, thinned on the machine that replaced the key) is
        # none.
        fix = None if wrong else "the same command with --accept-unsigned"
        raise SignatureError(f"the fetched history does not match its signatures: {first.message}", fix=fix)
    if found.number != head:
        raise RemoteDamaged(f"the remote announced sequence {head}, but the fetched history ends at {found.number}")
    foreign = [*found.unsigned, *found.unknown_signer]
    if foreign and not accept_unsigned:
        are = "is" if len(foreign) == 1 else "are"
        raise RestoreError.UNSIGNED_STATE(f"{sequences_text(foreign)} {are} signed by an unknown machine")


@contextmanager
def _opened(bundle: RemoteBundle) -> Iterator[RemoteBundle]:
    with contextlib.closing(bundle.file):
        yield bundle
