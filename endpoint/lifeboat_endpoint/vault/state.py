"""One sequence of a vault as a `State`: every row alive at n, streamed."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.state import Entry, Leaf, Record, Sequence
from lifeboat_endpoint.store.protocols import MetadataStore, Row
from lifeboat_endpoint.vault import statements as sql
from lifeboat_endpoint.vault.objects import Objects, Stored
from lifeboat_endpoint.vault.rows import json_of


class VaultState:
    """The state `sequence` of an open vault; valid while the vault is open and the sequence is kept."""

    def __init__(self, metadata: MetadataStore, objects: Objects, sequence: Sequence) -> None:
        self._metadata = metadata
        self._objects = objects
        self._sequence = sequence
        self._at = (sequence.number, sequence.number)

    @property
    def sequence(self) -> Sequence:
        return self._sequence

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return (entry_of(row) for row in self._entry_rows(prefix))

    def _entry_rows(self, prefix: str) -> Iterator[Row]:
        end = _after_prefix(prefix)
        if not prefix:
            return self._metadata.rows(sql.ENTRIES, self._at)
        if end is None:
            return self._metadata.rows(sql.ENTRIES_FROM, (prefix, *self._at))
        return self._metadata.rows(sql.ENTRIES_BETWEEN, (prefix, end, *self._at))

    def entry(self, path: str) -> Entry | None:
        row = self._metadata.row(sql.ENTRY, (path, *self._at))
        return None if row is None else entry_of(row)

    def body(self, path: str) -> bytes:
        """The bytes of an entry. Raises KeyError, BodyAbsent, VaultDamaged."""
        row = self._metadata.row(sql.ENTRY_BODY, (path, *self._at))
        if row is None:
            raise KeyError(path)
        return self._objects.whole(Stored(*row))

    def records(self, partition: str | None = None) -> Iterator[Record]:
        if partition is None:
            rows = self._metadata.rows(sql.RECORDS, self._at)
        else:
            rows = self._metadata.rows(sql.RECORDS_OF, (partition, *self._at))
        return (record_of(row, self._objects) for row in rows)

    def record(self, record_id: str) -> Record | None:
        row = self._metadata.row(sql.RECORD, (record_id, *self._at))
        return None if row is None else record_of(row, self._objects)


def entry_of(row: Row) -> Entry:
    path, meta, leaf, salt, size, sha256 = row[:6]
    digest = None if sha256 is None else sha256.hex()
    return Entry(path, json_of(meta), Leaf(leaf, salt or b""), size, digest)


def object_of(entry_row: Row) -> int:
    return int(entry_row[6])


def is_held(entry_row: Row) -> bool:
    """Whether the vault has the bytes."""
    return bool(entry_row[7])


def record_of(row: Row, objects: Objects) -> Record:
    record_id, partition, position, leaf, salt = row[:5]
    line = objects.decode(Stored(*row[5:]))
    return Record(record_id, partition, position, Leaf(leaf, salt or b""), line)


def _after_prefix(prefix: str) -> str | None:
    """The smallest text after every text that begins with `prefix`, in the order of UTF-8; None when there is none."""
    shortened = prefix.rstrip("\U0010ffff")
    if not shortened:
        return None
    following = ord(shortened[-1]) + 1
    return shortened[:-1] + chr(0xE000 if 0xD800 <= following < 0xE000 else following)
