"""Changes of what a log holds already: replaced files, new signatures, removed orphans."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import BinaryIO

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.states.agent_state import Sequence as Signed
from lifeboat_core.remotes.contract import BundleSource
from lifeboat_core.remotes.sealed import bundle_store, log_compaction, log_file_names
from lifeboat_core.remotes.sealed.bundle_chain import BundleChain
from lifeboat_core.remotes.sealed.bundle_store import BundleStore, make_bundle_name, measure_file
from lifeboat_core.remotes.sealed.log_compaction import PlannedBundle
from lifeboat_core.remotes.sealed.log_contents import LogContents
from lifeboat_core.remotes.sealed.log_files import HeadMoved, SealedFiles, StoredFile
from lifeboat_core.remotes.sealed.log_head import FileReference, LogHead, LogRow, make_row, put_signature
from lifeboat_core.remotes.sealed.log_heads import LoadedHead, LogHeads
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.errors import RemoteBusy, RemoteRefused, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import BundleKind, RemoteBundle

_ORPHANED = 86400.0
"""Seconds after which a file that no head names is an orphan."""

Signers = dict[str, JsonObject]
Write = Callable[[int, int | None, BinaryIO], None]
"""See `BundleSource.write`."""


class LogRewriter:
    """Rewrites the logs of one remote."""

    def __init__(self, files: SealedFiles, heads: LogHeads, inside: LogContents, shelf: BundleStore) -> None:
        self._files = files
        self._heads = heads
        self._inside = inside
        self._shelf = shelf

    def compact(self, agent_id: str, material: BundleSource, *, renewed: bool = False, mended: bool = False) -> bool:
        """See `SealedLog.compact`."""
        loaded = self._heads.load(agent_id)
        head, rows = loaded.head, self._inside.rows(loaded.head)
        if not has_applied_purges(material, self._inside.redactions(head)):
            raise RemoteBusy("the remote has purges that this machine has not applied yet", retry_after=60.0)
        pays = renewed or log_compaction.is_snapshot_due(head.grown)
        wanted = log_compaction.plan_compaction(rows, material.gone(), material.numbers(), with_snapshot=pays)
        if mended:
            wanted = [self._mended(agent_id, each, material) for each in wanted]
        if wanted == rows:
            return True
        made, signers = self._made_rows(head, wanted, material, BundleChain(rows))
        grown = log_compaction.count_growth(made)
        changed = msgspec.structs.replace(self._inside.with_rows(head, made, signers), grown=grown)
        try:
            self._heads.replace(loaded, changed)
        except HeadMoved:
            return False
        self.sweep(agent_id)
        return True

    def _mended(self, agent_id: str, row: LogRow | PlannedBundle, material: BundleSource) -> LogRow | PlannedBundle:
        """Return the row of a new file for a damaged one; the same row if this machine lacks the states."""
        if isinstance(row, PlannedBundle) or not {row.number, *({row.on} - {None})} <= {*material.numbers()}:
            return row
        try:
            whole = self._shelf.is_whole(agent_id, row.stored)
        except UnknownAtRemote:
            whole = False
        return row if whole else PlannedBundle(row.number, row.on)

    def _made_rows(
        self, head: LogHead, wanted: Sequence[LogRow | PlannedBundle], material: BundleSource, chain: BundleChain
    ) -> tuple[list[LogRow], Signers]:
        made, signers = list[LogRow](), head.signers
        for each in wanted:
            if isinstance(each, PlannedBundle):
                row, signers = self.made_row(head, each, material.write, chain.row(each.number), signers)
                made.append(row)
            else:
                made.append(each)
        return made, signers

    def made_row(
        self, head: LogHead, wanted: PlannedBundle, write: Write, known: LogRow, signers: Signers
    ) -> tuple[LogRow, Signers]:
        """Write a new file for a state, and return its row; `write` makes the bundle. Raises RemoteRefused if it is of
        another state."""
        with self._shelf.unnamed() as file:
            write(wanted.number, wanted.on, file)
            kind: BundleKind = "snapshot" if wanted.on is None else "delta"
            checked = bundle_store.check_bundle(
                RemoteBundle(kind, wanted.number, wanted.on, file, measure_file(file)), head.agent
            )
            if checked.sequence.digest.hex() != known.digest:
                raise RemoteRefused(f"sequence {wanted.number} differs between this machine and the remote")
            reach_crash_point(CrashPoint.SEALED_FILE_WRITTEN)
            stored = self._shelf.keep(head.agent, make_bundle_name(checked, head.generation), file)
        large = [self._inside.key(head).name_of(sha256) for sha256 in checked.large]
        row = make_row(checked.sequence, checked.on, known.writer, stored, large)
        return put_signature(row, checked.sequence.signature, signers)

    def put_signatures(self, agent_id: str, given: Mapping[int, JsonObject]) -> int:
        """See `Remote.put_signatures`. The user's key was replaced, so the log's key is wrapped for the new one."""
        taken: set[int] = set()

        def edit(head: LogHead) -> LogHead | None:
            before = self._inside.rows(head)
            taken.clear()
            taken.update({row.number for row in before} & given.keys())
            rows, signers = list[LogRow](), head.signers
            for row in before:
                made = row
                if row.number in given:
                    made, signers = _signed_again(head, row, given[row.number], signers)
                rows.append(made)
            if rows != before:
                return self._inside.with_rows(head, rows, signers)
            return head if self._heads.is_for_a_former_key(head) else None

        self._heads.change(agent_id, edit)
        return len(taken)

    def take_back(self, head: LogHead, written: Iterable[FileReference]) -> None:
        """Remove files that were written and that the head does not name; otherwise a sweep removes them.

        The head may be the writer's own even if it counts as moved: a replacement can arrive twice, and only the second
        answer may have been received.
        """
        with contextlib.suppress(Exception):
            named = self._inside.named(head)
            for stored in written:
                if stored.file not in named:
                    self._files.remove(head.agent, stored.file)

    def sweep(self, agent_id: str) -> int:
        """Remove superseded files, and files that no head has named for a day; return how many. Files that other
        machines are writing are younger."""
        try:
            return self.swept(self._heads.load(agent_id))
        except HeadMoved:
            return 0

    def swept(self, loaded: LoadedHead) -> int:
        """Do the same under a loaded head. Raises HeadMoved if it was replaced: then nothing is removed."""
        reach_crash_point(CrashPoint.SEALED_SWEPT)
        agent_id, generation = loaded.head.agent, loaded.head.generation
        named = self._inside.named(loaded.head)
        unnamed = (file for file in self._files.names(agent_id) if file.name not in named)
        old = [file.name for file in unnamed if _is_left(file) or log_file_names.is_superseded(file.name, generation)]
        if not self._heads.is_current(loaded):
            raise HeadMoved("another machine wrote to the remote at the same time")
        for name in old:
            self._files.remove(agent_id, name)
        self._files.remove_unfinished(agent_id, lambda name: log_file_names.is_superseded(name, generation))
        return len(old)


def has_applied_purges(material: BundleSource, known: Redactions) -> bool:
    """Return whether nothing that this machine makes contains what was purged."""
    here = material.redactions() if len(known) else known
    return all(redaction.id in here for redaction in known)


def _is_left(file: StoredFile) -> bool:
    return file.age is not None and file.age > _ORPHANED


def _signed_again(head: LogHead, row: LogRow, signature: JsonObject, signers: Signers) -> tuple[LogRow, Signers]:
    sequence = Signed(head.agent, row.number, row.base, row.epoch, row.time, bytes.fromhex(row.digest), signature)
    try:
        sequence_signatures.verify_sequence(sequence, None)
    except SignatureError as error:
        raise RemoteRefused(f"the signature of sequence {row.number} is invalid: {error.message}") from error
    return put_signature(row, signature, signers)
