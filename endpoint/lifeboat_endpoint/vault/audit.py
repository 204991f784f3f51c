"""The audit: one hash-chained row for every change of the vault, in the change's own transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime

from lifeboat_alf import codec, times
from lifeboat_alf.state import JsonObject
from lifeboat_endpoint.store.protocols import MetadataStore
from lifeboat_endpoint.vault import statements as sql
from lifeboat_endpoint.vault.rows import AuditRow, json_of

_START = b"lifeboat audit 1"


def append(metadata: MetadataStore, now: datetime, kind: str, subject: str, details: JsonObject | None = None) -> None:
    """Add a row; the caller's transaction is open. `details` holds numbers, hashes and reasons, never content."""
    last = metadata.row(sql.LAST_AUDIT)
    number, previous = (1, _START) if last is None else (last[0] + 1, last[1])
    row = AuditRow(number, times.to_text(now), kind, subject, details or {}, b"")
    text = codec.encode(row.details).decode()
    metadata.execute(sql.ADD_AUDIT, (number, row.time, kind, subject, text, _hash(previous, row)))


def rows(metadata: MetadataStore) -> Iterator[AuditRow]:
    """All rows, oldest first."""
    for number, time, kind, subject, details, digest in metadata.rows(sql.AUDIT):
        yield AuditRow(number, time, kind, subject, json_of(details), digest)


def broken(metadata: MetadataStore) -> list[int]:
    """Numbers of rows that do not follow from the row before them: changed, removed or put in."""
    wrong = []
    previous, expected = _START, 1
    for row in rows(metadata):
        if row.number != expected or row.hash != _hash(previous, row):
            wrong.append(row.number)
        previous, expected = row.hash, row.number + 1
    return wrong


def _hash(previous: bytes, row: AuditRow) -> bytes:
    covered = {
        "number": row.number,
        "time": row.time,
        "kind": row.kind,
        "subject": row.subject,
        "details": row.details,
    }
    return hashlib.sha256(previous + codec.canonical(covered)).digest()
