"""Compare and edit lines of text for purges.

A line is normalised by removing surrounding white space and a leading number, and by composing its characters (NFC), so
that changes of an editor do not matter. A rule says what is removed from it. Offsets are bytes of the normalised line.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from lifeboat_alf.redaction.redactions import ByteEdit, apply_edits

EDGE = b"\0"
"""The neighbour before the first line and after the last one."""
LEAD, TAIL = 1, 2
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_KEY = re.compile(rb"\s*:")
_NUMBER = re.compile(rb"[0-9]{1,9}\|")
"""A number that some formats write in front of every line."""
_SNIFFED = 8192
"""Bytes."""


class LineRule(NamedTuple):
    """What is removed from a line: spans of its text, and the white space before (LEAD) and after it with the line end
    (TAIL)."""

    ends: int
    edits: tuple[ByteEdit, ...]


class TouchedLine(NamedTuple):
    """A line that an edit touches, with its nearest non-blank neighbours, all normalised. `rule` None: all of it is
    removed."""

    before: bytes
    text: bytes
    after: bytes
    rule: LineRule | None


class JsonString(NamedTuple):
    """A string in JSON: its place, quotes included, and its decoded text."""

    start: int
    end: int
    text: bytes


def normalise_line(line: bytes) -> bytes:
    """Return the form in which lines are compared. Bytes that are not UTF-8 are compared unchanged."""
    text = _core(line)
    if text.isascii():
        return text
    try:
        return unicodedata.normalize("NFC", text.decode()).encode()
    except UnicodeDecodeError:
        return text


def _core(line: bytes) -> bytes:
    """Return a line without surrounding white space and without a leading number, which changes with the lines before
    it."""
    text = line.strip()
    number = _NUMBER.match(text)
    return text[number.end() :].lstrip() if number else text


def count_characters(text: bytes) -> int:
    """Count the characters of a text."""
    return len(text.decode("utf-8", "replace"))


def is_binary_body(body: bytes) -> bool:
    return b"\0" in body[:_SNIFFED]


def is_json_path(path: str) -> bool:
    return path.endswith((".json", ".jsonl", ".json5", ".ndjson"))


def find_neighbours(normal: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return the nearest non-blank line before and after each line."""
    before, after = [EDGE] * len(normal), [EDGE] * len(normal)
    for place in range(1, len(normal)):
        before[place] = normal[place - 1] or before[place - 1]
        after[-place - 1] = normal[-place] or after[-place]
    return before, after


# Taking apart -------------------------------------------------------------------------------------------------------


def find_touched_lines(body: bytes, edits: Sequence[ByteEdit]) -> Iterator[TouchedLine]:
    """Yield the lines that edits touch, in order."""
    lines = body.split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    cuts: dict[int, list[ByteEdit]] = {}
    for edit in edits:
        last = edit.offset + max(edit.length, 1) - 1
        for place in range(bisect_right(starts, edit.offset) - 1, min(bisect_right(starts, last), len(lines))):
            cuts.setdefault(place, []).append(edit)
    normal = list(map(normalise_line, lines))
    before, after = find_neighbours(normal)
    for place, found in cuts.items():
        rule = _rule(lines[place], starts[place], found, is_last=place + 1 == len(lines))
        yield TouchedLine(before[place], normal[place], after[place], rule)


def _rule(line: bytes, start: int, edits: list[ByteEdit], *, is_last: bool) -> LineRule | None:
    """Return what edits of the whole body do to the line that begins at `start`."""
    core = _core(line)
    lead = len(line.rstrip()) - len(core) if core else 0
    ends, spans = 0, []
    for edit in edits:
        low, high = edit.offset - start, edit.offset + edit.length - start
        insert = edit.insert if low >= 0 else b""
        ends |= LEAD * (low <= 0 < high) | TAIL * (high > len(line) or (is_last and high == len(line)))
        first, last = (_within(core, place - lead) for place in (low, high))
        if last > first or insert:
            spans.append(ByteEdit(first, last - first, insert))
    covers = not core or spans == [ByteEdit(0, _within(core, len(core)))]
    return None if ends == LEAD | TAIL and covers else LineRule(ends, tuple(spans))


def _within(core: bytes, place: int) -> int:
    """Convert an offset in a line's text to one in the normalised text."""
    cut = core[: max(0, min(place, len(core)))]
    return len(cut) if cut.isascii() else len(normalise_line(b"." + cut + b".")) - 2


def find_json_strings(body: bytes) -> Iterator[JsonString]:
    """Yield the strings of JSON that are not member names."""
    for found in _STRING.finditer(body):
        if not _KEY.match(body, found.end()):
            text = _said(found[0])
            if text is not None:
                yield JsonString(found.start(), found.end(), text)


def edits_within(token: JsonString, body: bytes, edits: Iterable[ByteEdit]) -> tuple[list[ByteEdit], bool]:
    """Return what edits of the body do to a string's text, and whether all of it is removed with its quotes."""
    made = []
    for edit in edits:
        if edit.offset >= token.end or edit.offset + max(edit.length, 1) <= token.start:
            continue
        if edit.offset <= token.start and edit.offset + edit.length >= token.end:
            return [ByteEdit(0, len(token.text))], True
        first, last = (_place_in(token, body, place) for place in (edit.offset, edit.offset + edit.length))
        insert = _said(b'"' + edit.insert + b'"')
        if first is None or last is None or insert is None or edit.offset < token.start:
            return [ByteEdit(0, len(token.text))], False
        made.append(ByteEdit(first, last - first, insert))
    return made, False


def _place_in(token: JsonString, body: bytes, place: int) -> int | None:
    if place >= token.end - 1:
        return len(token.text)
    text = _said(body[token.start : max(place, token.start + 1)] + b'"')
    return None if text is None else len(text)


def _said(token: bytes) -> bytes | None:
    try:
        text = json.loads(token, strict=False)
    except ValueError:
        return None
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else None


def spell_json_string(text: bytes, like: bytes) -> bytes:
    """Encode a JSON string again, in the spelling of the original."""
    return json.dumps(text.decode("utf-8", "surrogatepass"), ensure_ascii=like.isascii()).encode()


def can_parse_json(body: bytes, *, by_line: bool) -> bool:
    """Return whether JSON is valid, in one piece or line by line."""
    pieces = [line for line in body.split(b"\n") if line.strip()] if by_line else [body]
    try:
        for piece in pieces:
            json.loads(piece)
    except ValueError:
        return False
    return True


# Cutting ------------------------------------------------------------------------------------------------------------


def apply_line_rule(line: bytes, text: bytes, rule: LineRule | None) -> Iterator[ByteEdit]:
    """Yield what a rule removes from a line (its end included) whose normalised text is `text`."""
    if rule is None:
        yield ByteEdit(0, len(line))
        return
    core = _core(line)
    begin = len(line.rstrip()) - len(core) if core else 0
    end = begin + len(core)
    if rule.ends & LEAD and begin:
        yield ByteEdit(0, begin)
    if core == text:
        yield from (edit._replace(offset=begin + edit.offset) for edit in _fitting(rule, text))
    else:
        yield ByteEdit(begin, len(core), apply_edits(text, _fitting(rule, text)))
    if rule.ends & TAIL and end < len(line):
        yield ByteEdit(end, len(line) - end)


def _fitting(rule: LineRule, text: bytes) -> Iterator[ByteEdit]:
    return (edit for edit in rule.edits if edit.offset + edit.length <= len(text))


def join_rules(one: LineRule | None, other: LineRule | None) -> LineRule | None:
    """Return a rule that removes what either of two rules removes."""
    if one is None or other is None:
        return None
    spans: list[ByteEdit] = []
    for edit in sorted({*one.edits, *other.edits}):
        if spans and edit.offset < spans[-1].offset + spans[-1].length:
            end = max(edit.offset + edit.length, spans[-1].offset + spans[-1].length)
            spans[-1] = ByteEdit(spans[-1].offset, end - spans[-1].offset, spans[-1].insert)
        else:
            spans.append(edit)
    return LineRule(one.ends & other.ends, tuple(spans))


# JSON ---------------------------------------------------------------------------------------------------------------


def rule_to_json(rule: LineRule | None) -> list[Any] | None:
    if rule is None:
        return None
    return [rule.ends, *edits_to_json(rule.edits)]


def rule_from_json(value: list[Any] | None) -> LineRule | None:
    return None if value is None else LineRule(int(value[0]), edits_from_json(value[1:]))


def edits_to_json(edits: Iterable[ByteEdit]) -> list[list[Any]]:
    """Return edits as JSON. What they insert is never text of a user: `null`, `{}`."""
    return [
        [edit.offset, edit.length, *([edit.insert.decode("utf-8", "replace")] if edit.insert else [])] for edit in edits
    ]


def edits_from_json(value: Iterable[list[Any]]) -> tuple[ByteEdit, ...]:
    return tuple(ByteEdit(int(offset), int(length), "".join(insert).encode()) for offset, length, *insert in value)
