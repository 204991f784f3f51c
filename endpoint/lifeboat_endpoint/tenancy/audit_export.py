"""The audit as JSON Lines, for an archive, for a log collector, and for checks elsewhere.

Each row is a line with its own hash and the hash of the row before, so it can be checked alone and as part of the
chain. A line with `end` closes each run: the last number that was looked at, and the hash of that row. A later run
appends lines in the same form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_vault.rows import audit_chain
from lifeboat_vault.rows.sequence_rows import AuditRow

_PAGE = 1000
LONGEST = 1 << 20
"""Most bytes of a line."""
MOST_PROBLEMS = 20
"""How many problems are listed one by one."""
_OF_CALLERS = ("tenant", "token")
"""Details of a row that have a field of their own in a line."""


class AuditSource(Protocol):
    """Source of the rows (`control.Control`)."""

    def audit_page(self, after: int, most: int) -> tuple[bytes, list[AuditRow]]: ...


class AuditExportEnd(msgspec.Struct, frozen=True, rename={"number": "end"}):
    """The end of one run: the number of the last row that was looked at, and its hash in hex.

    `rows` were written, all of one tenant (its id) or of all.
    """

    number: int
    hash: str
    rows: int
    tenant: str | None


def export_audit(
    found: AuditSource, write: Callable[[bytes], object], *, after: int, tenant: str | None = None
) -> AuditExportEnd:
    """Write the lines of all rows after a number, of one tenant or of all, and the line that ends them. Raises
    VaultError.

    Only some rows are in memory at a time.
    """
    number, newest, written = after, b"", 0
    while True:
        previous, rows = found.audit_page(number, _PAGE)
        newest = newest or previous
        for row in rows:
            if tenant is None or is_row_of_tenant(row, tenant):
                write(json_codec.encode_json(_row_line(row, previous)) + b"\n")
                written += 1
            number, previous = row.number, row.hash
            newest = previous
        if len(rows) < _PAGE:
            break
    end = AuditExportEnd(number, newest.hex(), written, tenant)
    write(json_codec.encode_json(end) + b"\n")
    return end


def is_row_of_tenant(row: AuditRow, tenant: str) -> bool:
    """Whether a row is about a tenant (its id)."""
    return tenant in (row.subject, row.details.get("tenant"))


class _RowLine(msgspec.Struct):
    """A row as a line has it, with hashes in hex. `details` are those that have no field of their own."""

    number: int
    time: str
    kind: str
    subject: str
    tenant: str | None
    token: str | None
    details: JsonObject
    previous: str
    hash: str


def _row_line(row: AuditRow, previous: bytes) -> _RowLine:
    apart = {name: row.details[name] for name in _OF_CALLERS if isinstance(row.details.get(name), str)}
    details = {name: value for name, value in row.details.items() if name not in apart}
    callers = apart.get("tenant"), apart.get("token")
    return _RowLine(row.number, row.time, row.kind, row.subject, *callers, details, previous.hex(), row.hash.hex())


# Reading an export ----------------------------------------------------------------------------------------------------


class AuditExportLine(NamedTuple):
    """A line that was read: a row and the hash before it, or an end."""

    row: AuditRow | None
    previous: bytes
    end: AuditExportEnd | None

    @property
    def number(self) -> int:
        return self.row.number if self.row is not None else self.end.number if self.end is not None else 0

    @property
    def hash(self) -> str:
        return self.row.hash.hex() if self.row is not None else self.end.hash if self.end is not None else ""


def parse_audit_line(data: bytes) -> AuditExportLine | None:
    """Parse a line of an export; return None for anything else."""
    try:
        document = json_codec.decode_object(data, entry="line")
        if "end" in document:
            return AuditExportLine(None, b"", msgspec.convert(document, AuditExportEnd))
        found = msgspec.convert(document, _RowLine)
        apart = {name: value for name in _OF_CALLERS if (value := getattr(found, name)) is not None}
        details, digest = {**found.details, **apart}, bytes.fromhex(found.hash)
        row = AuditRow(found.number, found.time, found.kind, found.subject, details, digest)
        return AuditExportLine(row, bytes.fromhex(found.previous), None)
    except (LifeboatError, msgspec.ValidationError, ValueError):
        return None


@dataclass(slots=True)
class AuditExportReport:
    """Result of checking an export.

    `first` and `last` are numbers of rows, 0 for none; `end` is the last one. `problems` are sentences, the first
    `MOST_PROBLEMS` of `wrong`.
    """

    rows: int = 0
    first: int = 0
    last: int = 0
    end: AuditExportEnd | None = None
    wrong: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return not self.wrong

    def to_json(self) -> JsonObject:
        end = self.end
        return {
            "ok": self.is_whole,
            "rows": self.rows,
            "first": self.first,
            "last": self.last,
            "end": None if end is None else end.number,
            "hash": None if end is None else end.hash,
            "tenant": None if end is None else end.tenant,
            "problems": self.problems,
            "wrong": self.wrong,
        }


class _AuditExportChecker:
    """Checks an export line by line, remembering only the position in the chain."""

    def __init__(self) -> None:
        self.found = AuditExportReport()
        self._number = 0
        self._hash: str | None = None
        self._missing: list[str] = []
        self._gaps = 0
        self._is_open = False
        self._since_end = 0
        self._whose: set[str] | None = None

    def line(self, place: int, data: bytes) -> None:
        line = None if len(data) > LONGEST or not data.endswith(b"\n") else parse_audit_line(data)
        if line is None:
            self._wrong(f"line {place} of the file is not a valid line of an audit export")
        elif line.row is not None:
            self._row(line.row, line.previous)
        elif line.end is not None:
            self._end(line.end)

    def _row(self, row: AuditRow, previous: bytes) -> None:
        found = self.found
        if audit_chain.row_hash(previous, row) != row.hash:
            self._wrong(f"row {row.number} of the audit export does not match its hash")
        if self._hash is not None or row.number == 1:
            self._follows(row.number, previous)
        self._number, self._hash = row.number, row.hash.hex()
        found.first = found.first or row.number
        found.last = row.number
        found.rows += 1
        self._since_end += 1
        whose = {row.subject, str(row.details.get("tenant"))}
        self._whose = whose if self._whose is None else self._whose & whose
        self._is_open = True

    def _follows(self, number: int, previous: bytes) -> None:
        expected = audit_chain.START.hex() if number == 1 else self._hash
        if number <= self._number:
            self._wrong(f"row {number} of the audit export comes after row {self._number}")
        elif number == self._number + 1 and previous.hex() != expected:
            self._wrong(f"row {number} of the audit export does not continue the hash chain")
        elif number > self._number + 1:
            self._gaps += 1
            if len(self._missing) < MOST_PROBLEMS:
                self._missing.append(_missing(self._number + 1, number - 1))

    def _end(self, end: AuditExportEnd) -> None:
        before = self.found.end
        if before is not None and before.tenant != end.tenant:
            self._wrong(
                f"the part of the export that ends at row {end.number} covers other tenants than the part before"
            )
        if self._hash is not None and (
            end.number < self._number or (end.number == self._number and end.hash != self._hash)
        ):
            self._wrong(f"the final line for row {end.number} does not match the rows before it")
        elif end.tenant is None and self._hash is not None and end.number > self._number:
            self._wrong(_missing(self._number + 1, end.number))
        self._check_rows(end)
        self._number, self._hash = end.number, end.hash
        self.found.end = end
        self._is_open = False

    def _check_rows(self, end: AuditExportEnd) -> None:
        """Check the count of rows. There may be more than an end counts, from an earlier run that was cut off."""
        if self._since_end < end.rows:
            self._wrong(
                f"the final line counts {end.rows} rows up to row {end.number}, but the file "
                f"contains {self._since_end} of them"
            )
        if end.tenant is not None and self._whose is not None and end.tenant not in self._whose:
            self._wrong(
                f"the part of the export that ends at row {end.number} contains rows of other tenants than {end.tenant}"
            )
        self._since_end, self._whose = 0, None

    def finish(self) -> AuditExportReport:
        found = self.found
        if found.end is None or found.end.tenant is None:
            for text in self._missing:
                self._wrong(text)
            found.wrong += self._gaps - len(self._missing)
        if found.end is None or self._is_open:
            self._wrong(
                "the final line of the export is missing: the file was truncated, or another process "
                "is still writing it"
            )
        return found

    def _wrong(self, text: str) -> None:
        self.found.wrong += 1
        if len(self.found.problems) < MOST_PROBLEMS:
            self.found.problems.append(text)


def check_audit_export(lines: Iterable[bytes]) -> AuditExportReport:
    """Check that an export is complete. Lines include their line feed.

    Each row has to match its hash and to follow from the one before, the counts and tenants of the ends have to be
    right, and the last line has to be an end.
    """
    checking = _AuditExportChecker()
    for place, data in enumerate(lines, 1):
        checking.line(place, data)
    return checking.finish()


def lines_of(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the lines of a file by its `readline`, each at most one byte longer than `LONGEST`."""
    while data := read(LONGEST + 1):
        yield data


def _missing(first: int, last: int) -> str:
    return (
        f"row {first} of the audit export is missing"
        if first == last
        else f"rows {first} to {last} of the audit export are missing"
    )
