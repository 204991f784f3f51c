"""Commit one capture in one transaction: bodies, rows, digest, signature, audit; or nothing."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.seams.file_operations import FileOperations, read_all
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import BodyAbsent, Leaf, Sequence
from lifeboat_vault.bodies.body_objects import ObjectReader, ObjectWriter
from lifeboat_vault.bodies.redacted_arrivals import RedactedArrivals
from lifeboat_vault.bodies.vault_redactions import NOTHING_KNOWN, VaultRedactions
from lifeboat_vault.errors import DraftInvalid, VaultDamaged
from lifeboat_vault.rows import audit_chain, bucket_digests
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import META
from lifeboat_vault.store.store_protocols import MetadataStore, Row
from lifeboat_vault.vault.draft import Body, Draft, EntryPut, RecordPut

Sign = Callable[[Sequence], JsonObject | None]

_CHUNK = 500


@dataclass(frozen=True, slots=True)
class SequenceOrigin:
    """Origin of a sequence and its place in the log."""

    agent_id: str
    number: int
    base: int | None
    epoch: int
    time: str
    raw_time: str
    kind: str
    writer: str


class _EntryRow(NamedTuple):
    """An actual change of an entry. `object` None removes the path. `path` and `meta` are stored values."""

    path: str
    object: int | None
    meta: str
    bucket: int


class _LiveRecord(NamedTuple):
    """A live record; `partition` is a stored value."""

    id: str
    partition: str
    position: int
    first: int
    object: int


class _RecordRow(NamedTuple):
    """A row to write for a record."""

    put: RecordPut
    position: int
    replaces: bool


class SequenceCommit:
    """Writes the rows of one new sequence, inside one open transaction."""

    def __init__(
        self,
        metadata: MetadataStore,
        objects: ObjectReader,
        writer: ObjectWriter,
        files: FileOperations,
        seed: bytes,
        hashes: list[bytes] | None = None,
        known: VaultRedactions = NOTHING_KNOWN,
    ) -> None:
        """Take the stores. `hashes` are those of the head's buckets, if known, and afterwards those of the new head.
        `known` are the redactions of the vault."""
        self._metadata = metadata
        self._objects = objects
        self._columns = objects.columns
        self._writer = writer
        self._files = files
        self._seed = seed
        self.hashes = hashes
        self._known = known
        self._arriving = RedactedArrivals(known)
        self._with_leaf: dict[bytes, int | None] = {}
        self._touched: set[int] = set()
        self._counts = {"put": 0, "removed": 0, "create": 0, "update": 0, "delete": 0}

    def run(
        self,
        draft: Draft,
        origin: SequenceOrigin,
        now: datetime,
        sign: Sign | None,
        *,
        even_if_equal: bool,
    ) -> bool:
        """Write everything; return False when the draft changes nothing. Then nothing is written, unless the sequence
        is wanted `even_if_equal`."""
        self._arriving = RedactedArrivals(self._known, draft.redactions)
        self._write_records(draft.records, origin.number)
        entries = self._store_bodies(draft.entries)
        reach_crash_point(CrashPoint.CAPTURE_ROWS_WRITTEN)
        self._write_entries(entries, origin.number)
        changed = bool(self._touched)
        if changed or even_if_equal:
            self._write_sequence(origin, now, sign, draft.counts)
            reach_crash_point(CrashPoint.CAPTURE_COMMITTED)
        return changed

    # Entries ----------------------------------------------------------------------------------------------------

    def _store_bodies(self, puts: Mapping[str, EntryPut | None]) -> list[_EntryRow]:
        changed = [row for path, put in puts.items() if (row := self._entry_row(path, put)) is not None]
        reach_crash_point(CrashPoint.CAPTURE_BODIES_WRITTEN)
        self._writer.flush()
        return changed

    def _entry_row(self, path: str, put: EntryPut | None) -> _EntryRow | None:
        """Return the row for a path; None when it does not change."""
        key = self._columns.path(path)
        live = self._metadata.row(sql.LIVE_ENTRY, (key, key))
        bucket = merkle.bucket_of(merkle.entry_key(path))
        if put is None:
            return None if live is None else _EntryRow(key, None, "", bucket)
        meta = json_codec.encode_json(put.meta).decode()
        number = self._object_for(path, put, live)
        if live is not None and live[0] == number and _same_json(self._columns.text_of(META, live[1]), meta):
            return None
        return _EntryRow(key, number, self._columns.text(META, meta), bucket)

    def _object_for(self, path: str, put: EntryPut, live: Row | None) -> int:
        """Return the object with the bytes of a put: the live one, another one with the same content, or a new one."""
        body = self._body_of(put)
        if body is None:
            return self._object_without_body(path, put, live)
        leaf = put.leaf
        if leaf is not None:
            leaf, body = self._arriving.entry(path, leaf, body)
        held = None if live is None else int(live[0])
        if leaf is not None and not leaf.salt:
            return self._replaced(leaf, body, held)
        sha256 = hashlib.sha256(body).digest()
        twin = self._twin(sha256, len(body), leaf, held)
        if twin is None:
            number = self._writer.put(body, sha256, leaf=leaf, base=held)
            if leaf is not None:
                self._with_leaf[leaf.digest] = number
            return number
        if not self._reads_as(twin, body):
            self._writer.heal(twin, body)  # the stored bytes are damaged, and the right ones are here
        return twin

    def _reads_as(self, number: int, body: bytes) -> bool:
        try:
            return self._objects.read(number) == body
        except (BodyAbsent, VaultDamaged):
            return False

    def _replaced(self, leaf: Leaf, body: bytes, held: int | None) -> int:
        """Return the object for the bytes that replace a leaf. It has no hash, so that other content is never
        deduplicated with it."""
        found = [number for (number,) in self._metadata.rows(sql.REPLACED_OBJECTS, (leaf.digest,))]
        same = [number for number in found if self._objects.read(number) == body]
        if held is not None and held in same:
            return held
        return same[0] if same else self._writer.put(body, None, leaf=leaf, base=held)

    def _body_of(self, put: EntryPut) -> bytes | None:
        """Return the bytes of a put; None when it has none, or only names by its leaf bytes that are elsewhere."""
        if put.body is None:
            return None
        try:
            return _bytes_of(put.body, self._files)
        except BodyAbsent:
            if put.leaf is None:
                raise
            return None

    def _twin(self, sha256: bytes, size: int, leaf: Leaf | None, held: int | None) -> int | None:
        """Return an object with the same content (and leaf, if given), preferring `held`: content that moved or came
        back. Only a few candidates are examined, because common content such as empty files has very many."""
        content = (self._columns.sha256(sha256), size)
        if held is not None:
            row = self._metadata.row(sql.OBJECT_CHECK, (held,))
            if row is not None and row[3:5] == content and row[5] and (leaf is None or row[1] == leaf.digest):
                return held
        if leaf is None:
            found = self._metadata.row(sql.OBJECT_WITH_CONTENT, content)
            return None if found is None else int(found[0])
        if leaf.digest not in self._with_leaf:
            rows = self._metadata.rows(sql.OBJECTS_WITH_LEAF, (leaf.digest,))
            self._with_leaf[leaf.digest] = next((number for number, *of in rows if tuple(of) == content), None)
        return self._with_leaf[leaf.digest]

    def _object_without_body(self, path: str, put: EntryPut, live: Row | None) -> int:
        if put.leaf is None and live is not None:
            return int(live[0])
        if put.leaf is None:
            raise DraftInvalid(f"the content of {path} is missing from the change and from the newest sequence")
        if live is not None and live[2] == put.leaf.digest:
            return int(live[0])
        if self._known.applied.naming(put.leaf.digest) is None:
            # Bytes that arrived for another path or sequence under this leaf; their new description proves nothing.
            held = self._metadata.row(sql.OBJECTS_WITH_LEAF, (put.leaf.digest,))
            if held is not None:
                return int(held[0])
        leaf, digest = self._arriving.entry_without_body(put.leaf, put.sha256)
        return self._writer.put_absent(leaf, None if digest is None else bytes.fromhex(digest), put.size)

    def _write_entries(self, rows: list[_EntryRow], number: int) -> None:
        self._metadata.execute_many(sql.END_ENTRY, [(number, row.path, row.path) for row in rows])
        place = self._columns.entry_bucket
        added = [(row.path, row.object, row.meta, place(row.bucket), number) for row in rows if row.object is not None]
        self._metadata.execute_many(sql.ADD_ENTRY, added)
        self._touched.update(row.bucket for row in rows)
        self._counts["put"] += len(added)
        self._counts["removed"] += len(rows) - len(added)

    # Records ----------------------------------------------------------------------------------------------------

    def _write_records(self, puts: Iterable[RecordPut], number: int) -> None:
        known = self._metadata.row(sql.ANY_RECORD) is not None
        ends: dict[str, int] = {}
        for chunk in _chunks(puts):
            live = self._live(chunk) if known else {}
            rows = [row for put in chunk if (row := self._record_row(put, live.get(put.id), number, ends))]
            self._write_chunk(rows, number)

    def _live(self, chunk: list[RecordPut]) -> dict[str, _LiveRecord]:
        found = self._metadata.rows(sql.live_records_named(len(chunk)), [put.id for put in chunk])
        return {row[0]: _LiveRecord(*row) for row in found}

    def _record_row(
        self, put: RecordPut, live: _LiveRecord | None, number: int, ends: dict[str, int]
    ) -> _RecordRow | None:
        """Return the row for a line: over the live one, or at the end of its partition; None when it is there
        already."""
        if put.leaf is not None:
            leaf, line = self._arriving.line(put.id, put.leaf, put.line)
            put = put._replace(leaf=leaf, line=line)
        elif put.line is None:
            raise DraftInvalid(f"the record {put.id} has neither content nor a hash")
        if live is None:
            if put.operation == "update":
                raise DraftInvalid(f"the record {put.id} cannot be updated, because it is not in the newest sequence")
            return _RecordRow(put, self._take_position(put.partition, ends), False)
        if put.operation == "create":
            raise DraftInvalid(f"the record {put.id} cannot be created, because it exists already")
        if live.first == number:
            raise DraftInvalid(f"the change contains the record {put.id} twice")
        if live.partition != self._columns.partition(put.partition):
            known = self._columns.partition_of(live.partition)
            raise DraftInvalid(f"the record {put.id} belongs to the partition {known}, not to {put.partition}")
        if put.leaf is None and self._line(live.object) == put.line:
            return None
        return _RecordRow(put, live.position, True)

    def _line(self, number: int) -> bytes | None:
        """Return the line of an object; None for a gone record."""
        try:
            return self._objects.read(number)
        except BodyAbsent:
            return None

    def _take_position(self, partition: str, ends: dict[str, int]) -> int:
        if partition not in ends:
            row = self._metadata.row(sql.END_POSITION, (self._columns.partition(partition),))
            ends[partition] = row[0] if row else 0
        ends[partition] += 1
        return ends[partition] - 1

    def _write_chunk(self, rows: list[_RecordRow], number: int) -> None:
        if not rows:
            return
        lines, leaves = [row.put.line for row in rows], [row.put.leaf for row in rows]
        objects = self._writer.put_lines(lines, leaves)
        replaced = [row.put.id for row in rows if row.replaces]
        self._metadata.execute_many(sql.END_RECORD, [(number, record_id, record_id) for record_id in replaced])
        self._metadata.execute_many(sql.ADD_RECORD, self._rows_to_add(rows, objects, number))

    def _rows_to_add(self, rows: list[_RecordRow], objects: range, number: int) -> Iterator[tuple[object, ...]]:
        columns = self._columns
        for (put, position, _), held in zip(rows, objects, strict=True):
            bucket = merkle.bucket_of(merkle.record_key(put.id))
            self._touched.add(bucket)
            self._counts[put.operation] += 1
            content = content_key(self._seed, put.line) if columns.is_plain and put.line is not None else None
            yield put.id, columns.partition(put.partition), position, held, bucket, content, number

    # The sequence -----------------------------------------------------------------------------------------------

    def _write_sequence(
        self, origin: SequenceOrigin, now: datetime, sign: Sign | None, counts: JsonObject | None
    ) -> None:
        self.hashes = bucket_digests.update_buckets(self._metadata, self._columns, self._touched, self.hashes)
        root = merkle.merkle_root(self.hashes)
        sequence = Sequence(origin.agent_id, origin.number, origin.base, origin.epoch, origin.time, root)
        signature = None if sign is None else sign(sequence)
        self._metadata.execute(
            sql.ADD_SEQUENCE, self._sequence_values(origin, replace(sequence, signature=signature), counts)
        )
        details = {"base": origin.base, "digest": root.hex(), "kind": origin.kind, "changes": self._counts}
        audit_chain.append_row(self._metadata, now, "commit", str(origin.number), details)

    def _sequence_values(
        self, origin: SequenceOrigin, sequence: Sequence, counts: JsonObject | None
    ) -> tuple[object, ...]:
        signature = None if sequence.signature is None else json_codec.encode_json(sequence.signature).decode()
        numbers = json_codec.encode_json(self._counts if counts is None else counts).decode()
        place = (sequence.number, sequence.base, sequence.epoch, sequence.time, origin.raw_time)
        return (*place, origin.kind, origin.writer, sequence.digest, signature, None, numbers, self._writer.stored)


class _ContentOnly(msgspec.Struct):
    """The content of a record; other fields are skipped."""

    content: str | None = None


_content = msgspec.json.Decoder(_ContentOnly)


def content_key(seed: bytes, line: bytes) -> bytes | None:
    """Return a keyed digest of a record's content, to find a memory that moved; None for a line without text."""
    content = read_text_content(line)
    return None if content is None else text_key(seed, content)


def read_text_content(line: bytes) -> str | None:
    """Return a record's content if it is text."""
    try:
        return _content.decode(line).content
    except msgspec.MsgspecError:
        return None


def text_key(seed: bytes, text: str) -> bytes:
    """Return BLAKE2b of a text, keyed with the vault's seed, which reveals nothing outside this vault."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=seed, digest_size=16).digest()


def _chunks(puts: Iterable[RecordPut]) -> Iterator[list[RecordPut]]:
    iterator = iter(puts)
    while chunk := list(itertools.islice(iterator, _CHUNK)):
        yield chunk


def _bytes_of(body: Body, files: FileOperations) -> bytes:
    if isinstance(body, bytes):
        return body
    return read_all(files, body) if isinstance(body, Path) else body()


def _same_json(old: str, new: str) -> bool:
    """Return whether two metas are equal: the same text, or the same value in another key order."""
    if old == new:
        return True
    return json_codec.encode_canonical(json_codec.decode_json(old.encode())) == json_codec.encode_canonical(
        json_codec.decode_json(new.encode())
    )
