"""Convert a row of `brain.db` to a memory and back.

A record that came from a row holds all its columns except the content, and a digest of the content that belongs to
them. While the text is unchanged, the row comes back as it was. If the text was edited elsewhere, the row keeps its
columns with the new text and time. A record of another runtime becomes a new row. All columns of a release are kept:
the schema changed six times, and will change again.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from lifeboat_adapters.contract import MemorySection
from lifeboat_adapters.database_reading import as_json, decode_column_value
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_adapters.zeroclaw.memories import memory_kinds
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.memory.record_shapes import keep_fitting_fields

ROW, TEXT = "row", "text"
"""Keys in `raw_source_format.zeroclaw`: the columns, and the digest of the content that they belong to."""

REQUIRED = frozenset(("id", "key", "content", "category", "created_at", "updated_at"))
"""Columns of every release that must not be NULL."""

DEFAULT_NAMESPACE = "default"
DEFAULT_IMPORTANCE = 0.5

_IMPORTED = "openclaw_"
"""The beginnings of keys that ZeroClaw's own import of OpenClaw assigns."""
_NOT_IN_SESSION = re.compile(r"[^A-Za-z0-9_-]")
_NOT_IN_KEY = re.compile(r"[^\w-]+")
_LONGEST_SLUG = 48
_KEY_END = 12


def memory_of_row(values: JsonObject) -> MemorySection:
    """Return the memory in a row. A row without readable text is represented by its key."""
    content = _content_of(values)
    meant = memory_kinds.record_kind_of_row(_text(values.get("category")), values.get("kind"))
    fields: JsonObject = {"memory_type": meant.memory_type, "namespace": _text(values.get("namespace")) or "default"}
    if meant.category is not None:
        fields["category"] = meant.category
    importance = values.get("importance")
    if isinstance(importance, int | float) and 0 <= importance <= 1 and importance != DEFAULT_IMPORTANCE:
        fields["confidence"] = float(importance)
    if _text(values.get("superseded_by")):
        fields["status"] = "superseded"
    if values.get("pinned") not in (None, 0):
        fields[memory_records.PINNED] = True
    fields["source"] = _source(values)
    fields["temporal"] = _temporal(values, meant)
    kept = {name: as_json(value) for name, value in values.items() if name != "content" or value != content}
    fields["raw_source_format"] = {zeroclaw_paths.RUNTIME: {ROW: kept, TEXT: content_digest(content)}}
    return MemorySection(content, fields=fields)


def row_of_memory(record: JsonObject, root_id: str) -> JsonObject:
    """Return the row of a record. `root_id` is the id of a row that has no id."""
    record = keep_fitting_fields(record)
    part = brain_part_of(record)
    if part is None or not isinstance(held := part.get(ROW), dict):
        return _new_row(record, root_id)
    kept = _columns(held)
    content = str(record.get("content", ""))
    if part.get(TEXT) != content_digest(content):
        temporal = record.get("temporal") or {}
        # A successor in a later partition was created when the text changed.
        updated = temporal.get("updated_at") or temporal.get("created_at") or kept.get("updated_at")
        return {**_required(record, root_id), **kept, "content": content, "updated_at": updated}
    whole = {"content": content, **kept}
    return whole if whole.keys() >= REQUIRED else {**_required(record, root_id), **whole}


def brain_part_of(record: JsonObject) -> JsonObject | None:
    """Return the part of a record about the row that it came from, None for a record that was no row."""
    formats = record.get("raw_source_format")
    part = formats.get(zeroclaw_paths.RUNTIME) if isinstance(formats, dict) else None
    return part if isinstance(part, dict) else None


def content_digest(content: str) -> str:
    """Return a digest that shows whether a text is the captured one."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _content_of(values: JsonObject) -> str:
    content = values.get("content")
    text = content if isinstance(content, str) else _text(content)
    if text.strip():
        return text
    return _text(values.get("key")).strip() or _text(values.get("id")).strip() or "(empty)"


def _text(value: Any) -> str:
    """Return a column as text, "" for NULL. Bytes that are not UTF-8 are replaced; the column itself is kept in the
    record."""
    if value is None or isinstance(value, str):
        return value or ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _source(values: JsonObject) -> JsonObject:
    key = _text(values.get("key"))
    method = "migrated" if key.startswith(_IMPORTED) else "agent_written"
    source: JsonObject = {"origin": "sqlite_store", "origin_file": zeroclaw_paths.BRAIN, "extraction_method": method}
    session = _text(values.get("session_id"))
    return source | ({"session_id": session} if session else {})


def _temporal(values: JsonObject, meant: memory_kinds.RecordKind) -> JsonObject:
    """Return times in UTC, without invalid ones. The columns keep them as they were written."""
    created = _time(values.get("created_at"))
    updated = created if values.get("updated_at") == values.get("created_at") else _time(values.get("updated_at"))
    temporal = {"created_at": created, "updated_at": updated}
    if meant.category == "daily_log":
        temporal["observed_at"] = created
    return {name: time for name, time in temporal.items() if time is not None}


def _time(value: Any) -> str | None:
    try:
        return times.to_text(times.parse_time(value)) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None


def _columns(held: JsonObject) -> JsonObject:
    """Return the columns in a record without values that no database holds, because an archive may contain anything."""
    found: JsonObject = {}
    for name, value in held.items():
        try:
            found[name] = decode_column_value(value)
        except ValueError:
            continue
    return found


def _required(record: JsonObject, root_id: str) -> JsonObject:
    row = _new_row(record, root_id)
    return {name: value for name, value in row.items() if name in REQUIRED}


def _new_row(record: JsonObject, root_id: str) -> JsonObject:
    source, temporal = record.get("source") or {}, record.get("temporal") or {}
    named = record.get("category")
    category, kind = memory_kinds.row_kind_of_record(
        str(record.get("memory_type") or "semantic"), str(named) if named else None
    )
    session = source.get("session_id")
    created = temporal.get("observed_at") or temporal.get("created_at") or temporal.get("updated_at")
    confidence = record.get("confidence")
    return {
        "id": root_id,
        "key": make_memory_key(record, root_id),
        "content": str(record.get("content", "")),
        "category": category,
        "created_at": created,
        "updated_at": temporal.get("updated_at") or created,
        "session_id": _NOT_IN_SESSION.sub("_", session) if isinstance(session, str) else None,
        "namespace": DEFAULT_NAMESPACE if _bare_key(record) else record.get("namespace") or DEFAULT_NAMESPACE,
        "importance": DEFAULT_IMPORTANCE if confidence is None else confidence,
        "superseded_by": None,
        "kind": kind,
        "pinned": int(record.get(memory_records.PINNED) is True),
        "tenant_id": None,
    }


def make_memory_key(record: JsonObject, root_id: str) -> str:
    """Return a key for a memory that has none: its origin or kind, and the end of its id. The key stays the same when
    the memory is edited. The reference client keeps the key of a row in its own form."""
    if key := _bare_key(record):
        return key
    origin = str((record.get("source") or {}).get("origin_file") or "")
    stem = origin.rpartition("/")[2].rpartition(".")[0] or origin.rpartition("/")[2]
    named = stem or record.get("category") or record.get("memory_type") or "memory"
    slug = _NOT_IN_KEY.sub("_", str(named)).strip("_-").lower()[:_LONGEST_SLUG] or "memory"
    return f"{slug}_{re.sub(r'[^0-9A-Za-z]', '', root_id)[-_KEY_END:]}"


def _bare_key(record: JsonObject) -> str:
    """Return the key of a row that the reference client exported, "" for any other record.

    The client writes `{"category": ..., "key": ...}` without a runtime around it, and the category once more as the
    namespace.
    """
    formats, source = record.get("raw_source_format"), record.get("source")
    is_row = (
        isinstance(source, dict)
        and source.get("runtime") == zeroclaw_paths.RUNTIME
        and source.get("origin") == "sqlite"
    )
    key = formats.get("key") if is_row and isinstance(formats, dict) else None
    return key if isinstance(key, str) else ""
