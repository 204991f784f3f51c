"""Restore a kept state as it was signed, where rows of the vault were lost or changed.

The state comes from elsewhere and is not trusted: its items must give the digest that the vault keeps for the sequence.
Rows change so that this sequence reads as it was signed and every other one as before. Then the same change is tried at
neighbouring sequences, and kept where their digest comes out too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from lifeboat_alf.common import json_codec
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import ABSENT_LEAF, BodyAbsent, Entry, GoneRecord, Leaf, Record, State
from lifeboat_vault.bodies.body_objects import ObjectReader, ObjectWriter
from lifeboat_vault.bodies.redacted_arrivals import RedactedArrivals
from lifeboat_vault.bodies.vault_redactions import VaultRedactions
from lifeboat_vault.errors import DraftInvalid, VaultDamaged
from lifeboat_vault.retention.thin_sequences import drop_objects, reencode_resting
from lifeboat_vault.rows import bucket_digests
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import META
from lifeboat_vault.rows.row_spans import KeptSequences, RowSpan, replace_at_sequence
from lifeboat_vault.rows.sequence_rows import SequenceRow, json_of
from lifeboat_vault.store.store_protocols import MetadataStore, Row
from lifeboat_vault.vault.commit_sequence import content_key

Item = Entry | Record | GoneRecord


class RowKey(NamedTuple):
    """Key of a row: the id of a record, or a stored path."""

    is_record: bool
    held: str


class RowItem(NamedTuple):
    """Content of a row at one sequence: its key and hash in the digest (None where it is unreadable), and its
    object."""

    key: bytes
    hash: bytes | None
    object: int | None


@dataclass
class RowRepairReport:
    """The sequences that have their digest again, the number of written rows, and the objects that got their bytes."""

    numbers: list[int] = field(default_factory=list)
    rows: int = 0
    healed: set[int] = field(default_factory=set)


class RowDamage(NamedTuple):
    """Known damage of a vault. `kept` are all its sequences; only `states` among them are changed. `objects` never
    count as whole."""

    kept: Iterable[SequenceRow]
    states: Collection[int]
    objects: Collection[int]


class RowRepair:
    """Repairs rows inside one open transaction."""

    def __init__(
        self,
        metadata: MetadataStore,
        objects: ObjectReader,
        writer: ObjectWriter,
        seed: bytes,
        known: VaultRedactions,
        damage: RowDamage,
    ) -> None:
        self._metadata = metadata
        self._objects = objects
        self._columns = objects.columns
        self._writer = writer
        self._seed = seed
        self._known = known
        self._digests = {row.number: row.digest for row in damage.kept}
        self._kept = KeptSequences([*self._digests])
        self._damaged = set(damage.states)
        self._damaged_objects = set(damage.objects)
        self._done = RowRepairReport()

    def run(self, number: int, state: State) -> RowRepairReport:
        """Restore a kept sequence from `state`. Raises DraftInvalid where that differs from what was signed."""
        arriving = RedactedArrivals(self._known, state.redactions)
        present = self._present(number)
        changed, whole = self._compare(number, state, present)
        numbers = [number, *self._beside(number, changed)]
        reader = _ItemReader(state, arriving)
        for item_key, item in whole.items():
            self._heal(item_key, present, reader.read(item))
        self._write(numbers, changed, reader)
        self._writer.flush()
        self._check(numbers)
        self._done.numbers = sorted(numbers)
        return self._done

    # Comparing --------------------------------------------------------------------------------------------------

    def _compare(
        self, number: int, state: State, present: Mapping[RowKey, list[RowItem]]
    ) -> tuple[dict[RowKey, Item | None], dict[RowKey, Item]]:
        """Return the items that differ (None: to be removed), and those that agree but use damaged bytes."""
        changed: dict[RowKey, Item | None] = {key: None for key in present}
        whole: dict[RowKey, Item] = {}
        hashes = []
        for item in _items_of(state):
            key, hashed = self._key_of(item), _hashed(item)
            hashes.append(hashed)
            if [(found.key, found.hash) for found in present.get(key, ())] != [hashed]:
                changed[key] = item
                continue
            changed.pop(key, None)
            if present[key][0].object in self._damaged_objects:
                whole[key] = item
        if merkle.digest_of_items(hashes) != self._digests[number]:
            raise DraftInvalid(f"the received data does not match the signed sequence {number}")
        return changed, whole

    def _beside(self, number: int, changed: Mapping[RowKey, Item | None]) -> Iterator[int]:
        """Yield damaged neighbouring sequences that the same change repairs."""
        if not changed:
            return
        hashes = {key: None if item is None else _hashed(item) for key, item in changed.items()}
        for step in (self._kept.before, self._kept.after):
            beside = step(number)
            while beside in self._damaged and self._comes_out(beside, hashes):
                yield beside
                beside = step(beside)

    def _comes_out(self, number: int, changed: Mapping[RowKey, tuple[bytes, bytes] | None]) -> bool:
        found = self._present(number)
        items = [hashed for hashed in changed.values() if hashed is not None]
        for key, rows in found.items():
            if key in changed:
                continue
            if len(rows) != 1 or rows[0].hash is None:
                return False
            items.append((rows[0].key, rows[0].hash))
        return merkle.digest_of_items(items) == self._digests[number]

    def _check(self, numbers: Iterable[int]) -> None:
        """Check the written rows against the digests, as the tables have them now. Raises VaultDamaged."""
        for number in numbers:
            if not self._comes_out(number, {}):
                raise VaultDamaged(f"after the repair, sequence {number} still does not match its signature")

    # Present rows -----------------------------------------------------------------------------------------------

    def _present(self, number: int) -> dict[RowKey, list[RowItem]]:
        """Return every row alive at a sequence, including unreadable ones and those without their object."""
        found: dict[RowKey, list[RowItem]] = {}
        at = (number, number)
        for row in self._metadata.rows(sql.ENTRY_ROWS_AT, at):
            found.setdefault(RowKey(False, row[0]), []).append(self._entry_item(row))
        for record_id, partition, position, leaf, held in self._metadata.rows(sql.RECORD_ROWS_AT, at):
            item = self._record_item(record_id, partition, position, leaf, held)
            found.setdefault(RowKey(True, record_id), []).append(item)
        return found

    def _entry_item(self, row: Row) -> RowItem:
        held, meta, leaf, number = row
        try:
            path, text = self._columns.path_of(held), self._columns.text_of(META, meta)
            return RowItem(merkle.entry_key(path), merkle.entry_hash(path, json_of(text), leaf), number)
        except (VaultDamaged, TypeError, ValueError, AttributeError):
            return RowItem(b"", None, number)

    def _record_item(self, record_id: str, partition: str, position: int, leaf: bytes, number: int | None) -> RowItem:
        try:
            opened = self._columns.partition_of(partition)
            hashed = merkle.record_hash(record_id, opened, position, leaf)
            return RowItem(merkle.record_key(record_id), hashed, number)
        except (VaultDamaged, TypeError, ValueError, AttributeError):
            return RowItem(b"", None, number)

    def _key_of(self, item: Item) -> RowKey:
        return RowKey(False, self._columns.path(item.path)) if isinstance(item, Entry) else RowKey(True, item.id)

    # Writing ----------------------------------------------------------------------------------------------------

    def _write(self, numbers: list[int], changed: Mapping[RowKey, Item | None], reader: _ItemReader) -> None:
        """Write the rows. Old ones are removed first, because their replacement may have the same position."""
        reach_crash_point(CrashPoint.MEND_ROWS_WRITTEN)
        end_with(self._metadata, max(self._digests))
        added: list[tuple[RowKey, RowSpan, bool]] = []
        unused = set(self._damaged_objects)
        for key, item in changed.items():
            wanted = None if item is None else self._wanted(key, reader.read(item))
            before = self._stays(key)
            after = before
            for number in numbers:
                after = replace_at_sequence(after, self._kept, number, wanted)
            gone = [stay for stay in before if stay not in after]
            statement = sql.DROP_RECORD_STAY if key.is_record else sql.DROP_ENTRY_STAY
            self._metadata.execute_many(statement, [(key.held, stay.first) for stay in gone])
            unused.update(int(stay.columns[0]) for stay in gone)
            added += [(key, stay, stay.columns == (wanted and wanted.columns)) for stay in after if stay not in before]
        for key, stay, is_proven in sorted(added, key=lambda each: not each[2]):
            self._add(key, stay, is_proven=is_proven)
        if self._kept.after(max(numbers)) is None:
            rebuild_buckets(self._metadata, self._objects)
        drop_unused(self._metadata, self._writer, unused)

    def _add(self, key: RowKey, stay: RowSpan, *, is_proven: bool) -> None:
        """Add a row. The rest of a wrong row begins where its place is free, because two rows in one place are no valid
        state. A row whose object is missing says nothing and is dropped."""
        if not is_proven and self._metadata.row(sql.OBJECT_DEPTH, (stay.columns[0],)) is None:
            return
        for first in self._kept.within(stay.first, stay.last) if not is_proven else [stay.first]:
            if is_proven or not self._is_taken(key, first, stay.columns):
                statement = sql.ADD_RECORD_STAY if key.is_record else sql.ADD_ENTRY_STAY
                # A row begins where its content was captured, even if that sequence was thinned.
                self._metadata.execute(statement, (key.held, first, stay.last, *stay.columns))
                self._done.rows += 1
                return

    def _is_taken(self, key: RowKey, first: int, columns: tuple[object, ...]) -> bool:
        if not key.is_record:
            return self._metadata.row(sql.IS_ENTRY_TAKEN, (key.held, first)) is not None
        place = (columns[1], columns[2], first)
        return self._metadata.row(sql.IS_RECORD_TAKEN, (key.held, first, *place)) is not None

    def _stays(self, key: RowKey) -> list[RowSpan]:
        if key.is_record:
            rows = self._metadata.rows(sql.STAYS_OF_ID, (key.held,))
            return [RowSpan(row[0], row[1], tuple(row[2:5]), tuple(row[2:])) for row in rows]
        rows = self._metadata.rows(sql.STAYS_OF_PATH, (key.held,))
        return [RowSpan(row[0], row[1], (row[2], self._meta(row[3])), tuple(row[2:])) for row in rows]

    def _meta(self, held: str) -> bytes | str:
        """Return a meta for comparison; the stored value where it is unreadable."""
        try:
            return json_codec.encode_canonical(json_of(self._columns.text_of(META, held)))
        except (VaultDamaged, TypeError, ValueError, AttributeError):
            return held

    def _wanted(self, key: RowKey, found: _ReadItem) -> RowSpan:
        number, item, columns = self._object(found), found.item, self._columns
        if isinstance(item, Entry):
            meta = json_codec.encode_json(item.meta).decode()
            place = columns.entry_bucket(merkle.bucket_of(merkle.entry_key(item.path)))
            row = (number, columns.text(META, meta), place)
            return RowSpan(0, None, (number, json_codec.encode_canonical(item.meta)), row)
        content = content_key(self._seed, found.body) if columns.is_plain and found.body is not None else None
        bucket = merkle.bucket_of(merkle.record_key(item.id))
        place_of = (number, columns.partition(item.partition), item.position)
        return RowSpan(0, None, place_of, (*place_of, bucket, content))

    # Objects ----------------------------------------------------------------------------------------------------

    def _object(self, found: _ReadItem) -> int:
        """Return the object for an item: an intact one of its leaf, one that gets its bytes again, or a new one."""
        known = [int(row[0]) for row in self._metadata.rows(sql.OBJECTS_OF_LEAF, (found.leaf.digest,))]
        for number in known:
            if self._is_whole(number, found):
                return number
        if found.body is not None and known and found.leaf.digest != ABSENT_LEAF:
            self._restore(known[0], found)
            return known[0]
        if isinstance(found.item, Entry):
            return self._new_entry_object(found)
        return self._writer.put_lines([found.body], [found.leaf]).start

    def _new_entry_object(self, found: _ReadItem) -> int:
        digest_of = None if found.sha256 is None else bytes.fromhex(found.sha256)
        if found.body is None:
            return self._writer.put_absent(found.leaf, digest_of, found.size)
        return self._writer.put(found.body, digest_of, leaf=found.leaf)

    def _is_whole(self, number: int, found: _ReadItem) -> bool:
        row = self._metadata.row(sql.OBJECT_CHECK, (number,))
        if row is None or number in self._damaged_objects - self._done.healed:
            return False
        _, leaf, held_salt, held_sha256, size, is_held = row
        try:
            salt, sha256 = self._columns.salt_of(held_salt), self._columns.sha256_of(held_sha256)
            if is_held:
                return self._known.every.hold(Leaf(leaf, salt), self._objects.read(number))
        except (BodyAbsent, VaultDamaged):
            return False
        if isinstance(found.item, Entry):
            named = None if sha256 is None else sha256.hex()
            return found.body is None and (named, size) == (found.sha256, found.size)
        return found.body is None

    def _heal(self, key: RowKey, present: Mapping[RowKey, list[RowItem]], found: _ReadItem) -> None:
        number = present[key][0].object
        if found.body is not None and number is not None:
            self._restore(number, found)

    def _restore(self, number: int, found: _ReadItem) -> None:
        """Restore the bytes and metadata of an object."""
        assert found.body is not None
        digest_of = None if found.sha256 is None else bytes.fromhex(found.sha256)
        self._writer.restore(number, found.leaf, digest_of, found.body)
        self._done.healed.add(number)


class _ReadItem(NamedTuple):
    """An item to store, without salt and hash if purged; `body` None without bytes."""

    item: Item
    leaf: Leaf
    body: bytes | None
    sha256: str | None
    size: int


class _ItemReader:
    """Reads items of a received state. Purged content is read as it is now."""

    def __init__(self, state: State, arriving: RedactedArrivals) -> None:
        self._state = state
        self._arriving = arriving

    def read(self, item: Item) -> _ReadItem:
        """Read an item. Raises DraftInvalid for bytes that neither the leaf nor a known purge explains."""
        if isinstance(item, Entry):
            return self._entry(item)
        line = item.line if isinstance(item, Record) else None
        leaf, kept = self._arriving.line(item.id, item.leaf, line)
        return _ReadItem(item, leaf, kept, None, len(kept or b""))

    def _entry(self, entry: Entry) -> _ReadItem:
        try:
            body = self._state.body(entry.path)
        except BodyAbsent:
            leaf, sha256 = self._arriving.entry_without_body(entry.leaf, entry.sha256)
            return _ReadItem(entry, leaf, None, sha256, entry.size)
        leaf, kept = self._arriving.entry(entry.path, entry.leaf, body)
        return _ReadItem(entry, leaf, kept, hashlib.sha256(kept).hexdigest() if leaf.salt else None, len(kept))


def _items_of(state: State) -> Iterator[Item]:
    yield from state.entries()
    yield from state.records()
    yield from state.gone()


def _hashed(item: Item) -> tuple[bytes, bytes]:
    return merkle.entry_item(item) if isinstance(item, Entry) else merkle.record_item(item)


def end_with(metadata: MetadataStore, newest: int) -> None:
    """Drop rows that are alive at no sequence, and reopen rows that end after the newest one. No sequence changes, and
    the next one continues from the rows of the newest."""
    metadata.execute(sql.DROP_EMPTY_ENTRY_STAYS)
    metadata.execute(sql.DROP_EMPTY_RECORD_STAYS)
    for statement in (sql.DROP_LATE_ENTRY_STAYS, sql.DROP_LATE_RECORD_STAYS):
        metadata.execute(statement, (newest,))
    for statement in (sql.OPEN_LATE_ENTRY_ENDS, sql.OPEN_LATE_RECORD_ENDS):
        metadata.execute(statement, (newest,))


def rebuild_buckets(metadata: MetadataStore, objects: ObjectReader) -> None:
    """Compute the bucket of each newest row, and the hashes of all buckets."""
    columns = objects.columns
    for path, held in list(metadata.rows(sql.LIVE_PATHS)):
        place = columns.entry_bucket(merkle.bucket_of(merkle.entry_key(columns.path_of(path))))
        if place != held:
            metadata.execute(sql.SET_ENTRY_BUCKET, (place, path))
    for record_id, held in list(metadata.rows(sql.LIVE_IDS)):
        bucket = merkle.bucket_of(merkle.record_key(record_id))
        if bucket != held:
            metadata.execute(sql.SET_RECORD_BUCKET, (bucket, record_id))
    metadata.execute(sql.DROP_BUCKETS)
    bucket_digests.write_buckets(metadata, columns, bucket_digests.live_buckets(metadata, columns))


def drop_unused(metadata: MetadataStore, writer: ObjectWriter, numbers: Iterable[int]) -> None:
    """Drop those of the objects that no row names, unless patches on them cannot be encoded again."""
    unused = {number for number in numbers if metadata.row(sql.OBJECT_USED, (number,) * 2) is None}
    reencode_resting(metadata, writer, unused, despite_damage=True)
    resting = {number: {on for (on,) in metadata.rows(sql.OBJECTS_ON, (number,))} for number in unused}
    while needed := {number for number in unused if not resting[number] <= unused}:
        unused -= needed
    drop_objects(metadata, unused)
