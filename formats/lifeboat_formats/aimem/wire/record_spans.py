"""Finds the positions of records in the text of a bundle, so that one can be changed while all others stay byte for
byte.

Parsing is lenient, because another program may be writing to the file. It stops at the first malformed value and keeps
what was found before. `bundle_reading` decides whether a bundle is valid.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aimem.wire import checksum, strict_json
from lifeboat_formats.aimem.wire.bundle_model import ARRAYS, KIND, KINDS, BundleRefused
from lifeboat_formats.interchange.text_edits import (
    MalformedJson,
    PositionedValue,
    collect_values,
    decode_value,
    replace_spans,
    skip_blanks,
)

_ARRAY_OF = {kind: array for array, kind in KINDS.items()}
CHECKSUM = "checksum"


@dataclass(slots=True)
class BundleScan:
    """Positions in a bundle. `members` are those of the envelope, `items` the records of each array in order."""

    is_stream: bool = False
    members: dict[str, PositionedValue] = field(default_factory=dict)
    items: dict[str, list[PositionedValue]] = field(default_factory=lambda: {name: [] for name in ARRAYS})

    def records(self, array: str) -> list[JsonObject]:
        """Return the values of an array."""
        return [item.value for item in self.items[array]]

    def drop_records(self, array: str, is_gone: Callable[[str], bool], *ends: str) -> dict[int, JsonObject | None]:
        """Return the places of records one of whose ends is gone, each with None as its new value."""
        records = ((place, value) for place, value in enumerate(self.records(array)) if isinstance(value, dict))
        return {place: None for place, value in records if any(is_gone(str(value.get(end))) for end in ends)}

    def envelope(self) -> JsonObject:
        """Return the members besides the arrays."""
        return {name: item.value for name, item in self.members.items()}


def scan_bundle(text: str) -> BundleScan | None:
    """Scan a document or a stream; None for a text that is neither."""
    start = skip_blanks(text, 1 if text.startswith("\ufeff") else 0)
    if text[start : start + 1] != "{":
        return None
    found, values, end = BundleScan(), list[PositionedValue](), len(text)
    with contextlib.suppress(MalformedJson):
        end = skip_blanks(text, collect_values(text, start, ARRAYS, values))
    for each in values:
        if each.is_element:
            found.items[each.key].append(each)
        else:
            found.members[each.key] = each
    if end < len(text) and not any(found.items.values()):
        found.is_stream = True
        with contextlib.suppress(MalformedJson):
            _scan_lines(text, end, found)
    return found


def _scan_lines(text: str, at: int, found: BundleScan) -> None:
    """Scan the records of a stream, one per line."""
    while at < len(text):
        value, end = decode_value(text, at)
        array = _ARRAY_OF.get(str(value.get(KIND))) if isinstance(value, dict) else None
        if array is not None:
            del value[KIND]
            found.items[array].append(PositionedValue(value, at, end))
        at = skip_blanks(text, end)


# Changing -----------------------------------------------------------------------------------------------------------


def patch_bundle(text: str, found: BundleScan, values: Mapping[str, Mapping[int, JsonObject | None]]) -> str:
    """Replace records of a text, given by array and position: a new value, or None to remove it. The checksum is
    renewed, unless the bundle has a value that cannot be canonicalized."""
    edits = [edit for array, changes in values.items() for edit in _edits(found, array, found.items[array], changes)]
    made = replace_spans(text, edits)
    again = scan_bundle(made)
    if again is None or CHECKSUM not in again.members:
        return made
    item = again.members[CHECKSUM]
    try:
        return replace_spans(made, [(item.start, item.end, json.dumps(_checksum(again)))])
    except (BundleRefused, RecursionError):
        return made


def _edits(
    found: BundleScan, array: str, items: list[PositionedValue], changes: Mapping[int, JsonObject | None]
) -> Iterator[tuple[int, int, str]]:
    # Records that remain decide which separator goes with a removed one.
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


def _removal(items: list[PositionedValue], place: int, left: list[int]) -> tuple[int, int, str]:
    """Return the edit that removes a record with the separator after it, or before it for the last records."""
    if left and place > left[-1]:
        start = items[left[-1]].end if place == left[-1] + 1 else items[place - 1].end
        return start, items[place].end, ""
    end = items[place + 1].start if place + 1 < len(items) else items[place].end
    return items[place].start, end, ""


def _checksum(found: BundleScan) -> str:
    head = {name: item.value for name, item in found.members.items() if name != CHECKSUM}
    arrays = {name: [strict_json.canonical_json(value) for value in found.records(name)] for name in ARRAYS}
    return checksum.digest_pieces(checksum.canonical_pieces(head, arrays))
