"""One sequence of a vault as a `State`: every row alive at n, streamed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from lifeboat_alf.redaction.redactions import NONE, Redactions
from lifeboat_alf.states.agent_state import Entry, GoneRecord, Leaf, Record, Sequence, path_key, record_place
from lifeboat_vault.bodies.body_objects import ObjectReader, StoredObject
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import ColumnSealer
from lifeboat_vault.rows.sequence_rows import json_of
from lifeboat_vault.store.store_protocols import MetadataStore, Row


class VaultState:
    """The state `sequence` of an open vault. Valid while the vault is open and the sequence is kept."""

    def __init__(
        self,
        metadata: MetadataStore,
        objects: ObjectReader,
        sequence: Sequence,
        redactions: Callable[[], Redactions] = lambda: NONE,
    ) -> None:
        """Take the stores. `redactions` returns those of the vault, including later ones."""
        self._redactions = redactions
        self._metadata = metadata
        self._objects = objects
        self._columns = objects.columns
        self._sequence = sequence
        self._at = (sequence.number, sequence.number)

    @property
    def sequence(self) -> Sequence:
        return self._sequence

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return (entry_from_row(row) for row in self._entry_rows(prefix))

    def _entry_rows(self, prefix: str) -> Iterator[Row]:
        if not self._columns.is_plain:
            return self._sealed_entry_rows(prefix)
        end = _after_prefix(prefix)
        if not prefix:
            return self._metadata.rows(sql.ENTRIES, self._at)
        if end is None:
            return self._metadata.rows(sql.ENTRIES_FROM, (prefix, *self._at))
        return self._metadata.rows(sql.ENTRIES_BETWEEN, (prefix, end, *self._at))

    def _sealed_entry_rows(self, prefix: str) -> Iterator[Row]:
        """Yield the entries of a sealed vault. Tokens are unordered, so every path is opened, and the rest of a row
        only where requested."""
        opened = ((self._columns.path_of(row[0]), row) for row in self._metadata.rows(sql.ENTRIES, self._at))
        found = sorted((pair for pair in opened if pair[0].startswith(prefix)), key=lambda pair: path_key(pair[0]))
        return (self._columns.entry_without_path((path, *row[1:])) for path, row in found)

    def entry(self, path: str) -> Entry | None:
        row = self._entry_row(sql.ENTRY, path)
        return None if row is None else entry_from_row(next(self._columns.entries([row])))

    def _entry_row(self, statement: str, path: str) -> Row | None:
        row = self._metadata.row(statement, (self._columns.path(path), *self._at))
        if row is None:
            self._columns.check(self._metadata)
        return row

    def body(self, path: str) -> bytes:
        """Return the bytes of an entry. Raises KeyError, BodyAbsent, VaultDamaged."""
        row = self._entry_row(sql.ENTRY_BODY, path)
        if row is None:
            raise KeyError(path)
        return self._objects.whole(StoredObject(*row))

    def records(self, partition: str | None = None) -> Iterator[Record]:
        self._columns.check(self._metadata)
        if partition is not None:
            rows = self._metadata.rows(sql.RECORDS_OF, (self._columns.partition(partition), *self._at))
        elif self._columns.is_plain:
            rows = self._metadata.rows(sql.RECORDS, self._at)
        else:
            rows = self._sealed_record_rows()
        return (record_from_row(row, self._objects) for row in self._columns.records(rows))

    def _sealed_record_rows(self) -> Iterator[Row]:
        """Yield the records of a sealed vault, partition by partition in order of their names."""
        tokens = [token for (token,) in self._metadata.rows(sql.PARTITIONS, self._at)]
        for token in sorted(tokens, key=lambda token: path_key(self._columns.partition_of(token))):
            yield from self._metadata.rows(sql.RECORDS_OF, (token, *self._at))

    def record(self, record_id: str) -> Record | None:
        row = self._metadata.row(sql.RECORD, (record_id, *self._at))
        return None if row is None else record_from_row(next(self._columns.records([row])), self._objects)

    def unknown_records(self, record_ids: Collection[str]) -> set[str]:
        known = self._metadata.rows(sql.known_records(len(record_ids)), tuple(record_ids))
        return set(record_ids).difference(record_id for (record_id,) in known)

    def gone(self) -> Iterator[GoneRecord]:
        if not self._redactions():
            return iter(())
        rows = self._metadata.rows(sql.GONE_RECORDS, self._at)
        return iter(sorted((purged_record_from_row(row, self._columns) for row in rows), key=record_place))

    @property
    def redactions(self) -> Redactions:
        return self._redactions()


def entry_from_row(row: Row) -> Entry:
    """Convert a stored row that begins like those of `vault_statements.ENTRIES_BEGUN`."""
    path, meta, leaf, salt, size, sha256 = row[:6]
    digest = None if sha256 is None else sha256.hex()
    return Entry(path, json_of(meta), Leaf(leaf, salt or b""), size, digest)


def object_id_from_row(entry_row: Row) -> int:
    """Return the id of the stored bytes of an entry."""
    return int(entry_row[6])


def has_stored_bytes(entry_row: Row) -> bool:
    """Return whether the vault has the bytes."""
    return bool(entry_row[7])


def record_from_row(row: Row, objects: ObjectReader) -> Record:
    """Convert a stored row of a record, and decode its line."""
    record_id, partition, position, leaf, salt = row[:5]
    line = objects.decode(StoredObject(*row[5:]))
    return Record(record_id, partition, position, Leaf(leaf, salt or b""), line)


def has_line(row: Row) -> bool:
    """Return whether the record of a row of `vault_statements.RECORDS_BEGUN` has a line."""
    return row[7] is not None or row[8] is not None


def purged_record_from_row(row: Row, columns: ColumnSealer) -> GoneRecord:
    """Convert a stored row that begins like those of `vault_statements.GONE_RECORDS`."""
    record_id, partition, position, leaf = row[:4]
    return GoneRecord(record_id, columns.partition_of(partition), position, Leaf(leaf))


def _after_prefix(prefix: str) -> str | None:
    """Return the smallest text, in UTF-8 order, after every text that begins with `prefix`; None when there is none."""
    shortened = prefix.rstrip("\U0010ffff")
    if not shortened:
        return None
    following = ord(shortened[-1]) + 1
    return shortened[:-1] + chr(0xE000 if 0xD800 <= following < 0xE000 else following)
