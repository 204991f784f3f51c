"""Reads what older writers express differently from the specification: decisions and insights as numbered fields,
messages as `[time] role: text`, and topics under other names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from lifeboat_formats.aicf.syntax.aicf_times import normalize_time
from lifeboat_formats.aicf.syntax.document_parts import AicfItem, AicfSection, ItemKind

TOPICS = ("topic", "topics", "title", "subject", "user_topics", "main_topic", "theme")
TIMES = ("timestamp", "timestamp_start", "created_at", "created", "date", "datetime", "time", "started_at")
_NUMBERED = re.compile(r"(?P<name>decision|insight)_?(?P<number>[0-9]{1,5})", re.IGNORECASE)
_OF_NUMBER = re.compile(r"(?P<name>[A-Za-z_]{2,20}?)_?(?P<number>[0-9]{1,5})")
_SPOKEN = re.compile(r"(?:[-*]\s+)?\[([^\[\]]{1,40})\]\s*([A-Za-z][A-Za-z0-9_ -]{0,29}):\s+(\S.*)", re.DOTALL)
_SURE_TOPICS = ("topic", "topics", "user_topics", "main_topic")
"""Names that mean a topic in any section."""
_TOPIC_LINE = re.compile(rf"(?:[-*] ?)?(?:{'|'.join(_SURE_TOPICS)}) ?[:=](.+)", re.IGNORECASE)
_BULLET = re.compile(r"[ \t]{0,20}[-*][ \t]{1,20}(?=\S)")
_LONGEST_LINE = 300
"""Longest line, in characters, that may name a topic."""
_QUOTES = "\"'"


class NumberedFields(NamedTuple):
    """A decision or an insight of numbered fields (`decision_1=`, `rationale_1=`): its own items, and every field of
    its number in the section by name."""

    items: list[AicfItem]
    fields: dict[str, str]


def has_numbered(section: AicfSection) -> bool:
    """Return whether a section holds decisions or insights as numbered fields."""
    return any(item.kind is ItemKind.PAIR and _NUMBERED.fullmatch(item.key) for item in section.items)


def split_numbered_fields(section: AicfSection) -> Iterator[NumberedFields | list[AicfItem]]:
    """Yield each decision or insight, and the items between them, in order."""
    fields = dict[str, dict[str, str]]()
    for item in section.of_kind(ItemKind.PAIR):
        found = _OF_NUMBER.fullmatch(item.key)
        if found is not None:
            fields.setdefault(found["number"], {})[found["name"].lower()] = item.value
    between, own, number = list[AicfItem](), list[AicfItem](), ""
    for item in section.items:
        begins = _NUMBERED.fullmatch(item.key) if item.kind is ItemKind.PAIR else None
        belongs = _OF_NUMBER.fullmatch(item.key) if item.kind is ItemKind.PAIR else None
        # `rationale_1` directly after `decision_1` belongs to it.
        if begins is None and own and not between and belongs is not None and belongs["number"] == number:
            own.append(item)
            continue
        if begins is None:
            between.append(item)
            continue
        if own:
            yield NumberedFields(own, fields[number])
        if between:
            yield between
        between, own, number = [], [item], begins["number"]
    if own:
        yield NumberedFields(own, fields[number])
    if between:
        yield between


def fields_by_name(items: Sequence[AicfItem]) -> dict[str, AicfItem]:
    """Return the fields of a block by name, without the number for a decision or insight of numbered fields."""
    pairs = [item for item in items if item.kind is ItemKind.PAIR]
    if not pairs or not _NUMBERED.fullmatch(pairs[0].key):
        return {item.key: item for item in pairs}
    named = ((_OF_NUMBER.fullmatch(item.key), item) for item in pairs)
    return {found["name"].lower(): item for found, item in named if found is not None}


def parse_spoken_line(text: str) -> tuple[str, str, str] | None:
    """Return time, role and words of `[2026-10-02 08:00] user: Where is it?`; None for other lines."""
    found = _SPOKEN.fullmatch(text.strip())
    return None if found is None else (found[1].strip(), found[2].strip().lower(), found[3])


def topic_in(section: AicfSection) -> str:
    """Return the topic that a field or a line of free text names (`topic: boats`), or ""."""
    for item in section.items:
        if item.kind is ItemKind.PAIR and item.key.lower() in _SURE_TOPICS:
            return strip_quotes(item.value)
        line = item.value.strip() if item.kind is ItemKind.TEXT else ""
        found = _TOPIC_LINE.fullmatch(line) if len(line) <= _LONGEST_LINE else None
        if found is not None:
            return strip_quotes(found[1])
    return ""


def strip_quotes(text: str) -> str:
    """Return a value without surrounding quotes."""
    text = text.strip()
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] and text[0] in _QUOTES else text


def strip_bullet(cells: Sequence[str]) -> list[str]:
    """Return the cells of a line without a leading list dash."""
    found = _BULLET.match(cells[0]) if cells else None
    return list(cells) if found is None else [cells[0][found.end() :], *cells[1:]]


# JSON ---------------------------------------------------------------------------------------------------------------


def json_time(value: Any) -> str | None:
    """Return the time that a JSON object or its `metadata` states."""
    return next((found for text in _texts(value, TIMES) if (found := normalize_time(text))), None)


def json_topic(value: Any) -> str:
    """Return the topic that a JSON object or its `metadata` states."""
    return next((text.strip() for text in _texts(value, TOPICS) if text.strip()), "")


def _texts(value: Any, names: Sequence[str]) -> Iterator[str]:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    for place in (value, metadata):
        if isinstance(place, dict):
            yield from (place[name] for name in names if isinstance(place.get(name), str))
