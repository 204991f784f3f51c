"""Finds the positions of records in the text of a bundle, so that one can be changed while all others stay byte for
byte.

Parsing is lenient, because another program may be writing to the file. It stops at the first malformed value and keeps
what was found before. `bundle_reading` decides whether a bundle is valid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aimem.wire import checksum, strict_json
from lifeboat_formats.aimem.wire.bundle_model import ARRAYS, KIND, KINDS, BundleRefused

_BLANK = re.compile(r"[ \t\r\n]*")
_ARRAY_OF = {kind: array for array, kind in KINDS.items()}
_decoder = json.JSONDecoder()
CHECKSUM = "checksum"


class SpannedValue(NamedTuple):
    """A value of a text: `text[start:end]`."""

    value: Any
    start: int
    end: int


@dataclass(slots=True)
class BundleScan:
    """Positions in a bundle. `members` are those of the envelope, `items` the records of each array in order."""

    is_stream: bool = False
    members: dict[str, SpannedValue] = field(default_factory=dict)
    items: dict[str, list[SpannedValue]] = field(default_factory=lambda: {name: [] for name in ARRAYS})

    def records(self, array: str) -> list[JsonObject]:
        return [item.value for item in self.items[array]]

    def envelope(self) -> JsonObject:
        return {name: item.value for name, item in self.members.items()}


class _UnreadableText(ValueError):
    """The text is not JSON from this position on."""


def scan_bundle(text: str) -> BundleScan | None:
    """Scan a document or a stream; None for a text that is neither."""
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    if text[start : start + 1] != "{":
        return None
    found = BundleScan()
    try:
        end = _skip(text, _object(text, start, found))
    except _UnreadableText:
        return found
    if end < len(text) and not any(found.items.values()):
        found.is_stream = True
        _lines(text, end, found)
    return found


def _object(text: str, at: int, found: BundleScan) -> int:
    """Scan the object that begins at an offset and return where it ends."""
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        name, at = _value(text, at)
        at = _skip(text, at)
        if not isinstance(name, str) or text[at : at + 1] != ":":
            raise _UnreadableText
        at = _skip(text, at + 1)
        if name in ARRAYS and text[at : at + 1] == "[":
            at = _array(text, at, found.items[name])
        else:
            value, end = _value(text, at)
            found.members[name] = SpannedValue(value, at, end)
            at = end
        at = _next(text, at, "}")
    return at + 1


def _array(text: str, at: int, items: list[SpannedValue]) -> int:
    at = _skip(text, at + 1)
    while text[at : at + 1] != "]":
        value, end = _value(text, at)
        items.append(SpannedValue(value, at, end))
        at = _next(text, end, "]")
    return at + 1


def _next(text: str, at: int, closing: str) -> int:
    """Return the offset of the next element or of the closing bracket."""
    at = _skip(text, at)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1)
    if text[at : at + 1] != closing:
        raise _UnreadableText
    return at


def _lines(text: str, at: int, found: BundleScan) -> None:
    """Scan the records of a stream, one per line."""
    while at < len(text):
        try:
            value, end = _value(text, at)
        except _UnreadableText:
            return
        array = _ARRAY_OF.get(str(value.get(KIND))) if isinstance(value, dict) else None
        if array is not None:
            del value[KIND]
            found.items[array].append(SpannedValue(value, at, end))
        at = _skip(text, end)


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _decoder.raw_decode(text, at)
    except (ValueError, RecursionError):
        raise _UnreadableText from None


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


# Changing -----------------------------------------------------------------------------------------------------------


def patch_bundle(text: str, found: BundleScan, values: Mapping[str, Mapping[int, JsonObject | None]]) -> str:
    """Replace records of a text, given by array and position: a new value, or None to remove it. The checksum is
    renewed, unless the bundle has a value that cannot be canonicalized."""
    edits = [edit for array, changes in values.items() for edit in _edits(found, array, found.items[array], changes)]
    made = _applied(text, edits)
    again = scan_bundle(made)
    if again is None or CHECKSUM not in again.members:
        return made
    item = again.members[CHECKSUM]
    try:
        return _applied(made, [(item.start, item.end, json.dumps(_checksum(again)))])
    except (BundleRefused, RecursionError):
        return made


def _edits(
    found: BundleScan, array: str, items: list[SpannedValue], changes: Mapping[int, JsonObject | None]
) -> Iterator[tuple[int, int, str]]:
    left = [place for place in range(len(items)) if changes.get(place, items[place].value) is not None]
    for place, item in enumerate(items):
        if place not in changes:
            continue
        value = changes[place]
        if value is not None:
            written = {KIND: KINDS[array], **value} if found.is_stream else value
            yield item.start, item.end, json.dumps(written, ensure_ascii=False)
        else:
            yield _removal(items, place, left)


def _removal(items: list[SpannedValue], place: int, left: list[int]) -> tuple[int, int, str]:
    """Return the edit that removes a record with the separator after it, or before it for the last records."""
    if left and place > left[-1]:
        start = items[left[-1]].end if place == left[-1] + 1 else items[place - 1].end
        return start, items[place].end, ""
    end = items[place + 1].start if place + 1 < len(items) else items[place].end
    return items[place].start, end, ""


def _applied(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    pieces, at = [], 0
    for start, end, new in sorted(edits):
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])


def _checksum(found: BundleScan) -> str:
    head = {name: item.value for name, item in found.members.items() if name != CHECKSUM}
    arrays = {name: [strict_json.canonical_json(value) for value in found.records(name)] for name in ARRAYS}
    return checksum.digest_pieces(checksum.canonical_pieces(head, arrays))
