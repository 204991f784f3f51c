"""Cut matches out of an SQLite database by overwriting them with spaces, so that it stays readable."""

from __future__ import annotations

import contextlib
import sqlite3

from lifeboat_alf.purging.byte_spans import Span
from lifeboat_alf.redaction.redactions import ByteEdit, apply_edits

HEADER = b"SQLite format 3\0"
_MODE = slice(18, 20)
"""Offset of the header field that declares a write-ahead log, which an in-memory database cannot have."""
_NO_LOG = b"\1\1"
_VIRTUAL = "select count(*) from sqlite_master where sql like 'create virtual table%'"


def is_sqlite(body: bytes) -> bool:
    return body.startswith(HEADER)


def blank_spans(body: bytes, spans: list[Span]) -> tuple[ByteEdit, ...] | None:
    """Return edits that overwrite spans of a database. None where SQLite could not read the result, or where a virtual
    table may hold the words of a match in its own index."""
    edits = tuple(ByteEdit(start, end - start, b" " * (end - start)) for start, end in spans)
    return edits if _holds(apply_edits(body, edits)) else None


def _holds(body: bytes) -> bool:
    data = bytearray(body)
    data[_MODE] = _NO_LOG
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.deserialize(bytes(data))
            (virtual,) = connection.execute(_VIRTUAL).fetchone()
            return not virtual and connection.execute("pragma quick_check(1)").fetchone() == ("ok",)
        except (sqlite3.Error, UnicodeError):
            return False
