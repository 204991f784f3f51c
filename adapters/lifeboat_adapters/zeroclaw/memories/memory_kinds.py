"""What ZeroClaw calls a memory and what the format calls it (ALF §3.1.2), both ways.

category      kind                         memory_type  category
core          -                            summary      -
daily         -                            episodic     daily_log
conversation  -                            episodic     conversation
any other     -                            semantic     the same
as above      "episodic", "procedural"     the kind     as above
as above      {"semantic": "preference"}   preference   as above
as above      {"semantic": "fact"}         semantic     as above
core          {"semantic": "decision"}     semantic     decision
core          {"semantic": "entity"}       semantic     entity
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from lifeboat_alf.memory import memory_records

CORE, DAILY, CONVERSATION = "core", "daily", "conversation"
_TO_FORMAT = {CORE: ("summary", None), DAILY: ("episodic", "daily_log"), CONVERSATION: ("episodic", "conversation")}
_TO_ZEROCLAW = {"daily_log": DAILY, "conversation": CONVERSATION}
_FINER = ("decision", "entity")
_PLAIN_KINDS = ("episodic", "procedural")


class RecordKind(NamedTuple):
    """`memory_type` and `category` of a record."""

    memory_type: str
    category: str | None


class BrainRowKind(NamedTuple):
    """`category` and `kind` of a row."""

    category: str
    kind: str | None


def record_kind_of_row(category: str, kind: str | None) -> RecordKind:
    """Return the type and category of the record for a row. An unknown kind is ignored."""
    memory_type, named = _TO_FORMAT.get(category, ("semantic", category or None))
    known = _decoded(kind)
    if isinstance(known, str) and known in _PLAIN_KINDS:
        return RecordKind(known, named)
    finer = known.get("semantic") if isinstance(known, dict) else None
    if finer == "preference":
        return RecordKind("preference", named)
    if finer == "fact":
        return RecordKind("semantic", named)
    if finer in _FINER:
        return RecordKind("semantic", named or str(finer))
    return RecordKind(memory_type, named)


def row_kind_of_record(memory_type: str, category: str | None) -> BrainRowKind:
    """Return the category and kind of the row for a record of another runtime. A type that ZeroClaw does not know
    becomes the category."""
    known = memory_records.reads_as("memory_type", memory_type) == memory_type
    if not known and category is None:
        category = memory_type
    if category in _FINER and memory_type == "semantic":
        return BrainRowKind(CORE, _encoded({"semantic": category}))
    named = CORE if category is None else _TO_ZEROCLAW.get(category, category)
    wanted = RecordKind(memory_type, category)
    kind = _kind(memory_type) if known else None
    return BrainRowKind(named, None if record_kind_of_row(named, None) == wanted else kind)


def _kind(memory_type: str) -> str | None:
    if memory_type in _PLAIN_KINDS:
        return _encoded(memory_type)
    finer = {"preference": "preference", "semantic": "fact"}.get(memory_type)
    return None if finer is None else _encoded({"semantic": finer})


def _encoded(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _decoded(kind: str | None) -> Any:
    try:
        return json.loads(kind) if isinstance(kind, str) else None
    except (ValueError, RecursionError):
        return None
