"""Lines of text as a purge remembers them: normalised, taken apart by edits, and cut again wherever they turn up.

A line is normalised by taking the white space around it and a number in front away and composing its characters (NFC):
what an editor does to a line leaves it the same line. A rule says what goes of it. Offsets are bytes of the normalised
line.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from lifeboat_alf.redactions import Edit, edited

EDGE = b"\0"
"""What stands before the first line and after the last one."""
LEAD, TAIL = 1, 2
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_KEY = re.compile(rb"\s*:")
_NUMBER = re.compile(rb"[0-9]{1,9}\|")
"""What some formats write in front of every line."""
_SNIFFED = 8192
"""Bytes."""


class Rule(NamedTuple):
    """What goes of a line: spans of its text, and the white space before (LEAD) and after it with the line's end
    (TAIL)."""

    ends: int
    edits: tuple[Edit, ...]


class Touched(NamedTuple):
    """A line that an edit touched, with its nearest neighbours that are not blank, all normalised. `rule` None: all of
    it goes."""

    before: bytes
    text: bytes
    after: bytes
    rule: Rule | None


class Token(NamedTuple):
    """A string in JSON: where it stands, quotes included, and what it says."""

    start: int
    end: int
    text: bytes


def normalised(line: bytes) -> bytes:
    """A line as it is compared. What is no UTF-8 is compared by its bytes."""
    text = _core(line)
    if text.isascii():
        return text
    try:
        return unicodedata.normalize("NFC", text.decode()).encode()
    except UnicodeDecodeError:
        return text


def _core(line: bytes) -> bytes:
    """A line without the white space around it, and without the number in front, which any line before it moves."""
    text = line.strip()
    number = _NUMBER.match(text)
    return text[number.end() :].lstrip() if number else text


def length_of(text: bytes) -> int:
    """Characters."""
    return len(text.decode("utf-8", "replace"))


def is_binary(body: bytes) -> bool:
    return b"\0" in body[:_SNIFFED]


def is_json(path: str) -> bool:
    return path.endswith((".json", ".jsonl", ".json5", ".ndjson"))


def neighbours(normal: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
    """The nearest line before each line, and after it, that is not blank."""
    before, after = [EDGE] * len(normal), [EDGE] * len(normal)
    for place in range(1, len(normal)):
        before[place] = normal[place - 1] or before[place - 1]
        after[-place - 1] = normal[-place] or after[-place]
    return before, after


# Taking apart -------------------------------------------------------------------------------------------------------


def touched(body: bytes, edits: Sequence[Edit]) -> Iterator[Touched]:
    """The lines that edits touch, in order."""
    lines = body.split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    cuts: dict[int, list[Edit]] = {}
    for edit in edits:
        last = edit.offset + max(edit.length, 1) - 1
        for place in range(bisect_right(starts, edit.offset) - 1, min(bisect_right(starts, last), len(lines))):
            cuts.setdefault(place, []).append(edit)
    normal = list(map(normalised, lines))
    before, after = neighbours(normal)
    for place, found in cuts.items():
        rule = _rule(lines[place], starts[place], found, is_last=place + 1 == len(lines))
        yield Touched(before[place], normal[place], after[place], rule)


def _rule(line: bytes, start: int, edits: list[Edit], *, is_last: bool) -> Rule | None:
    """What edits of the whole body do to the line that begins at `start`."""
    core = _core(line)
    lead = len(line.rstrip()) - len(core) if core else 0
    ends, spans = 0, []
    for edit in edits:
        low, high = edit.offset - start, edit.offset + edit.length - start
        insert = edit.insert if low >= 0 else b""
        ends |= LEAD * (low <= 0 < high) | TAIL * (high > len(line) or (is_last and high == len(line)))
        first, last = (_within(core, place - lead) for place in (low, high))
        if last > first or insert:
            spans.append(Edit(first, last - first, insert))
    covers = not core or spans == [Edit(0, _within(core, len(core)))]
    return None if ends == LEAD | TAIL and covers else Rule(ends, tuple(spans))


def _within(core: bytes, place: int) -> int:
    """A place of a line's text in the normalised text."""
    cut = core[: max(0, min(place, len(core)))]
    return len(cut) if cut.isascii() else len(normalised(b"." + cut + b".")) - 2


def strings(body: bytes) -> Iterator[Token]:
    """The strings of JSON that are no names of members."""
    for found in _STRING.finditer(body):
        if not _KEY.match(body, found.end()):
            text = _said(found[0])
            if text is not None:
                yield Token(found.start(), found.end(), text)


def edits_within(token: Token, body: bytes, edits: Iterable[Edit]) -> tuple[list[Edit], bool]:
    """What edits of the body do to what a string says, and whether all of it goes, with its quotes."""
    made = []
    for edit in edits:
        if edit.offset >= token.end or edit.offset + max(edit.length, 1) <= token.start:
            continue
        if edit.offset <= token.start and edit.offset + edit.length >= token.end:
            return [Edit(0, len(token.text))], True
        first, last = (_place_in(token, body, place) for place in (edit.offset, edit.offset + edit.length))
        insert = _said(b'"' + edit.insert + b'"')
        if first is None or last is None or insert is None or edit.offset < token.start:
            return [Edit(0, len(token.text))], False
        made.append(Edit(first, last - first, insert))
    return made, False


def _place_in(token: Token, body: bytes, place: int) -> int | None:
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


def spelled(text: bytes, like: bytes) -> bytes:
    """A string in JSON again, spelled as the one it was."""
    return json.dumps(text.decode("utf-8", "surrogatepass"), ensure_ascii=like.isascii()).encode()


def parses(body: bytes, *, by_line: bool) -> bool:
    """Whether JSON can be read, in one piece or line by line."""
    pieces = [line for line in body.split(b"\n") if line.strip()] if by_line else [body]
    try:
        for piece in pieces:
            json.loads(piece)
    except ValueError:
        return False
    return True


# Cutting ------------------------------------------------------------------------------------------------------------


def cuts(line: bytes, text: bytes, rule: Rule | None) -> Iterator[Edit]:
    """What a rule takes of a line (its end included) whose normalised text is `text`."""
    if rule is None:
        yield Edit(0, len(line))
        return
    core = _core(line)
    begin = len(line.rstrip()) - len(core) if core else 0
    end = begin + len(core)
    if rule.ends & LEAD and begin:
        yield Edit(0, begin)
    if core == text:
        yield from (edit._replace(offset=begin + edit.offset) for edit in _fitting(rule, text))
    else:
        yield Edit(begin, len(core), edited(text, _fitting(rule, text)))
    if rule.ends & TAIL and end < len(line):
        yield Edit(end, len(line) - end)


def _fitting(rule: Rule, text: bytes) -> Iterator[Edit]:
    return (edit for edit in rule.edits if edit.offset + edit.length <= len(text))


def joined(one: Rule | None, other: Rule | None) -> Rule | None:
    """Both rules of a line that was cut in two ways: what either of them takes goes."""
    if one is None or other is None:
        return None
    spans: list[Edit] = []
    for edit in sorted({*one.edits, *other.edits}):
        if spans and edit.offset < spans[-1].offset + spans[-1].length:
            end = max(edit.offset + edit.length, spans[-1].offset + spans[-1].length)
            spans[-1] = Edit(spans[-1].offset, end - spans[-1].offset, spans[-1].insert)
        else:
            spans.append(edit)
    return Rule(one.ends & other.ends, tuple(spans))


# JSON ---------------------------------------------------------------------------------------------------------------


def to_json(rule: Rule | None) -> list[Any] | None:
    if rule is None:
        return None
    return [rule.ends, *edits_to_json(rule.edits)]


def of_json(value: list[Any] | None) -> Rule | None:
    return None if value is None else Rule(int(value[0]), edits_of_json(value[1:]))


def edits_to_json(edits: Iterable[Edit]) -> list[list[Any]]:
    """What is inserted is no text of anybody: `null`, `{}`."""
    return [
        [edit.offset, edit.length, *([edit.insert.decode("utf-8", "replace")] if edit.insert else [])] for edit in edits
    ]


def edits_of_json(value: Iterable[list[Any]]) -> tuple[Edit, ...]:
    return tuple(Edit(int(offset), int(length), "".join(insert).encode()) for offset, length, *insert in value)
