"""Read the records of an archive: streamed in order, or one by one by id."""

from __future__ import annotations

import tempfile
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import IO

import msgspec

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_documents import BOM
from lifeboat_alf.archive.zip_container import ArchiveReader
from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import BadDocument, SignatureError
from lifeboat_alf.memory import memory_records
from lifeboat_alf.redaction.bundle_redactions import BundleRedactions
from lifeboat_alf.snapshot.item_salts import ItemSalts
from lifeboat_alf.states.agent_state import Record


class _OnlyId(msgspec.Struct):
    """The id of a record; other fields are skipped."""

    id: str


_ids = msgspec.json.Decoder(_OnlyId)


class SnapshotLines:
    """Partitions of an archive as records. The first pass over a partition is strict, later ones trust it. Raises
    BadDocument when the missing records do not fit between the lines."""

    def __init__(
        self,
        archive: ArchiveReader,
        partitions: dict[str, int],
        salts: ItemSalts,
        warnings: list[str],
        purged: BundleRedactions,
    ) -> None:
        self._archive = archive
        self._purged = purged
        self._skipped = _skipped(purged, partitions)
        self._salts = salts
        self._warnings = warnings
        self._counts = partitions
        self._starts = _running_sum(partitions)
        self._proven: set[str] = set()
        self._marked: set[str] = set()
        self._spool: _LineSpool | None = None

    def close(self) -> None:
        if self._spool is not None:
            self._spool.close()

    def records(self, partition: str | None = None) -> Iterator[Record]:
        """Yield records in (partition, position) order; only those of `partition` if given, none if it is unknown."""
        for file in self._counts if partition is None else [partition]:
            if file in self._counts:
                yield from self._records_of(file)

    def record(self, record_id: str) -> Record | None:
        """Return one record. The first call unpacks all lines into an anonymous temporary file."""
        if self._spool is None:
            self._spool = _LineSpool(self.records())
        found = self._spool.find(record_id)
        return None if found is None else self._made(record_id, *found)

    def check(self) -> None:
        """Read all records. Raises BadDocument for an id that occurs twice or is also listed as gone, and any reading
        error."""
        seen: set[str] = {gone.id for gone in self._purged.gone}
        for record in self.records():
            if record.id in seen:
                raise _twice(record)
            seen.add(record.id)

    def _made(self, record_id: str, index: int, line: bytes) -> Record:
        file = next(file for file in reversed(self._starts) if self._starts[file] <= index)
        return self._record(record_id, file, index - self._starts[file], line)

    def _record(self, record_id: str, file: str, number: int, line: bytes) -> Record:
        """Return the record of the `number`th line of a partition, from 0, skipping the places of gone records.

        Raises SignatureError for a line without a salt that no redaction explains.
        """
        skipped = self._skipped.get(file)
        position = number if skipped is None else number + bisect_right(skipped, number)
        leaf = self._salts.leaf(self._salts.record_number(self._starts[file] + number), line)
        if not leaf.salt and not self._purged.redactions.hold(leaf, line):
            raise SignatureError(f"the hash of the record {record_id} in {file} is missing")
        return Record(record_id, file, position, leaf, line)

    def _records_of(self, file: str) -> Iterator[Record]:
        count, strict = 0, file not in self._proven
        for number, line in self._archive.lines(file):
            if not line.strip():
                continue
            if count == 0:
                line = self._without_mark(line, file)
            record_id = _strict_id(line, file, number) if strict else _ids.decode(line).id
            if count == self._counts[file]:
                raise BadDocument(
                    f"the manifest declares {count} records for the partition, but the partition contains more",
                    entry=file,
                    line=number,
                )
            yield self._record(record_id, file, count, line)
            count += 1
        if count != self._counts[file]:
            raise BadDocument(
                f"the partition contains {count} records, but the manifest declares {self._counts[file]}", entry=file
            )
        self._proven.add(file)

    def _without_mark(self, line: bytes, file: str) -> bytes:
        if line.startswith(BOM) and file not in self._marked:
            self._marked.add(file)
            self._warnings.append(f"{file} begins with a byte order mark")
        return line.removeprefix(BOM)


def _skipped(purged: BundleRedactions, counts: dict[str, int]) -> dict[str, list[int]]:
    """Return, by partition, how many lines precede each gone place."""
    skipped: dict[str, list[int]] = {}
    for gone in purged.gone:
        before = skipped.setdefault(gone.partition, [])
        before.append(gone.position - len(before))
        if before[-1] > counts.get(gone.partition, 0):
            message = (
                f"the record {gone.id} is listed as removed from {gone.partition}, which has no position "
                f"{gone.position}"
            )
            raise BadDocument(message, entry=archive_layout.REDACTIONS)
    return skipped


def _running_sum(counts: dict[str, int]) -> dict[str, int]:
    starts, total = {}, 0
    for file, count in counts.items():
        starts[file] = total
        total += count
    return starts


def _strict_id(line: bytes, file: str, number: int) -> str:
    record = json_codec.decode_object(line, entry=file, line=number)
    record_id = record.get("id")
    if not isinstance(record_id, str) or not record_id:
        raise BadDocument("the field `id` of the record is missing", entry=file, line=number)
    memory_records.check_shape(record, entry=file, line=number)
    return record_id


class _LineSpool:
    """All lines in an anonymous temporary file, and the offset of each id's line."""

    def __init__(self, records: Iterator[Record]) -> None:
        self._file = _unnamed_file()
        self._ends = array("Q", [0])
        self._numbers: dict[str, int] = {}
        try:
            for record in records:
                self._add(record)
        except BaseException:
            self.close()
            raise

    def _add(self, record: Record) -> None:
        if record.id in self._numbers:
            raise _twice(record)
        self._numbers[record.id] = len(self._ends) - 1
        self._file.write(record.line)
        self._ends.append(self._ends[-1] + len(record.line))

    def find(self, record_id: str) -> tuple[int, bytes] | None:
        """Return the record's index over all partitions, and its line."""
        number = self._numbers.get(record_id)
        if number is None:
            return None
        self._file.seek(self._ends[number])
        return number, self._file.read(self._ends[number + 1] - self._ends[number])

    def close(self) -> None:
        self._file.close()


def _unnamed_file() -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="lifeboat-")


def _twice(record: Record) -> BadDocument:
    return BadDocument(f"two records have the id {record.id}", entry=record.partition, line=record.position + 1)
