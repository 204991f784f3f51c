"""Cut record lines, or close them by a tombstone."""

from __future__ import annotations

import hashlib
import re

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.redaction.redactions import ByteEdit

_SHORTEST_MARK = 16
"""Hexadecimal digits."""
_MARK = re.compile(rb"[0-9a-f]{16,64}")


def read_line_content(line: bytes) -> str:
    """Return the text of a record; "" for a tombstone and for an unreadable line."""
    try:
        record = json_codec.decode_json(line)
    except msgspec.DecodeError:
        return ""
    content = record.get("content") if isinstance(record, dict) else None
    return content if isinstance(content, str) and content != memory_records.TOMBSTONE else ""


def update_content_marks(line: bytes, after: bytes) -> tuple[ByteEdit, ...]:
    """Return edits of `line` that replace the runtime's digest of the old text by that of the new text. A short text
    could be guessed from its digest."""
    old, new = read_line_content(line), read_line_content(after)
    if not old or old == new:
        return ()
    known, fresh = _digest(old), _digest(new)
    found, edits = line.find(known[:_SHORTEST_MARK]), list[ByteEdit]()
    while found >= 0:
        length = _SHORTEST_MARK
        while length < len(known) and line[found + length : found + length + 1] == known[length : length + 1]:
            length += 1
        edits.append(ByteEdit(found, length, fresh[:length]))
        found = line.find(known[:_SHORTEST_MARK], found + length)
    return tuple(edits)


def is_mark(insert: bytes) -> bool:
    """Return whether an insertion comes from `update_content_marks`: a digest or its beginning."""
    return _MARK.fullmatch(insert) is not None


def digest_record_text(line: bytes, length: int) -> bytes:
    """Return the first `length` hexadecimal digits of the digest of a record's text."""
    return _digest(read_line_content(line))[:length]


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest().encode()


def make_tombstone(line: bytes, agent_id: str) -> bytes:
    """Return the tombstone of a record that leaves its chain alone: its links and time, none of its text. It keeps
    older records of the chain hidden."""
    old = memory_records.parse_record(line)
    source, temporal = _object(old, "source"), _object(old, "temporal")
    kept: JsonObject = {name: old[name] for name in ("id", "agent_id", "memory_type", "namespace") if name in old}
    if old.get("supersedes"):
        kept["supersedes"] = old["supersedes"]
    kept["source"] = {name: source[name] for name in ("runtime", "origin_file") if name in source}
    kept["temporal"] = {"created_at": temporal.get("created_at")}
    return memory_records.line_of(
        {"agent_id": agent_id, **kept, "content": memory_records.TOMBSTONE, "status": "deleted"}
    )


def make_bare_tombstone(line: bytes, agent_id: str) -> bytes:
    """Return a tombstone without words chosen by a user: the file the record came from and its namespace."""
    made = memory_records.parse_record(make_tombstone(line, agent_id))
    made["source"].pop("origin_file", None)
    return memory_records.line_of({**made, "namespace": "default"})


def _object(record: JsonObject, name: str) -> JsonObject:
    value = record.get(name)
    return value if isinstance(value, dict) else {}
