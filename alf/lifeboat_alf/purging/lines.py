"""The line of a record: what it says, and what closes its place in a chain."""

from __future__ import annotations

from typing import Any

import msgspec

from lifeboat_alf import codec, records

JsonObject = dict[str, Any]


def content_of(line: bytes) -> str:
    """What a record says; "" for a tombstone, and for a line that is no record any more."""
    try:
        record = codec.decode(line)
    except msgspec.DecodeError:
        return ""
    content = record.get("content") if isinstance(record, dict) else None
    return content if isinstance(content, str) and content != records.TOMBSTONE else ""


def tombstone(line: bytes, agent_id: str) -> bytes:
    """What stands in the place of a record that goes alone out of a chain: its links and its time, and nothing that it
    said. No older record comes back for it."""
    old = records.parse(line)
    source, temporal = _object(old, "source"), _object(old, "temporal")
    kept: JsonObject = {name: old[name] for name in ("id", "agent_id", "memory_type", "namespace") if name in old}
    if old.get("supersedes"):
        kept["supersedes"] = old["supersedes"]
    kept["source"] = {name: source[name] for name in ("runtime", "origin_file") if name in source}
    kept["temporal"] = {"created_at": temporal.get("created_at")}
    return records.line_of({"agent_id": agent_id, **kept, "content": records.TOMBSTONE, "status": "deleted"})


def bare_tombstone(line: bytes, agent_id: str) -> bytes:
    """A tombstone without the words that somebody chose: the file the record came from, its namespace."""
    made = records.parse(tombstone(line, agent_id))
    made["source"].pop("origin_file", None)
    return records.line_of({**made, "namespace": "default"})


def _object(record: JsonObject, name: str) -> JsonObject:
    value = record.get(name)
    return value if isinstance(value, dict) else {}
