"""Purge records from a snapshot file (ALF §3.1.11, §6.4): write a new archive without them and their text.

`purging.plan_cuts` decides what is removed: the records from their partitions, their text from the files they came from
(and wherever it occurs word for word), their vectors, their places in `referenced_by`, and search matches. The new file
is an independent state: unsigned, with a fresh salt for every changed item, without redactions. Links to the records
stay and dangle, as the format allows; file names stay.

A record takes its whole chain of successors with it, because otherwise an older text would become the memory again.
With `only`, only the named records are removed: a successor is joined to the nearest remaining predecessor, and where
none remains, a tombstone ends the chain.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.zip_container import ArchiveReader
from lifeboat_alf.common import ids, json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import PurgeError
from lifeboat_alf.memory import effective_view, memory_records, partitions, primary_principal
from lifeboat_alf.memory.effective_view import SuccessorChains
from lifeboat_alf.purging.purge_items import CutPlan, PurgeItem, PurgeMatch, PurgeOptions
from lifeboat_alf.purging.purge_planner import Pieces, find_spans_by_text, plan_cuts
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redactions import NONE, RECORDS, LeafReplacement, Redaction, Redactions
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.states import entry_metas, merkle
from lifeboat_alf.states.agent_state import BodyAbsent, Entry, GoneRecord, Leaf, Record, Sequence, State, path_key

REASONS = ("gdpr_article_17", "ccpa_deletion", "user_request", "security_incident")
"""The four reasons of ALF §3.1.11. Free text could repeat what was purged."""

_NO_VECTORS = (b"", json_codec.encode_json({"vectors": []}))
_NOTHING = PurgeTerms()
_DEFAULT = PurgeOptions()


@dataclass(frozen=True, slots=True)
class FilePurgeResult:
    """Result of a purge or a dry run. `audit` is the record of ALF §3.1.11, without content; `counts` are removed
    records by partition, `files` removed matches by path, `hits` their masked places."""

    audit: JsonObject
    counts: dict[str, int]
    files: dict[str, int]
    hits: list[PurgeMatch]
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class _FilePurgePlan:
    """Records to remove, relink and append."""

    cuts: CutPlan
    gone: dict[str, Record]
    relinked: dict[str, str | None] = field(default_factory=dict)
    tombstones: list[tuple[str, JsonObject]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FilePurgeRequest:
    """What to purge from a file, and why. `requested_by` defaults to the primary principal; `pieces` as for
    `plan_cuts`."""

    now: datetime
    wanted: PurgeTerms = _NOTHING
    options: PurgeOptions = _DEFAULT
    reason: str = "user_request"
    requested_by: str | None = None
    pieces: Pieces = find_spans_by_text


def purge_file(
    source: Path | BinaryIO, record_ids: Iterable[str], out: Path | BinaryIO | None, request: FilePurgeRequest
) -> FilePurgeResult:
    """Write `out` without the named records and search matches (None: a dry run). Both files may be open ones.

    Raises PurgeError, before anything is written, for an unknown id or reason, a delta, an existing `out`, and when
    nothing is found.
    """
    _check(source, out, request.reason)
    with SnapshotReader(source) as reader:
        plan = _plan(reader, list(dict.fromkeys(record_ids)), request)
        if out is not None:
            _check_found(plan.cuts)
            _write(_PurgedState(reader, plan), out, reader.keys)
        audit = _audit(reader, plan, request)
        return FilePurgeResult(audit, _counts(plan), plan.cuts.files, plan.cuts.hits, _warnings(plan.cuts))


def _check_found(cuts: CutPlan) -> None:
    if not cuts.leaves:
        raise PurgeError("nothing in the file matches, so no new file was written")


def _write(state: State, out: Path | BinaryIO, keys: JsonObject | None) -> None:
    """Write the new file completely or not at all. The caller takes care of an open file."""
    if not isinstance(out, Path):
        write_snapshot(state, out, keys=keys)
        return
    try:
        with out.open("xb") as target:
            write_snapshot(state, target, keys=keys)
    except BaseException:
        out.unlink(missing_ok=True)
        raise


def _check(source: Path | BinaryIO, out: Path | BinaryIO | None, reason: str) -> None:
    if reason not in REASONS:
        raise PurgeError(f"the reason {reason!r} is unknown; use one of {', '.join(REASONS)}")
    with ArchiveReader(source) as archive:
        if archive_layout.DELTA_MANIFEST in archive or archive_layout.DELTA_RECORDS in archive:
            raise PurgeError(
                "the file is a delta, but only a snapshot can be purged, because the base of the delta may "
                "contain the record too; apply the delta to its base, then purge the result",
                fix="lifeboat alf apply BASE DELTA -o WHOLE",
            )
    if isinstance(out, Path) and out.exists():
        raise PurgeError(f"the output file {out} exists already, and a purge never replaces a file")


# Planning -------------------------------------------------------------------------------------------------------


def _plan(state: State, asked: list[str], request: FilePurgeRequest) -> _FilePurgePlan:
    agent_id = state.sequence.agent_id
    cuts = plan_cuts(items_of(state), agent_id, asked, request.wanted, request.options, pieces=request.pieces)
    gone = {record_id: _known(state, record_id) for record_id in cuts.record_ids}
    return _relink(state, effective_view.chains_of(state), _FilePurgePlan(cuts, gone), request.now)


def _known(state: State, record_id: str) -> Record:
    record = state.record(record_id)
    if record is None:
        raise PurgeError(f"the file contains no record {record_id}, so no new file was written")
    return record


def _relink(state: State, chains: SuccessorChains, plan: _FilePurgePlan, now: datetime) -> _FilePurgePlan:
    """Join the remaining records of each chain; end the chain where its memory is purged."""
    relinked: dict[str, str | None] = {}
    tombstones: list[tuple[str, JsonObject]] = []
    seen: set[str] = set()
    for record_id in plan.gone:
        chain = chains.chain_of(record_id)
        rest = [member for member in chain if member not in plan.gone and state.record(member) is not None]
        if chain[0] in seen or not rest:
            continue
        seen.add(chain[0])
        relinked |= _joined(state, rest, plan.gone)
        if chains.winner(record_id) in plan.gone:
            tombstones.append(_tombstone(state, rest[-1], now))
    return _FilePurgePlan(plan.cuts, plan.gone, relinked, tombstones)


def _joined(state: State, rest: list[str], gone: dict[str, Record]) -> dict[str, str | None]:
    """Return {record: new `supersedes`} for the records that named a purged one."""
    joined: dict[str, str | None] = {}
    for record_id in rest:
        target = before = _supersedes(state, record_id)
        passed: set[str] = set()
        while target in gone and target not in passed:
            passed.add(target)
            target = _supersedes(state, target)
        if target != before:
            joined[record_id] = None if target in gone else target
    return joined


def _supersedes(state: State, record_id: str) -> str | None:
    record = state.record(record_id)
    target = memory_records.parse_record(record.line).get("supersedes") if record is not None else None
    return None if target is None else str(target)


def _tombstone(state: State, record_id: str, now: datetime) -> tuple[str, JsonObject]:
    """Return a tombstone for the last remaining record of a chain, and the partition to append it to."""
    placed = partitions.plan_partition(None, now, effective_view.partitions_of(state))
    old = memory_records.parse_record(_known(state, record_id).line)
    copied: JsonObject = {name: old[name] for name in ("agent_id", "memory_type", "source", "namespace") if name in old}
    record = {
        **copied,
        "id": ids.make_id(placed.created_at),
        "content": memory_records.TOMBSTONE,
        "temporal": {"created_at": placed.created_at},
        "status": "deleted",
        "supersedes": record_id,
    }
    return placed.partition.file, record


def items_of(*states: State) -> Callable[[], Iterable[PurgeItem]]:
    """Return a function that iterates over the items of these states, for `plan_cuts`."""
    return lambda: (item for state in states for item in _items(state))


def _items(state: State) -> Iterator[PurgeItem]:
    for entry in state.entries():
        yield PurgeItem(entry.leaf, partial(state.body, entry.path), path=entry.path, meta=entry.meta)
    for record in state.records():
        yield PurgeItem(record.leaf, partial(getattr, record, "line"), record_id=record.id, partition=record.partition)


# The new state --------------------------------------------------------------------------------------------------


class _PurgedState:
    """A state without what a plan removes: unsigned, with a fresh salt for every changed item."""

    def __init__(self, base: SnapshotReader, plan: _FilePurgePlan) -> None:
        self._base, self._plan = base, plan
        self._own = Redactions([_as_redaction(base.sequence.agent_id, plan.cuts)])
        self._bodies: dict[str, bytes] = {}
        self._add_partitions()

    @property
    def sequence(self) -> Sequence:
        old = self._base.sequence
        return Sequence(old.agent_id, old.number, old.base, old.epoch, old.time, b"")

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return (self._made(entry) for entry in self._base.entries(prefix) if not self._is_dropped(entry))

    def entry(self, path: str) -> Entry | None:
        entry = self._base.entry(path)
        return None if entry is None or self._is_dropped(entry) else self._made(entry)

    def body(self, path: str) -> bytes:
        entry = self._base.entry(path)
        if entry is None or self._is_dropped(entry):
            raise KeyError(path)
        return self._bodies[path] if path in self._bodies else self._cut(entry.leaf, self._base.body(path))

    def _cut(self, leaf: Leaf, body: bytes) -> bytes:
        replacement = self._replacement(leaf)
        return body if replacement is None else redactions.apply_edits(body, replacement.edits)

    def _replacement(self, leaf: Leaf) -> LeafReplacement | None:
        return self._plan.cuts.leaves.get(leaf.digest)

    def _is_dropped(self, entry: Entry) -> bool:
        """Return whether an entry is a vector file or an index that became empty."""
        if not entry.path.startswith(archive_layout.EMBEDDINGS) or self._replacement(entry.leaf) is None:
            return False
        return self._cut(entry.leaf, self._base.body(entry.path)) in _NO_VECTORS

    def records(self, partition: str | None = None) -> Iterator[Record]:
        appended = self._appended()
        files = {item.partition for item in appended} | {item.file for item in self._base.partitions}
        for file in sorted(files, key=path_key) if partition is None else [partition]:
            kept = (item for item in self._base.records(file) if item.id not in self._plan.gone)
            yield from self._numbered(file, [*(item.line for item in appended if item.partition == file)], kept)

    def record(self, record_id: str) -> Record | None:
        return next((record for record in self.records() if record.id == record_id), None)

    def gone(self) -> Iterator[GoneRecord]:
        return iter(())

    @property
    def redactions(self) -> Redactions:
        return NONE

    def _numbered(self, file: str, appended: list[bytes], kept: Iterator[Record]) -> Iterator[Record]:
        position = 0
        for record in kept:
            line = self._cut(record.leaf, self._relinked(record))
            yield Record(record.id, file, position, merkle.new_leaf(line), line)
            position += 1
        for line in appended:
            yield Record(memory_records.parse_record(line)["id"], file, position, merkle.new_leaf(line), line)
            position += 1

    def _appended(self) -> list[Record]:
        made = ((file, memory_records.line_of(record), record["id"]) for file, record in self._plan.tombstones)
        return [Record(record_id, file, 0, Leaf(b""), line) for file, line, record_id in made]

    def _relinked(self, record: Record) -> bytes:
        if record.id not in self._plan.relinked:
            return record.line
        fields = memory_records.parse_record(record.line)
        target = self._plan.relinked[record.id]
        kept = {name: value for name, value in fields.items() if name != "supersedes"}
        return json_codec.encode_json(kept if target is None else {**fields, "supersedes": target})

    def _made(self, entry: Entry) -> Entry:
        leaf = entry.leaf.digest
        meta = _without_empty(self._own.meta(self._base.redactions.meta(entry.meta, leaf), leaf))
        changed = leaf in self._plan.cuts.leaves or entry.path in self._bodies
        if not changed and (entry.leaf.salt or not self._is_held(entry)):
            return entry._replace(meta=meta)
        body = self.body(entry.path)
        return Entry(entry.path, meta, merkle.new_leaf(body), len(body), hashlib.sha256(body).hexdigest())

    def _is_held(self, entry: Entry) -> bool:
        try:
            self._base.body(entry.path)
        except BodyAbsent:
            return False
        return True

    def _add_partitions(self) -> None:
        """Add the partition to the head that only a tombstone needs."""
        known = self._base.partitions
        missing = {file for file, _ in self._plan.tombstones} - {item.file for item in known}
        if not missing:
            return
        head = json_codec.decode_json(self.body(archive_layout.MANIFEST))
        added = [partitions.from_name(file) for file in sorted(missing)]
        listed = [partitions.to_item(item) for item in partitions.replace_partitions(known, added)]
        self._bodies[archive_layout.MANIFEST] = json_codec.encode_pretty({**head, "partitions": listed})


def _as_redaction(agent_id: str, cuts: CutPlan) -> Redaction:
    """Return the plan as a redaction, to read metas with."""
    return Redaction("", agent_id, RECORDS, "", "", "", record_ids=cuts.record_ids, leaves=cuts.leaves)


def _without_empty(meta: JsonObject) -> JsonObject:
    """Remove lists that the purge has emptied."""
    attachment = meta.get(entry_metas.ATTACHMENT)
    if attachment and attachment.get("referenced_by") == []:
        attachment = {name: value for name, value in attachment.items() if name != "referenced_by"}
    lists = meta.get(entry_metas.RECORDS), attachment, meta.get(entry_metas.CUTS)
    return entry_metas.join_meta_parts(
        entry_metas.file_part(meta), records=lists[0], attachment=lists[1], cuts=lists[2]
    )


# The audit record -----------------------------------------------------------------------------------------------


def _counts(plan: _FilePurgePlan) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record in plan.gone.values():
        counts[record.partition] = counts.get(record.partition, 0) + 1
    return dict(sorted(counts.items()))


def _warnings(cuts: CutPlan) -> list[str]:
    return [
        *(
            f"the name or the properties of {path} contain the text, and the purge did not change them"
            for path in cuts.names
        ),
        *(
            f"all content of {path} was removed, because the file cannot be read without the purged text"
            for path in cuts.dropped
        ),
        *(
            f"the record {record_id} is kept, because it was derived from other records too, not only from a purged one"
            for record_id in cuts.spared
        ),
    ]


def _audit(state: State, plan: _FilePurgePlan, request: FilePurgeRequest) -> JsonObject:
    moment = times.to_text(request.now)
    touched = {record.partition for record in plan.gone.values()} | {file for file, _ in plan.tombstones}
    touched |= {record.partition for name in plan.relinked if (record := state.record(name)) is not None}
    touched |= set(plan.cuts.partitions)
    return {
        "purge_id": ids.make_id(moment),
        "agent_id": state.sequence.agent_id,
        "scope": "record_purge",
        "record_ids": sorted(plan.gone),
        "partitions_affected": sorted(touched),
        "reason": request.reason,
        "requested_at": moment,
        "completed_at": moment,
        "requested_by": request.requested_by or primary_principal.primary_principal_id(state),
    }
