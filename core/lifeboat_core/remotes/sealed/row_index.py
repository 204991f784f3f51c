"""The rows of a log: the head holds the newest, older ones are moved into files of their own.

A head has at most twice `SEGMENT` rows (about 350 bytes each), however long the history is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import BinaryIO

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_core.remotes.sealed import log_file_names
from lifeboat_core.remotes.sealed.log_head import FileReference, LogHead, LogRow, RowSegment
from lifeboat_vault.errors import RemoteDamaged

SEGMENT = 128
"""Rows."""
Keep = Callable[[str, BinaryIO], FileReference]
Fetch = Callable[[FileReference], bytes]


def load_rows(head: LogHead, fetch: Fetch) -> list[LogRow]:
    """Return all rows, oldest first. Raises RemoteDamaged."""
    moved = [row for segment in head.segments for row in _read(segment, fetch)]
    return [*moved, *head.rows]


def replace_rows(head: LogHead, rows: Sequence[LogRow], fetch: Fetch, keep: Keep) -> LogHead:
    """Return the head with these rows instead. Unchanged segments at the beginning stay; others are written."""
    segments, count = [], 0
    for segment in head.segments:
        if len(rows) <= count + segment.rows or list(rows[count : count + segment.rows]) != _read(segment, fetch):
            break
        segments.append(segment)
        count += segment.rows
    rest = list(rows[count:])
    while len(rest) >= 2 * SEGMENT:
        segments.append(_write(rest[:SEGMENT], head.generation, keep))
        rest = rest[SEGMENT:]
    size = sum(row.stored.size for row in rows)
    return msgspec.structs.replace(head, segments=tuple(segments), rows=tuple(rest), bytes=size)


def append_row(head: LogHead, row: LogRow, keep: Keep) -> LogHead:
    """Return the head with one more row."""
    rest, segments = [*head.rows, row], list(head.segments)
    if len(rest) >= 2 * SEGMENT:
        segments.append(_write(rest[:SEGMENT], head.generation, keep))
        rest = rest[SEGMENT:]
    size = head.bytes + row.stored.size
    return msgspec.structs.replace(head, segments=tuple(segments), rows=tuple(rest), bytes=size)


def _write(rows: Sequence[LogRow], generation: int, keep: Keep) -> RowSegment:
    name = log_file_names.make_file_name(f"rows-{rows[0].number:012d}", generation, "json")
    return RowSegment(keep(name, BytesIO(json_codec.encode_json(rows))), rows[0].number, rows[-1].number, len(rows))


def _read(segment: RowSegment, fetch: Fetch) -> list[LogRow]:
    try:
        return msgspec.json.decode(fetch(segment.stored), type=list[LogRow])
    except msgspec.DecodeError as error:
        raise RemoteDamaged(f"{segment.stored.file} cannot be read: {error}") from None
