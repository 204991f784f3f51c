"""Finds the time of a block that is stated in another field than the specification's, or in a separate section.

Older writers use `timestamp=`, `date: ...`, `@TIMESTAMP:...` or `<timestamp>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lifeboat_formats.aicf.syntax.aicf_times import normalize_time
from lifeboat_formats.aicf.syntax.document_parts import AicfItem, AicfSection, ItemKind

_SECTIONS = ("TIMESTAMP", "DATE", "TIME", "CREATED")
_KEYS = (
    "timestamp",
    "timestamp_start",
    "created_at",
    "created",
    "date",
    "datetime",
    "time",
    "started_at",
    "start_time",
    "timestamp_end",
    "updated_at",
    "last_update_time",
    "last_updated",
    "exported_at",
    "export_date",
)
_FIELD = re.compile(r"\s*[-*]?\s*([A-Za-z_]{4,20})\s*[:=|]\s*(\S.*?)\s*")
_TAG = re.compile(r"<([A-Za-z_]{4,20})>\s*([^<>]{8,40}?)\s*</\1>")


def clock_of(section: AicfSection) -> str | None:
    """Return the time that `@TIMESTAMP:2026-10-02T08:00:00Z` sets for the sections after it; None for others."""
    if section.name not in _SECTIONS:
        return None
    words = (section.ident, *(item.value for item in section.items if item.kind is not ItemKind.HEADER))
    return next((found for word in words if word and (found := normalize_time(word.strip()))), None)


def stated_time(section: AicfSection) -> str | None:
    """Return the time in a block's fields, by order of preference of their names, or None."""
    stated = dict[str, str]()
    for key, value in _fields(section):
        found = normalize_time(value.strip().strip("\"'"))
        if found is not None:
            stated.setdefault(key, found)
    return next((stated[key] for key in _KEYS if key in stated), None)


def _fields(section: AicfSection) -> Iterator[tuple[str, str]]:
    for item in section.items:
        if item.kind is ItemKind.PAIR:
            yield item.key.lower(), item.value
        elif item.kind is ItemKind.CELLS and len(item.values) == 2:
            yield item.values[0].strip().lower(), item.values[1]
        elif item.kind is not ItemKind.HEADER:
            yield from _in_text(item)


def _in_text(item: AicfItem) -> Iterator[tuple[str, str]]:
    field = _FIELD.fullmatch(item.value)
    if field is not None:
        yield field[1].lower(), field[2]
    for tag, value in _TAG.findall(item.raw):
        yield tag.lower(), value
