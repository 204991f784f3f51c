"""Apply deltas to a state without copying it. Memory grows with the delta, not with the base.

Deltas stack: `AppliedState(AppliedState(snapshot, first), second)`. Applying checks a delta against its base: agent,
sequence numbers and digests of the base's bytes. Signatures are checked by the caller that trusts a key.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from functools import cached_property

from lifeboat_alf.archive import archive_layout, artifact_index, leaf_rows
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas import zstd_patch
from lifeboat_alf.deltas.delta_reader import DeltaItem, DeltaReader, RecordLine
from lifeboat_alf.deltas.record_places import ForeignPlaces, StatedPlaces
from lifeboat_alf.errors import ApplyError, ArchiveError, BadDocument, RedactionInvalid, SignatureError
from lifeboat_alf.memory import memory_records, partitions
from lifeboat_alf.redaction.redacted_state import RedactedState
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.states import entry_metas, merkle
from lifeboat_alf.states.agent_state import (
    ABSENT_LEAF,
    BatchQueryState,
    BodyAbsent,
    Entry,
    GoneRecord,
    Leaf,
    Partition,
    Record,
    RecordChange,
    Sequence,
    State,
    path_key,
    record_place,
)

_TOGETHER = 64
"""How many lines of a delta are looked up in one request when the base is remote."""
_KEPT = 1 << 20
"""Bytes of unpacked bodies to cache. Each body is asked for more than once, and most are small."""


class AppliedState:
    """A `State`: `base` with `delta` on top. Both must stay open while it is used.

    The redactions of base and delta apply to both. Raises ApplyError.WRONG_AGENT and ApplyError.BASE_MISMATCH when the
    delta is for another base, ApplyError and ArchiveError when it does not fit, and SignatureError for bytes under a
    leaf without a salt that no redaction explains.
    """

    def __init__(self, base: State, delta: DeltaReader) -> None:
        _check_fit(base.sequence, delta)
        held = base.redactions
        self._redactions = held.beside(delta.redactions)
        self._certain = self._redactions.without_waiting()
        self._base = base if self._redactions is held else RedactedState(base, delta.redactions.without_waiting())
        self._delta = delta
        self._items = {item.path: item for item in delta.items}
        self._entries: dict[str, Entry | None] = {}
        self._made: dict[str, bytes] = {}
        self._room = _KEPT
        self._removed = set(delta.removed_records)
        self._unknown: set[str] = set()
        self._in_place: dict[str, Record] = {}
        self._appended: dict[str, Record] = {}
        self._restored: dict[str, Record] = {}
        self._gone: dict[str, GoneRecord] = {}
        self._lay_gone()
        rows = _DeltaLeaves(delta)
        self._lay_entries(rows)
        self._lay_records(rows)
        rows.finish()

    @property
    def sequence(self) -> Sequence:
        found = self._delta.sequence
        return found if found.digest else replace(found, epoch=self._base.sequence.epoch)

    # Changes of the delta -----------------------------------------------------------------------------------------

    @property
    def base(self) -> State:
        return self._base

    @property
    def changed_entries(self) -> Mapping[str, Entry | None]:
        """Return the entries that the delta sets, by path; None for those it removes."""
        return self._entries

    def changed_records(self) -> Iterator[RecordChange]:
        """Yield the records that the delta changes, in order: `update` for a replaced one, `create` for an appended
        one."""
        yield from (RecordChange("update", record) for record in self._in_place.values())
        yield from (RecordChange("update", record) for record in self._restored.values())
        yield from (RecordChange("create", record) for record in sorted(self._appended.values(), key=record_place))

    def changed_gone(self) -> Iterator[GoneRecord]:
        """Yield the records that have no line after the delta, in order."""
        yield from sorted(self._gone.values(), key=record_place)

    @property
    def removed_records(self) -> Set[str]:
        """Return the ids that the new state lacks."""
        return self._removed

    # Entries ------------------------------------------------------------------------------------------------------

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        laid = sorted((path for path in self._entries if path.startswith(prefix)), key=path_key)
        kept = (entry for entry in self._base.entries(prefix) if entry.path not in self._entries)
        new = (entry for path in laid if (entry := self._entries[path]) is not None)
        return heapq.merge(kept, new, key=lambda entry: path_key(entry.path))

    def entry(self, path: str) -> Entry | None:
        return self._entries[path] if path in self._entries else self._base.entry(path)

    def body(self, path: str) -> bytes:
        if path not in self._entries:
            return self._base.body(path)
        entry = self._entries[path]
        if entry is None:
            raise KeyError(path)
        if path in self._made:
            return self._made[path]
        return self._body_of(self._items[path])

    def _body_of(self, item: DeltaItem) -> bytes:
        if item.entry is None:
            return self._unchanged_body(item)
        data = self._delta.read(item.entry)
        if item.operation == "patch":
            data = zstd_patch.apply_patch(self._held_body(item), data, item.size or 0)
        if item.size not in (None, len(data)):
            raise ArchiveError.CHECKSUM(
                f"the file has {len(data)} bytes, but the delta lists {item.size}", entry=item.path
            )
        if item.sha256 is not None and hashlib.sha256(data).hexdigest() != item.sha256:
            raise ArchiveError.CHECKSUM(
                "the content of the file does not match its digest in the delta", entry=item.path
            )
        if len(data) <= self._room:
            self._room -= len(data)
            self._made[item.path] = data
        return data

    def _unchanged_body(self, item: DeltaItem) -> bytes:
        base = self._base.entry(item.path)
        same = base is not None and (item.keeps_leaf or (item.sha256 is not None and base.sha256 == item.sha256))
        if not same:
            raise BodyAbsent(item.path)
        return self._base.body(item.path)

    def _held_body(self, item: DeltaItem) -> bytes:
        """Return the base's bytes for a patch. They must be those the patch was made against."""
        base = self._base.entry(item.path)
        if base is None or (base.leaf.salt and base.sha256 != item.base_sha256):
            raise ApplyError.BASE_MISMATCH(
                f"the patch for {item.path} was made for a different version of the file than the one in the base"
            )
        try:
            body = self._base.body(item.path)
        except BodyAbsent:
            raise ApplyError.BASE_MISMATCH(
                f"the patch for {item.path} needs the earlier content of the file, which the base does not contain"
            ) from None
        if not base.leaf.salt and hashlib.sha256(body).hexdigest() != item.base_sha256:
            raise ApplyError.BASE_MISMATCH(
                f"the patch for {item.path} belongs to content that a purge has changed in the base"
            )
        return body

    def _lay_entries(self, rows: _DeltaLeaves) -> None:
        joins = _MetaParts(self._delta)
        head = self._delta.head
        for item in _with_head(self._delta.items, head is not None):
            if item is None:
                self._lay_head(json_codec.encode_pretty(head), rows)
            elif item.operation == "remove":
                self._entries[item.path] = None
            else:
                self._entries[item.path] = self._laid(item, joins, rows)
        joins.finish(self._entries)

    def _lay_head(self, body: bytes, rows: _DeltaLeaves | None) -> None:
        leaf = rows.take(lambda: body) if rows else merkle.new_leaf(body)
        made = Entry(archive_layout.MANIFEST, {}, leaf, len(body), hashlib.sha256(body).hexdigest())
        self._made[archive_layout.MANIFEST] = body
        self._entries[archive_layout.MANIFEST] = self._arrived(made, lambda: body)

    def _laid(self, item: DeltaItem, joins: _MetaParts, rows: _DeltaLeaves) -> Entry:
        base = self._base.entry(item.path)
        if item.keeps_leaf:
            if base is None:
                raise ApplyError.BASE_MISMATCH(
                    f"the delta keeps the earlier content of {item.path}, but the base does not contain that file"
                )
            leaf = base.leaf
        else:
            leaf = rows.take(lambda: self._body_of(item), absent=item.entry is None)
        size, sha256 = item.size, item.sha256
        if size is None:
            data = self._delta.read(item.entry or "")
            size, sha256 = len(data), hashlib.sha256(data).hexdigest()
        made = Entry(item.path, joins.meta(item, base), leaf, size, sha256)
        if item.entry is None:
            return made._replace(leaf=Leaf(leaf.digest), sha256=None) if self._is_named(leaf) else made
        return self._arrived(made, lambda: self._body_of(item))

    def _is_named(self, leaf: Leaf) -> bool:
        return self._certain.naming(leaf.digest) is not None

    def _arrived(self, entry: Entry, body: Callable[[], bytes]) -> Entry:
        """Return an entry as a redaction leaves it."""
        if entry.leaf.salt and not self._is_named(entry.leaf):
            return entry
        leaf, data = _arrived(self._redactions, entry.leaf, body(), entry.path)
        self._made[entry.path] = data or b""
        return entry if leaf.salt else entry._replace(leaf=leaf, size=len(data or b""), sha256=None)

    # Records ------------------------------------------------------------------------------------------------------

    def records(self, partition: str | None = None) -> Iterator[Record]:
        if not self._appended and not self._restored:
            return self._kept(partition)
        added = (*self._appended.values(), *self._restored.values())
        found = sorted((item for item in added if partition in (None, item.partition)), key=record_place)
        return heapq.merge(self._kept(partition), found, key=record_place)

    def _kept(self, partition: str | None) -> Iterator[Record]:
        for record in self._base.records(partition):
            if record.id not in self._removed and record.id not in self._gone:
                yield self._in_place.get(record.id, record)

    def record(self, record_id: str) -> Record | None:
        found = self._in_place.get(record_id) or self._appended.get(record_id) or self._restored.get(record_id)
        if found is not None or record_id in self._removed or record_id in self._gone:
            return found
        return None if record_id in self._unknown else self._base.record(record_id)

    def gone(self) -> Iterator[GoneRecord]:
        changed = self._removed | self._gone.keys() | self._restored.keys()
        kept = (record for record in self._base.gone() if record.id not in changed)
        return heapq.merge(kept, self.changed_gone(), key=record_place)

    @property
    def redactions(self) -> Redactions:
        return self._redactions

    def _lay_gone(self) -> None:
        for gone in self._delta.gone:
            known = self._base.record(gone.id) if gone.id not in self._removed else None
            if known is not None and record_place(known) != record_place(gone):
                raise ApplyError(
                    f"the delta removes the record {gone.id} at a position where the base does not contain it"
                )
            self._gone[gone.id] = gone

    @cached_property
    def _gone_before(self) -> dict[str, GoneRecord]:
        return {record.id: record for record in self._base.gone() if record.id not in self._removed}

    def _lay_records(self, rows: _DeltaLeaves) -> None:
        places = ForeignPlaces(self, self._head()) if self._delta.foreign else StatedPlaces(self._delta)
        for line in self._lines():
            memory_records.check_shape(
                memory_records.parse_record(line.line), entry=archive_layout.DELTA_RECORDS, line=line.number
            )
            place = places.of(line)
            if line.id in self._gone:
                raise BadDocument(
                    f"the delta contains the record {line.id} and also lists it as removed",
                    entry=archive_layout.REDACTIONS,
                )
            known = self.record(line.id)
            if known is not None:
                self._replace(known, line, rows)
            elif line.operation in ("update", "delete") and line.id in self._gone_before:
                self._restore(self._gone_before[line.id], line, rows)
            elif line.operation == "create" or (line.operation == "delete" and _supersedes(line)):
                self._append(line, place(), rows)
            elif not self._delta.foreign:
                raise ApplyError(
                    f"the delta contains the operation {line.operation} for the record {line.id}, which "
                    "is not in the base"
                )
        self._lay_partitions(places.opened)

    def _lines(self) -> Iterator[RecordLine]:
        """Yield the delta's lines. Unknown ids are looked up in the base in batches."""
        lines = self._delta.records()
        while some := list(itertools.islice(lines, _TOGETHER)):
            if isinstance(self._base, BatchQueryState):
                self._unknown |= self._base.unknown_records([line.id for line in some])
            yield from some

    def _replace(self, known: Record, line: RecordLine, rows: _DeltaLeaves) -> None:
        """Replace a record in place.

        The reference client ignores a `create` of a record that exists; here that would be an id conflict. It also
        ignores changes to an unknown record. It treats a deleted record as unknown, so such a record may be created
        again.
        """
        if not self._delta.foreign:
            if line.operation == "create":
                raise ApplyError(f"the delta creates the record {line.id}, which is in the base already")
        elif memory_records.is_deleted(memory_records.parse_record(known.line)) != (line.operation == "create"):
            return
        data = _dead(line.line) if line.operation == "delete" else line.line
        made = known._replace(line=data, leaf=rows.take(lambda: data))
        self._lay(made, self._appended if line.id in self._appended else self._in_place)

    def _restore(self, gone: GoneRecord, line: RecordLine, rows: _DeltaLeaves) -> None:
        """Set a line for a record whose line was purged."""
        leaf = rows.take(lambda: line.line)
        self._lay(Record(line.id, gone.partition, gone.position, leaf, line.line), self._restored)

    def _append(self, line: RecordLine, place: tuple[str, int], rows: _DeltaLeaves) -> None:
        leaf = rows.take(lambda: line.line)
        self._lay(Record(line.id, place[0], place[1], leaf, line.line), self._appended)

    def _lay(self, record: Record, among: dict[str, Record]) -> None:
        """Store a record as a redaction leaves it."""
        if record.leaf.salt and not self._is_named(record.leaf):
            among[record.id] = record
            return
        leaf, line = _arrived(self._redactions, record.leaf, record.line, f"the record {record.id}")
        if line is not None:
            among[record.id] = record._replace(leaf=leaf, line=line)
            return
        self._gone[record.id] = GoneRecord(record.id, record.partition, record.position, leaf)

    def _lay_partitions(self, opened: list[Partition]) -> None:
        """Build a new head when the delta opens or seals partitions without bringing a head."""
        if self._delta.head is not None or not (opened or self._delta.sealed):
            return
        head = self._head()
        known = partitions.from_head(head)
        listed = partitions.replace_partitions(known, [*opened, *_closed([*known, *opened], self._delta.sealed)])
        if listed != known:
            items = [partitions.to_item(partition) for partition in listed]
            self._lay_head(json_codec.encode_pretty({**head, "partitions": items}), None)

    def _head(self) -> JsonObject:
        if self.entry(archive_layout.MANIFEST) is None:
            return {}
        head: JsonObject = json_codec.decode_json(self.body(archive_layout.MANIFEST))
        return head


def _check_fit(base: Sequence, delta: DeltaReader) -> None:
    if delta.agent_id.lower() != base.agent_id.lower():
        raise ApplyError.WRONG_AGENT(
            f"the delta belongs to the agent {delta.agent_id}, but the base belongs to {base.agent_id}"
        )
    if delta.base_sequence != base.number:
        raise ApplyError.BASE_MISMATCH(
            f"the delta needs a base with sequence {delta.base_sequence}, but the base has sequence {base.number}"
        )


def _with_head(items: list[DeltaItem], has_head: bool) -> Iterator[DeltaItem | None]:
    """Yield the changed entries by path, with None at the place of the manifest's head."""
    own = path_key(archive_layout.MANIFEST)
    before = [item for item in items if path_key(item.path) < own]
    rest = items[len(before) :]
    if has_head and rest and rest[0].path == archive_layout.MANIFEST:
        raise BadDocument("the delta lists the manifest twice", entry=archive_layout.MANIFEST)
    yield from before
    if has_head:
        yield None
    yield from rest


def _arrived(known: Redactions, leaf: Leaf, body: bytes, name: str) -> tuple[Leaf, bytes | None]:
    """Return the leaf and the bytes to store for arrived bytes; None for no bytes. Raises SignatureError for bytes that
    neither leaf nor redaction covers."""
    try:
        return known.arrived(leaf, body)
    except RedactionInvalid as error:
        raise SignatureError(f"the content of {name} was changed: {error.message}") from None


def _supersedes(line: RecordLine) -> bool:
    return bool(memory_records.parse_record(line.line).get("supersedes"))


def _dead(line: bytes) -> bytes:
    """Return the line of a record that is deleted in place. The reference client sends it with its old status."""
    record = memory_records.parse_record(line)
    return line if memory_records.is_deleted(record) else memory_records.line_of({**record, "status": "deleted"})


def _closed(known: list[Partition], sealed: list[JsonObject]) -> list[Partition]:
    days = {item.get("file"): item.get("to") for item in sealed}
    return [replace(p, sealed=True, last=days[p.file]) for p in known if p.file in days and not p.sealed]


class _DeltaLeaves:
    """Iterator over the leaves of a delta; makes fresh leaves for a delta without any."""

    def __init__(self, delta: DeltaReader) -> None:
        self._rows = None if delta.foreign else leaf_rows.LeafRows(delta.read(archive_layout.LEAVES))
        self._next = 0

    def take(self, body: Callable[[], bytes], *, absent: bool = False) -> Leaf:
        if self._rows is None:
            return Leaf(ABSENT_LEAF) if absent else merkle.new_leaf(body())
        if self._next >= len(self._rows):
            raise BadDocument(
                "the list of hashes has fewer rows than the delta has entries", entry=archive_layout.LEAVES
            )
        salt, digest = self._rows[self._next]
        self._next += 1
        if absent and not digest:
            raise BadDocument(
                "the delta contains neither the content of a file nor its hash", entry=archive_layout.LEAVES
            )
        return Leaf(digest or hashlib.sha256(salt + body()).digest(), salt)

    def finish(self) -> None:
        if self._rows is not None and self._next != len(self._rows):
            raise BadDocument(
                "the list of hashes has more rows than the delta has entries", entry=archive_layout.LEAVES
            )


class _MetaParts:
    """Joins the meta parts that a delta keeps in separate documents, by path."""

    def __init__(self, delta: DeltaReader) -> None:
        self._files, self._cuts = delta.files, delta.cuts
        self._removed = set(delta.removed_attachments)
        read = (
            artifact_index.decode_artifact(item, _AnyName(), number=n) for n, item in enumerate(delta.attachments, 1)
        )
        self._attachments = {item.path: item.fields for item in read}

    def meta(self, item: DeltaItem, base: Entry | None) -> JsonObject:
        old: JsonObject = base.meta if base is not None else {}
        joined = entry_metas.join_meta_parts(
            item.meta,
            records=self._files.get(item.path, old.get(entry_metas.RECORDS)),
            attachment=self._attachments.get(item.path, self._kept(old.get(entry_metas.ATTACHMENT))),
            cuts=self._cuts.get(item.path, old.get(entry_metas.CUTS)),
        )
        return entry_metas.check_meta(item.path, joined)

    def _kept(self, attachment: JsonObject | None) -> JsonObject | None:
        return None if attachment is None or attachment.get("id") in self._removed else attachment

    def finish(self, laid: dict[str, Entry | None]) -> None:
        for path in (*self._files, *self._cuts, *self._attachments):
            if laid.get(path) is None:
                raise BadDocument(
                    f"the delta changes properties of {path}, but does not list that file",
                    entry=archive_layout.MANIFEST,
                )


class _AnyName:
    """A container that holds every name. In a delta an artifact's bytes may be a patch, or those of the base."""

    def __contains__(self, name: object) -> bool:
        return True
