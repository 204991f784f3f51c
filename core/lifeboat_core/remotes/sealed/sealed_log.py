"""A remote that can read nothing: a log of immutable bundles, encrypted on this machine, under one signed head.

See `log_head` for what stands there in plain text, `log_key` for what does not, `log_compaction` for how it stays
small.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from lifeboat_alf.common import json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError, RedactionInvalid, SignatureError
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redactions import WHOLE_AGENT, Redaction
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_alf.states.agent_state import Sequence as Signed
from lifeboat_alf.states.agent_state import State
from lifeboat_core.processes.installed_release import read_release
from lifeboat_core.remotes.contract import BundleSource
from lifeboat_core.remotes.sealed import bundle_store, log_compaction, log_file_names
from lifeboat_core.remotes.sealed.bundle_store import BundleStore, CheckedBundle, make_bundle_name
from lifeboat_core.remotes.sealed.incoming_bundles import IncomingBundleFilter
from lifeboat_core.remotes.sealed.log_contents import LogContents
from lifeboat_core.remotes.sealed.log_erasure import LogEraser
from lifeboat_core.remotes.sealed.log_files import HeadMoved, SealedFiles
from lifeboat_core.remotes.sealed.log_head import FileReference, LogHead, build_remote_head, make_row, put_signature
from lifeboat_core.remotes.sealed.log_heads import TRIES, LoadedHead, LogHeads
from lifeboat_core.remotes.sealed.log_key import LogCipher, LogKeys, PlainLogKey
from lifeboat_core.remotes.sealed.log_large_files import LogLargeFiles
from lifeboat_core.remotes.sealed.log_owner import LogOwner
from lifeboat_core.remotes.sealed.log_reader import LogReader
from lifeboat_core.remotes.sealed.log_receipts import LogReceipts
from lifeboat_core.remotes.sealed.log_redactor import Here, LogRedactor
from lifeboat_core.remotes.sealed.log_rewriter import LogRewriter
from lifeboat_core.remotes.sealed.log_verification import verify_log
from lifeboat_keys.errors import SignedByAnother
from lifeboat_keys.pairs.strict_base64 import device_id, from_base64, to_base64
from lifeboat_keys.signed import redaction_signatures as signed
from lifeboat_vault.errors import (
    AgentErased,
    EpochBehind,
    EpochMoved,
    RemoteBusy,
    RemoteDamaged,
    RemoteRefused,
    StaleBase,
)
from lifeboat_vault.remote.remote_contract import (
    FileKey,
    RemoteAgent,
    RemoteBundle,
    RemoteDescription,
    RemoteHead,
    RemoteRedaction,
    RemoteSequence,
    RemoteVerification,
)


class LogPurges:
    """The purges of the logs of one remote. Only this user keeps them, so a purge waits there for the user's key at
    most."""

    def __init__(
        self,
        heads: LogHeads,
        inside: LogContents,
        owner: LogOwner,
        redacting: LogRedactor,
        erasing: LogEraser,
        receipts: LogReceipts,
    ) -> None:
        self._heads = heads
        self._inside = inside
        self._owner = owner
        self._redacting = redacting
        self._erasing = erasing
        self._receipts = receipts
        self._listed: dict[str, frozenset[str]] = {}

    def held(self, agent_id: str) -> list[JsonObject]:
        """Finish what was interrupted, if possible, and return the redactions. Raises UnknownAtRemote, and what the
        keys raise if this machine has not seen the log's key."""
        try:
            head = self._heads.load_recent(agent_id).head
        except AgentErased as error:
            with contextlib.suppress(LifeboatError):
                self._erasing.finish(agent_id)
            return [] if error.redaction is None else [error.redaction]
        if head.purges is not None and head.purges.pending:
            with contextlib.suppress(LifeboatError):  # the caller that wants a receipt is told why
                head = self._redacting.settle(agent_id).head
        every = self._inside.redactions(head)
        self._listed[agent_id] = frozenset(each.id for each in every)
        return [each.to_json() for each in every]

    def redact(self, agent_id: str, document: JsonObject) -> RemoteRedaction:
        """Raises UnknownAtRemote, AgentErased, RemoteRefused, RemoteBusy (the redaction is held, and waits for the
        user's key)."""
        redaction = self._checked(agent_id, document)
        if redaction.scope == WHOLE_AGENT:
            removed = self._erasing.erase(agent_id, redaction)
            return RemoteRedaction(redaction.id, None, self._receipts.of_erased(redaction, removed))
        self._redacting.hold(agent_id, redaction, self._listed.get(agent_id, frozenset()))
        return RemoteRedaction(redaction.id, None, self._receipts.of(self._redacting.settle(agent_id), redaction))

    def mend(self, agent_id: str, candidates: Iterable[Sequence[Redaction]]) -> None:
        """Write the list of purges again if it is damaged and one of these lists matches."""
        self._heads.change(agent_id, lambda head: self._inside.with_mended_purges(head, candidates))

    def _checked(self, agent_id: str, document: JsonObject) -> Redaction:
        try:
            redaction = redactions.decode_redaction(document)
            signed.verify_redaction(redaction, self._owner.trusted)
        except (RedactionInvalid, SignatureError) as error:
            raise RemoteRefused(f"{error.title}: {error.message}") from error
        if redaction.agent_id.lower() != agent_id.lower():
            raise RemoteRefused(f"the purge belongs to agent {redaction.agent_id}, not to this one")
        return redaction


_KIND = "names"


class LogNames(msgspec.Struct, frozen=True):
    """`machine` is the user's name for the machine `machine_of` (the id of a device)."""

    name: str = ""
    runtime: str = ""
    machine: str = ""
    machine_of: str = ""


def seal_names(names: LogNames, key: LogCipher, *, plain: bool) -> str | JsonObject:
    document: JsonObject = msgspec.to_builtins(names)
    return document if plain else to_base64(key.seal(_KIND, json_codec.encode_json(document)))


def open_names(head: LogHead, key: LogCipher | None) -> LogNames:
    """Return the names, empty ones while the key is away. Raises RemoteDamaged."""
    try:
        if isinstance(head.names, dict):
            return msgspec.convert(head.names, LogNames)
        if key is None:
            return LogNames()
        return msgspec.json.decode(key.open(_KIND, from_base64(head.names)), type=LogNames)
    except ValueError as error:  # errors of msgspec are ValueErrors
        raise RemoteDamaged(f"the names in the index of the log cannot be read: {error}") from None


FIRST_EPOCH = 1


class SealedLog:
    """The logs of all agents at one remote (a `Remote`). `kind` is the kind of place that keeps its files.

    Pushing needs no secret of the user. Reading states of a sealed log needs the user's key: otherwise the errors of
    the keys say what is missing.
    """

    def __init__(
        self,
        files: SealedFiles,
        owner: LogOwner,
        log_keys: LogKeys,
        shelf: BundleStore,
        here: Here,
        clock: Clock,
        *,
        kind: str,
        sealed: bool,
        name: str = "",
    ) -> None:
        self._files = files
        self._owner = owner
        self._log_keys = log_keys
        self._shelf = shelf
        self._clock = clock
        self._kind = kind
        self._sealed = sealed
        self._heads = LogHeads(files, owner, log_keys, clock, sealed=sealed)
        self._inside = LogContents(files, self._heads, owner, log_keys, shelf, sealed=sealed)
        self._large = LogLargeFiles(files, self._heads, self._inside, shelf, sealed=sealed)
        self._rewriting = LogRewriter(files, self._heads, self._inside, shelf)
        self._arriving = IncomingBundleFilter(self._inside, shelf, here)
        redacting = LogRedactor(self._heads, self._inside, shelf, self._rewriting, here)
        erasing = LogEraser(files, self._heads, log_keys, owner, sealed=sealed)
        receipts = LogReceipts(files, self._inside, shelf, owner, here, clock, kind=kind, name=name)
        self._purges = LogPurges(self._heads, self._inside, owner, redacting, erasing, receipts)

    def about(self) -> RemoteDescription:
        return RemoteDescription(self._files.identity(), self._kind, read_release(), self._sealed)

    def agents(self) -> list[RemoteAgent]:
        """Return the agents of this user; those of other users are left out."""
        found = []
        for agent_id in self._files.agents():
            try:
                loaded = self._heads.find(agent_id)
            except RemoteDamaged as error:
                if isinstance(error.__cause__, SignedByAnother):
                    continue
                raise
            except AgentErased:
                continue
            if loaded is not None:
                found.append(self._agent(loaded))
        return found

    def agent(self, agent_id: str) -> RemoteAgent:
        return self._agent(self._heads.load(agent_id))

    def register(self, agent_id: str, name: str, runtime: str) -> RemoteAgent:
        known = self._heads.find(agent_id)
        if known is None:
            self._files.add_agent(agent_id)
            self._heads.create(self._first_head(agent_id.lower(), name, runtime))
            known = self._heads.load(agent_id)
        return self._agent(known)

    def _first_head(self, agent_id: str, name: str, runtime: str) -> LogHead:
        remote, now = self._files.identity(), times.to_text(self._clock.now())
        key = self._log_keys.make(remote, agent_id) if self._sealed else None
        sealed = seal_names(LogNames(name, runtime), key or PlainLogKey(), plain=not self._sealed)
        wrapped = None if key is None else key.wrapped_for(self._owner.public)
        place = (remote, agent_id, 1, FIRST_EPOCH, now, now, self._owner.device.id)
        return LogHead(*place, self._sealed, wrapped, sealed)

    def _agent(self, loaded: LoadedHead) -> RemoteAgent:
        head = loaded.head
        found = open_names(head, self._inside.key_if_there(head))
        newest = build_remote_head(head, self._machine(head, found))
        return RemoteAgent(head.agent, found.name, found.runtime, head.epoch, newest, head.bytes, head.created_at)

    def _machine(self, head: LogHead, found: LogNames) -> str:
        newest = head.newest
        return found.machine if newest is not None and found.machine_of == newest.writer else ""

    def _remote_head(self, loaded: LoadedHead) -> RemoteHead:
        found = open_names(loaded.head, self._inside.known_key(loaded.head))
        made = build_remote_head(loaded.head, self._machine(loaded.head, found))
        assert made is not None
        return made

    # Sending ----------------------------------------------------------------------------------------------------

    def push(self, agent_id: str, bundle: RemoteBundle, *, machine: str = "") -> RemoteHead:
        loaded = self._heads.load_recent(agent_id)
        checked = bundle_store.check_bundle(bundle, agent_id)
        written: _WrittenBundle | None = None
        for _ in range(TRIES):
            if _is_head(loaded.head, checked.sequence):
                self._take_back(loaded.head, written)
                return self._remote_head(loaded)
            try:
                _check_fit(loaded.head, checked)
                written = self._written(loaded, bundle, checked, written)
            except BaseException:
                self._take_back(loaded.head, written)
                raise
            try:
                made = self._heads.replace(loaded, self._appended(loaded.head, written, machine))
            except HeadMoved:
                loaded = self._moved(agent_id, written)
                continue
            if len(made.head.segments) > len(loaded.head.segments):
                self.sweep(agent_id)
            return self._remote_head(made)
        raise RemoteBusy("other machines keep writing to the log of the agent", retry_after=5.0)

    def _written(
        self, loaded: LoadedHead, bundle: RemoteBundle, checked: CheckedBundle, before: _WrittenBundle | None
    ) -> _WrittenBundle:
        """Write the bundle as a file; write it again if a purge came to be held meanwhile, or if another machine may
        have removed it."""
        head = loaded.head
        if before is not None:
            is_same = log_file_names.parse_generation(before.stored.file) == head.generation
            if is_same and not self._heads.is_outdated(before.loaded):
                return before
            self._take_back(head, before)
        with self._arriving.as_it_reads(loaded, bundle, checked) as (file, found):
            reach_crash_point(CrashPoint.SEALED_FILE_WRITTEN)
            stored = self._shelf.keep(head.agent, make_bundle_name(found, head.generation), file)
            return _WrittenBundle(found, stored, loaded)

    def _moved(self, agent_id: str, written: _WrittenBundle) -> LoadedHead:
        try:
            return self._heads.load(agent_id)
        except AgentErased:
            self._files.remove(agent_id, written.stored.file)
            raise

    def _take_back(self, head: LogHead, written: _WrittenBundle | None) -> None:
        if written is not None:
            self._rewriting.take_back(head, [written.stored])

    def _appended(self, head: LogHead, written: _WrittenBundle, machine: str) -> LogHead:
        checked, sequence = written.checked, written.checked.sequence
        key = self._inside.key(head) if checked.large or checked.keys else self._inside.known_key(head)
        large = [key.name_of(sha256) for sha256 in checked.large] if key else []
        writer = _writer(sequence) or self._owner.device.id
        row, signers = put_signature(
            make_row(sequence, checked.on, writer, written.stored, large), sequence.signature, head.signers
        )
        known = open_names(head, key)
        if key is not None:
            known = msgspec.structs.replace(known, machine=machine, machine_of=writer)
        made = self._inside.with_row(head, row)
        if key is not None and checked.keys is not None:
            made = self._inside.with_keys(made, checked.keys)
        return msgspec.structs.replace(
            made,
            newest_at=times.to_text(self._clock.now()),
            epoch=max(head.epoch, sequence.epoch),
            names=head.names if key is None else seal_names(known, key, plain=not self._sealed),
            signers=signers,
            grown=log_compaction.add_growth(head.grown, row),
        )

    def missing(self, agent_id: str, files: Sequence[FileKey], *, read: bool = False) -> list[FileKey]:
        lacking = {*self._large.missing(agent_id, [file.sha256 for file in files], read=read)}
        return [file for file in files if file.sha256 in lacking]

    def put_object(self, agent_id: str, file: FileKey, data: bytes) -> None:
        self._large.put(agent_id, file.sha256, data)

    def damaged_states(self, agent_id: str, *, read: bool = False) -> list[int]:
        """Return None: `compact` writes lost or changed bundles again."""
        return []

    def put_keys(self, agent_id: str, document: JsonObject) -> None:
        def edit(head: LogHead) -> LogHead | None:
            made = self._inside.with_keys(head, document)
            return None if made is head else made

        self._heads.change(agent_id, edit)

    def put_signatures(self, agent_id: str, signatures: Iterable[tuple[int, JsonObject]]) -> int:
        return self._rewriting.put_signatures(agent_id, dict(signatures))

    def raise_epoch(self, agent_id: str, expected: int, *, machine: str = "") -> int:
        def edit(head: LogHead) -> LogHead:
            if head.epoch != expected:
                raise EpochMoved(
                    f"the current writer epoch of the agent is {head.epoch}, expected {expected}", epoch=head.epoch
                )
            return msgspec.structs.replace(head, epoch=expected + 1)

        return self._heads.change(agent_id, edit).head.epoch

    # Purging ----------------------------------------------------------------------------------------------------

    def redactions(self, agent_id: str) -> list[JsonObject]:
        return self._purges.held(agent_id)

    def redact(self, agent_id: str, document: JsonObject, *, owner: str | None = None) -> RemoteRedaction:
        """Carry out a purge at once: no other confirmation is needed.

        Also raises RemoteBusy while the user's key is needed and away: then the purge is held, and no file has changed.
        """
        return self._purges.redact(agent_id, document)

    def mend_purges(self, agent_id: str, candidates: Sequence[Sequence[Redaction]]) -> None:
        self._purges.mend(agent_id, candidates)

    # Fetching ---------------------------------------------------------------------------------------------------

    def keys(self, agent_id: str) -> JsonObject | None:
        return self._inside.keys(self._heads.load(agent_id).head)

    def sequences(self, agent_id: str) -> Iterator[RemoteSequence]:
        return self._reading(agent_id).sequences()

    def snapshot(self, agent_id: str, number: int | None = None) -> RemoteBundle:
        return self._reading(agent_id).snapshot(number)

    def deltas(self, agent_id: str, since: int) -> Iterator[RemoteBundle]:
        return self._reading(agent_id).deltas(since)

    def _reading(self, agent_id: str) -> LogReader:
        return LogReader(self._inside, self._shelf, self._heads.load(agent_id))

    def object(self, agent_id: str, sha256: str) -> bytes:
        return self._large.get(agent_id, sha256)

    def verify(self, agent_id: str, state: State, *, bodies: int, chance: random.Random) -> RemoteVerification:
        try:
            loaded = self._heads.load(agent_id)
            rows = self._inside.rows(loaded.head)
        except RemoteDamaged as error:
            return RemoteVerification(None, findings=[error.message])
        found = verify_log(self._files, self._shelf, loaded, rows, state, bodies, chance)
        self._large.verify(loaded.head, state, bodies, chance, found)
        return found

    # Staying small ----------------------------------------------------------------------------------------------

    def needs_compaction(self, agent_id: str) -> bool:
        """Return whether a new snapshot pays."""
        return log_compaction.is_snapshot_due(self._heads.load_recent(agent_id).head.grown)

    def compact(self, agent_id: str, material: BundleSource, *, renewed: bool = False, mended: bool = False) -> bool:
        """Write a snapshot of the newest state if one pays or is to be `renewed`, and drop the states that this machine
        dropped.

        What other states need stays. With `mended`, damaged files are written again. Return False if another machine
        wrote meanwhile: then nothing changed.
        """
        return self._rewriting.compact(agent_id, material, renewed=renewed, mended=mended)

    def sweep(self, agent_id: str) -> int:
        """Remove files that no head has named for a day; return how many."""
        return self._rewriting.sweep(agent_id)

    def close(self) -> None:
        self._files.close()


class _WrittenBundle(NamedTuple):
    """A written bundle, what is in it, and the head under which it was written."""

    checked: CheckedBundle
    stored: FileReference
    loaded: LoadedHead


def _is_head(head: LogHead, sequence: Signed) -> bool:
    newest = head.newest
    if newest is None or not sequence.digest:
        return False
    return (newest.number, newest.digest) == (sequence.number, sequence.digest.hex())


def _check_fit(head: LogHead, checked: CheckedBundle) -> None:
    """Raises EpochBehind, StaleBase, RemoteRefused, in this order."""
    sequence, newest = checked.sequence, head.newest
    number = None if newest is None else newest.number
    if sequence.epoch < head.epoch:
        raise EpochBehind(
            f"writer epoch {sequence.epoch} of the agent has ended; the current writer epoch is {head.epoch}",
            epoch=head.epoch,
        )
    if checked.on != number:
        raise StaleBase(f"the newest sequence on the remote is {number}, not {checked.on}", sequence=number)
    if number is not None and sequence.number <= number:
        raise RemoteRefused(f"sequence {sequence.number} cannot follow sequence {number}")


def _writer(sequence: Signed) -> str:
    """Return the device that signed, by its testimony, which was verified."""
    return "" if sequence.signature is None else device_id(from_base64(sequence.signature["device"]))
