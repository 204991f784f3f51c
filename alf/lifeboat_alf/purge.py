"""Hard deletion in a snapshot file (ALF §3.1.11, §6.4): a new archive without the named records and their text.

What goes: the records from their partitions, their text from the files they came from (and wherever else it stands
word for word in text), their vectors, their places in the index and in `referenced_by`, salts and signature. What
stays: links to them, dangling, as the format allows; artifacts that other tools keep, named in a warning when they
hold the text.

A record that is one of a chain of successors takes its chain with it: an older text would be the memory again.
With `only`, just the named ones go: a successor is joined to the nearest remaining predecessor, and where nothing
remains above one, a tombstone ends the chain.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from lifeboat_alf import codec, effective, ids, layout, merkle, metas, partitions, passages, records, times
from lifeboat_alf.container import ArchiveReader
from lifeboat_alf.effective import Chains
from lifeboat_alf.embeddings import Vectors
from lifeboat_alf.errors import PurgeError
from lifeboat_alf.redactions import NONE, Redactions
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.state import BodyAbsent, Entry, GoneRecord, Leaf, Record, Sequence, State, path_key

JsonObject = dict[str, Any]

REASONS = ("gdpr_article_17", "ccpa_deletion", "user_request", "security_incident")
"""The four reasons of ALF §3.1.11; free text could carry what was purged."""

_SHORTEST_PASSAGE = 12
"""Characters: a shorter text (`yes`, a name) is cut only from the files that are known to hold the record."""

_CUTTABLE = (layout.RAW, layout.ARTIFACTS, layout.HISTORY, layout.IDENTITY, layout.PRINCIPALS)


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge did, or would do. `audit` is the record of ALF §3.1.11 and holds nothing of the content."""

    audit: JsonObject
    counts: dict[str, int]
    files: list[str]
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What goes, what is relinked, what is appended."""

    gone: dict[str, Record]
    texts: dict[str, str]
    relinked: dict[str, str | None] = field(default_factory=dict)
    tombstones: list[tuple[str, JsonObject]] = field(default_factory=list)


def purge(
    path: Path,
    record_ids: Iterable[str],
    out: Path | None,
    *,
    dry_run: bool = False,
    reason: str = "user_request",
    requested_by: str | None = None,
    now: datetime,
    only: bool = False,
) -> JsonObject:
    """Write `out` without the named records; gives the audit record. `requested_by` defaults to the primary principal.

    Raises PurgeError, before anything is written, for an id that is not there, a reason that is none, a delta, or an
    `out` that is `path`.
    """
    return purge_file(
        path, record_ids, out, dry_run=dry_run, reason=reason, requested_by=requested_by, now=now, only=only
    ).audit


def purge_file(
    source: Path | BinaryIO,
    record_ids: Iterable[str],
    out: Path | BinaryIO | None,
    *,
    dry_run: bool = False,
    reason: str = "user_request",
    requested_by: str | None = None,
    now: datetime,
    only: bool = False,
) -> Purged:
    """`purge`, with what people want to know beside the audit record. Both files may be open ones."""
    _check(source, out, reason, dry_run=dry_run)
    with SnapshotReader(source) as reader:
        plan = _plan(reader, list(dict.fromkeys(record_ids)), only=only, now=now)
        purged = _PurgedState(reader, plan)
        if not dry_run and out is not None:
            _write(purged, out, reader.keys)
        audit = _audit(reader, plan, reason, requested_by or _primary_principal(reader), now)
        return Purged(audit, _counts(plan), purged.cut_files, purged.warnings)


def _write(state: State, out: Path | BinaryIO, keys: JsonObject | None) -> None:
    """The new file, whole or not at all; of an open file, whoever opened it takes care."""
    if not isinstance(out, Path):
        write_snapshot(state, out, keys=keys)
        return
    try:
        with out.open("xb") as target:
            write_snapshot(state, target, keys=keys)
    except BaseException:
        out.unlink(missing_ok=True)
        raise


def _check(source: Path | BinaryIO, out: Path | BinaryIO | None, reason: str, *, dry_run: bool) -> None:
    if reason not in REASONS:
        raise PurgeError(f"{reason!r} is no reason; one of {', '.join(REASONS)}")
    with ArchiveReader(source) as archive:
        if layout.DELTA_MANIFEST in archive or layout.DELTA_RECORDS in archive:
            raise PurgeError(
                "the file is a delta: a record that is taken out of it would come back from its base. "
                "Apply it first, then purge the snapshot.",
                fix="lifeboat alf apply BASE DELTA -o WHOLE",
            )
    if dry_run:
        return
    if out is None:
        raise PurgeError("no file was named to write to", fix="lifeboat alf purge FILE --record ID -o OTHER")
    if isinstance(out, Path) and out.exists():
        raise PurgeError(f"{out} is there already; a purge never overwrites")


# What goes ------------------------------------------------------------------------------------------------------


def _plan(state: State, asked: list[str], *, only: bool, now: datetime) -> _Plan:
    chains = effective.chains_of(state)
    known = {record_id: _known(state, record_id) for record_id in asked}
    wanted = set(known) if only else {member for record_id in known for member in chains.chain_of(record_id)}
    found = {record_id: record for record_id in sorted(wanted) if (record := state.record(record_id)) is not None}
    texts = {record_id: str(records.parse(record.line).get("content", "")) for record_id, record in found.items()}
    plan = _Plan(found, {record_id: text for record_id, text in texts.items() if text != records.TOMBSTONE})
    return _relink(state, chains, plan, now) if only else plan


def _known(state: State, record_id: str) -> Record:
    record = state.record(record_id)
    if record is None:
        raise PurgeError(f"there is no record {record_id} in this file; nothing was written")
    return record


def _relink(state: State, chains: Chains, plan: _Plan, now: datetime) -> _Plan:
    """Join what remains of each chain, and end it where its memory itself is purged."""
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
    return _Plan(plan.gone, plan.texts, relinked, tombstones)


def _joined(state: State, rest: list[str], gone: dict[str, Record]) -> dict[str, str | None]:
    """{record: its new `supersedes`} for those that named a purged one."""
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
    target = records.parse(record.line).get("supersedes") if record is not None else None
    return None if target is None else str(target)


def _tombstone(state: State, record_id: str, now: datetime) -> tuple[str, JsonObject]:
    """A tombstone for the last remaining member of a chain, and the partition it is appended to."""
    placed = partitions.plan_partition(None, now, effective.partitions_of(state))
    old = records.parse(_known(state, record_id).line)
    copied: JsonObject = {name: old[name] for name in ("agent_id", "memory_type", "source", "namespace") if name in old}
    record = {
        **copied,
        "id": ids.new(placed.created_at),
        "content": records.TOMBSTONE,
        "temporal": {"created_at": placed.created_at},
        "status": "deleted",
        "supersedes": record_id,
    }
    return placed.partition.file, record


# What remains ---------------------------------------------------------------------------------------------------


class _PurgedState:
    """A state without what a plan takes away: unsigned, every changed item under a fresh salt."""

    def __init__(self, base: SnapshotReader, plan: _Plan) -> None:
        self._base, self._plan = base, plan
        self._bodies: dict[str, bytes] = {}
        self._dropped: set[str] = set()
        self.cut_files: list[str] = []
        self.warnings: list[str] = []
        self._moved_cuts: dict[str, list[JsonObject]] = {}
        long = [text for text in plan.texts.values() if len(text.strip()) >= _SHORTEST_PASSAGE]
        self._escaped = passages.forms(long, is_json=True)
        self._cut_vectors()
        self._cut_texts()
        self._add_partitions()

    @property
    def sequence(self) -> Sequence:
        old = self._base.sequence
        return Sequence(old.agent_id, old.number, old.base, old.epoch, old.time, b"")

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return (self._made(entry) for entry in self._base.entries(prefix) if entry.path not in self._dropped)

    def entry(self, path: str) -> Entry | None:
        entry = None if path in self._dropped else self._base.entry(path)
        return None if entry is None else self._made(entry)

    def body(self, path: str) -> bytes:
        if path in self._dropped:
            raise KeyError(path)
        return self._bodies[path] if path in self._bodies else self._base.body(path)

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
            line = self._relinked(record)
            yield Record(record.id, file, position, merkle.new_leaf(line), line)
            position += 1
        for line in appended:
            yield Record(records.parse(line)["id"], file, position, merkle.new_leaf(line), line)
            position += 1

    def _appended(self) -> list[Record]:
        made = ((file, records.line_of(record), record["id"]) for file, record in self._plan.tombstones)
        return [Record(record_id, file, 0, Leaf(b""), line) for file, line, record_id in made]

    def _relinked(self, record: Record) -> bytes:
        if record.id not in self._plan.relinked:
            return record.line
        fields = records.parse(record.line)
        target = self._plan.relinked[record.id]
        kept = {name: value for name, value in fields.items() if name != "supersedes"}
        return codec.encode(kept if target is None else {**fields, "supersedes": target})

    def _made(self, entry: Entry) -> Entry:
        meta = self._without_records(entry.meta, self._moved_cuts.get(entry.path, entry.meta.get(metas.CUTS)))
        if entry.path not in self._bodies:
            return entry._replace(meta=meta)
        body = self._bodies[entry.path]
        return Entry(entry.path, meta, merkle.new_leaf(body), len(body), hashlib.sha256(body).hexdigest())

    def _without_records(self, meta: JsonObject, cuts: list[JsonObject] | None) -> JsonObject:
        """A meta whose lists of record ids (of a file, of an artifact) lack the purged ones."""
        attachment = meta.get(metas.ATTACHMENT)
        if attachment and "referenced_by" in attachment:
            kept = self._kept_ids(attachment["referenced_by"])
            attachment = {name: value for name, value in attachment.items() if name != "referenced_by"}
            attachment |= {"referenced_by": kept} if kept else {}
        listed = self._kept_ids(meta.get(metas.RECORDS, []))
        rest = metas.file_part(meta)
        return metas.join(rest, records=listed, attachment=attachment, cuts=cuts)

    def _kept_ids(self, listed: list[str]) -> list[str]:
        return [record_id for record_id in listed if record_id not in self._plan.gone]

    def _cut_vectors(self) -> None:
        for path, body in Vectors(self._base).without(self._plan.gone).items():
            if body is None:
                self._dropped.add(path)
            else:
                self._bodies[path] = body

    def _cut_texts(self) -> None:
        for entry in self._base.entries():
            if entry.path == layout.MANIFEST or not metas.is_file(entry.meta) or entry.path in self._bodies:
                continue
            try:
                self._cut_text(entry, self._base.body(entry.path))
            except BodyAbsent:
                continue
        for record in self._base.records():
            if record.id not in self._plan.gone and any(form in record.line for form in self._escaped):
                self.warnings.append(f"the record {record.id} holds the same text and was not named")

    def _cut_text(self, entry: Entry, body: bytes) -> None:
        spans = passages.find(body, passages.forms(self._texts_for(entry), is_json=passages.is_json(entry.path)))
        if not spans:
            return
        new = passages.without(body, spans)
        if not entry.path.startswith(_CUTTABLE) or not passages.still_reads(entry.path, new):
            self.warnings.append(f"{entry.path} holds the text of a purged record and was left as it is")
            return
        self._bodies[entry.path] = new
        self._moved_cuts[entry.path] = passages.moved(entry.meta.get(metas.CUTS, []), spans)
        self.cut_files.append(entry.path)

    def _texts_for(self, entry: Entry) -> list[str]:
        listed = set(entry.meta.get(metas.RECORDS, []))
        return [
            text
            for record_id, text in self._plan.texts.items()
            if record_id in listed or len(text.strip()) >= _SHORTEST_PASSAGE
        ]

    def _add_partitions(self) -> None:
        """The head with a partition that only a tombstone needs."""
        known = self._base.partitions
        missing = {file for file, _ in self._plan.tombstones} - {item.file for item in known}
        if not missing:
            return
        head = codec.decode(self._base.body(layout.MANIFEST))
        added = [partitions.from_name(file) for file in sorted(missing)]
        listed = [partitions.to_item(item) for item in partitions.replaced(known, added)]
        self._bodies[layout.MANIFEST] = codec.encode_pretty({**head, "partitions": listed})


# What is said ---------------------------------------------------------------------------------------------------


def _counts(plan: _Plan) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record in plan.gone.values():
        counts[record.partition] = counts.get(record.partition, 0) + 1
    return dict(sorted(counts.items()))


def _audit(state: State, plan: _Plan, reason: str, requested_by: str, now: datetime) -> JsonObject:
    moment = times.to_text(now)
    touched = {record.partition for record in plan.gone.values()} | {file for file, _ in plan.tombstones}
    touched |= {record.partition for name in plan.relinked if (record := state.record(name)) is not None}
    return {
        "purge_id": ids.new(moment),
        "agent_id": state.sequence.agent_id,
        "scope": "record_purge",
        "record_ids": sorted(plan.gone),
        "partitions_affected": sorted(touched),
        "reason": reason,
        "requested_at": moment,
        "completed_at": moment,
        "requested_by": requested_by,
    }


def _primary_principal(state: State) -> str:
    """The first human principal, else the first one, else the agent itself."""
    if state.entry(layout.PRINCIPALS) is None:
        return state.sequence.agent_id
    listed = codec.decode(state.body(layout.PRINCIPALS)).get("principals", [])
    humans = [item for item in listed if records.reads_as("principal_type", str(item.get("principal_type"))) == "human"]
    return str((humans or listed or [{"id": state.sequence.agent_id}])[0]["id"])
