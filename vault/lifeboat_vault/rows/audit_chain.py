"""The audit: one hash-chained row for every change, in the transaction of the change. A vault and an endpoint use the
same chain; their tables have the same columns.

Where old rows are trimmed (at an endpoint), a row of the chain records up to which number, and the hash before the
first kept row. So the chain stays verifiable without them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from lifeboat_alf.common import json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.sequence_rows import AuditRow, json_of
from lifeboat_vault.store.store_protocols import MetadataStore

START = b"lifeboat audit 1"
"""The hash before the very first row."""
TRIMMED = "audit.trimmed"
"""Kind of the row that records which older ones were trimmed."""


class AuditEntry(NamedTuple):
    """A row to add. `details` holds numbers, hashes and reasons, never content."""

    time: str
    kind: str
    subject: str
    details: JsonObject


def append_row(
    metadata: MetadataStore, now: datetime, kind: str, subject: str, details: JsonObject | None = None
) -> None:
    """Add a row inside the caller's transaction. `details` holds numbers, hashes and reasons, never content."""
    append_rows(metadata, [AuditEntry(times.to_text(now), kind, subject, details or {})])


def append_rows(metadata: MetadataStore, entries: Iterable[AuditEntry]) -> None:
    """Add rows inside the caller's transaction."""
    last = metadata.row(sql.LAST_AUDIT)
    number, previous = (0, START) if last is None else (last[0], last[1])
    for entry in entries:
        number += 1
        row = AuditRow(number, *entry, b"")
        previous = row_hash(previous, row)
        text = json_codec.encode_json(row.details).decode()
        metadata.execute(sql.ADD_AUDIT, (number, row.time, row.kind, row.subject, text, previous))


def read_rows(metadata: MetadataStore) -> Iterator[AuditRow]:
    """Yield all rows, oldest first."""
    for number, time, kind, subject, details, digest in metadata.rows(sql.AUDIT):
        yield AuditRow(number, time, kind, subject, json_of(details), digest)


def read_page(metadata: MetadataStore, after: int, most: int) -> tuple[bytes, list[AuditRow]]:
    """Return the hash before the first row after a number, and up to `most` such rows, oldest first.

    Without rows, the hash is the one that the next row will follow. It is b"" when the preceding row is missing without
    having been trimmed. The caller reads one snapshot.
    """
    found = [
        AuditRow(number, time, kind, subject, json_of(details), digest)
        for number, time, kind, subject, details, digest in metadata.rows(sql.AUDIT_PAGE, (after, most))
    ]
    before = found[0].number - 1 if found else after
    kept = metadata.row(sql.AUDIT_HASH, (before,))
    if kept is not None:
        return bytes(kept[0]), found
    first, previous = _beginning(metadata)
    return (previous if first == before + 1 else b""), found


def find_broken_rows(metadata: MetadataStore) -> list[int]:
    """Return the numbers of rows that do not follow from the previous one: changed, removed or inserted."""
    wrong = []
    expected, previous = _beginning(metadata)
    for row in read_rows(metadata):
        if row.number != expected or row.hash != row_hash(previous, row):
            wrong.append(row.number)
        previous, expected = row.hash, row.number + 1
    return wrong


def chain_ends(metadata: MetadataStore) -> tuple[int, int, str]:
    """Return the numbers of the oldest and the newest row, and the newest hash; (0, 0, "") without rows."""
    last, first = metadata.row(sql.LAST_AUDIT), metadata.row(sql.FIRST_AUDIT)
    return (0, 0, "") if last is None or first is None else (int(first[0]), int(last[0]), bytes(last[1]).hex())


def number_before(metadata: MetadataStore, time: str) -> int:
    """Return the number before the first row that is not older than a timestamp; the last number when all are older."""
    first = metadata.row(sql.FIRST_AUDIT_SINCE, (time,))
    if first is not None and first[0] is not None:
        return int(first[0]) - 1
    return chain_ends(metadata)[1]


def trim_rows(metadata: MetadataStore, now: datetime, before: str, most: int) -> int:
    """Drop rows older than a timestamp, and the oldest ones beyond `most`; return how many. The newest row stays. The
    caller's transaction is open."""
    last = metadata.row(sql.LAST_AUDIT)
    if last is None:
        return 0
    first_young = metadata.row(sql.FIRST_AUDIT_SINCE, (before,))
    through_time = last[0] - 1 if first_young is None or first_young[0] is None else first_young[0] - 1
    through = min(last[0] - 1, max(through_time, last[0] - most))
    anchor = metadata.row(sql.AUDIT_HASH, (through,))
    if anchor is None:
        return 0
    gone = metadata.execute(sql.DROP_AUDIT_THROUGH, (through,))
    append_row(metadata, now, TRIMMED, str(through), {"through": through, "hash": bytes(anchor[0]).hex(), "rows": gone})
    return gone


def _beginning(metadata: MetadataStore) -> tuple[int, bytes]:
    """Return the expected number of the first row, and the hash before it."""
    row = metadata.row(sql.LAST_AUDIT_OF, (TRIMMED,))
    if row is None:
        return 1, START
    said = json_of(row[0])
    return int(said["through"]) + 1, bytes.fromhex(said["hash"])


def row_hash(previous: bytes, row: AuditRow) -> bytes:
    """Return the hash of a row (without its own hash field) that follows `previous`."""
    covered = {
        "number": row.number,
        "time": row.time,
        "kind": row.kind,
        "subject": row.subject,
        "details": row.details,
    }
    return hashlib.sha256(previous + json_codec.encode_canonical(covered)).digest()
