"""Cut matches out of the bytes of a file so that it can still be read.

text            the match
JSON            inside strings the match, in whole characters; a number or a word becomes null; never structure
JSON lines      the same, line by line; a line that cannot be cut goes whole, and so does the row of a database
SQLite          spaces in the place of the match, where SQLite can read the database then
what is left    JSON that does not parse then becomes {}, bytes that are no text become none
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, takewhile
from typing import NamedTuple

from lifeboat_alf.archive.archive_documents import is_json
from lifeboat_alf.errors import PurgeError
from lifeboat_alf.purging.byte_spans import Span, join_spans
from lifeboat_alf.purging.sqlite_cuts import blank_spans, is_sqlite
from lifeboat_alf.purging.unescaped_views import ESCAPE, is_binary
from lifeboat_alf.redaction.redactions import ByteEdit, apply_edits

Find = Callable[[bytes], list[Span]]
Edits = tuple[ByteEdit, ...]

_ROUNDS = 64
"""Maximum repetitions of the search, because what is left of and right of a cut may form a match together."""
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[^\s"{}\[\],:]+', re.DOTALL)
_ROWS = re.compile(r"raw/[^/]+/db/.+\.jsonl", re.DOTALL)
_NULL = b"null"


class BodyCut(NamedTuple):
    """The edits that remove all matches from a body, the remaining bytes, the number of matches, and whether all bytes
    were removed."""

    edits: tuple[ByteEdit, ...]
    body: bytes
    spans: list[Span]
    is_dropped: bool


def cut_body(
    path: str, body: bytes, find: Find, *, passage: bool = False, also: Edits = (), pieces: Sequence[Span] = ()
) -> BodyCut | None:
    """Return the cut of a file that removes what `find` finds, what `also` removes, and the whole `pieces` (in JSON:
    values); None when there is nothing to remove.

    With `passage`, database rows stay, without the match. Raises PurgeError when the cut is impossible.
    """
    found = join_spans([*find(body), *pieces])
    spans = join_spans([*found, *((edit.offset, edit.offset + edit.length) for edit in also)])
    if not spans:
        return None
    made = _edits_of(path, body, passage=passage)
    if pieces and is_json(body):
        made = partial(_around, body, tuple(join_spans(pieces)), made)
    for _ in range(_ROUNDS):
        edits = made(spans)
        if edits is None:
            break
        new = apply_edits(body, edits)
        if not (again := find(new)):
            return BodyCut(edits, new, found, is_dropped=False)
        wider = join_spans([*spans, *(_in_old(span, edits) for span in again)])
        if wider == spans:
            break
        spans = wider
    return _whole(path, body, find, found)


def _around(
    body: bytes, pieces: Sequence[Span], others: Callable[[list[Span]], Edits | None], spans: list[Span]
) -> Edits | None:
    """Replace whole JSON values by null; remove everything else by `others`."""
    outside = [part for span in spans for part in _clipped(span, pieces)]
    rest = others(outside) if outside else ()
    edits = tuple(sorted([*(ByteEdit(start, end - start, _NULL) for start, end in pieces), *(rest or ())]))
    return edits if rest is not None and is_json(apply_edits(body, edits)) else others(spans)


def _clipped(span: Span, pieces: Sequence[Span]) -> Iterator[Span]:
    """Yield the parts of a span that lie in no piece."""
    start, end = span
    for first, last in pieces:
        if last <= start or first >= end:
            continue
        if start < first:
            yield start, first
        start = last
    if start < end:
        yield start, end


def _whole(path: str, body: bytes, find: Find, found: list[Span]) -> BodyCut:
    for rest in (b"{}", b"") if path.endswith(".json") and is_json(body) else (b"",):
        if not find(rest):
            return BodyCut((ByteEdit(0, len(body), rest),), rest, found, is_dropped=True)
    raise PurgeError(
        f"the text cannot be purged from {path}, because it also matches an empty file; purge a longer text"
    )


def cut_whole_body(path: str, body: bytes) -> BodyCut:
    """Return the cut that leaves no byte of a body."""
    return _whole(path, body, lambda _: [], [])


def _edits_of(path: str, body: bytes, *, passage: bool) -> Callable[[list[Span]], Edits | None]:
    """Return how to remove spans from a kind of file. The function returns None where they cannot be removed."""
    if is_sqlite(body):
        return partial(blank_spans, body)
    if is_binary(body):
        return lambda spans: None
    if path.endswith(".jsonl"):
        rows = _ROWS.fullmatch(path) is not None and not passage
        return lambda spans: tuple(_from_lines(body, spans, rows=rows))
    if path.endswith(".json") and is_json(body):
        return lambda spans: json_edits(body, spans)
    return lambda spans: tuple(ByteEdit(start, end - start) for start, end in spans)


def _from_lines(body: bytes, spans: list[Span], *, rows: bool) -> Iterator[ByteEdit]:
    for (start, end), own in _touched_lines(body, spans).items():
        inside = [(first - start, last - start) for first, last in own]
        edits = None if rows else _line_edits(body[start:end], inside)
        if edits is None:
            yield ByteEdit(start, min(end + 1, len(body)) - start)
        else:
            yield from (edit._replace(offset=edit.offset + start) for edit in edits)


def _line_edits(line: bytes, spans: list[Span]) -> Edits | None:
    if is_json(line):
        return json_edits(line, spans)
    return tuple(ByteEdit(start, end - start) for start, end in spans)


def _touched_lines(body: bytes, spans: list[Span]) -> dict[Span, list[Span]]:
    """Return the parts of spans by the line that they touch, without its newline."""
    lines: dict[Span, list[Span]] = {}
    for start, end in spans:
        position = start
        while position < end:
            newline = body.find(b"\n", position)
            last = len(body) if newline < 0 else newline
            if position < last:
                line = body.rfind(b"\n", 0, position) + 1, last
                lines.setdefault(line, []).append((position, min(end, last)))
            position = last + 1
    return lines


# JSON ---------------------------------------------------------------------------------------------------------------


def json_edits(data: bytes, spans: list[Span]) -> Edits | None:
    """Return the edits that remove spans from one JSON value; None when it would not parse afterwards, or nothing would
    change."""
    edits = tuple(_of_tokens(data, spans))
    return edits if edits and is_json(apply_edits(data, edits)) else None


def _of_tokens(data: bytes, spans: list[Span]) -> Iterator[ByteEdit]:
    passed = 0
    for token in _TOKEN.finditer(data):
        start, end = token.span()
        while passed < len(spans) and spans[passed][1] <= start:
            passed += 1
        if passed == len(spans):
            return
        own = list(takewhile(lambda span: span[0] < end, islice(spans, passed, None)))  # noqa: B023 - used up at once
        if own and data[start] == ord('"'):
            yield from _of_string(data, (start + 1, end - 1), own)
        elif own and token[0] != _NULL:
            yield ByteEdit(start, end - start, _NULL)


def _of_string(data: bytes, inner: Span, spans: list[Span]) -> Iterator[ByteEdit]:
    """Yield the edits inside a string, in whole characters."""
    escapes = [match.span() for match in ESCAPE.finditer(data, *inner)] if b"\\" in data[slice(*inner)] else []
    parts = [(max(start, inner[0]), min(end, inner[1])) for start, end in spans]
    grown = [_grown(data, part, inner, escapes) for part in parts if part[0] < part[1]]
    for start, end in join_spans(grown):
        yield ByteEdit(start, end - start)


def _grown(data: bytes, part: Span, inner: Span, escapes: list[Span]) -> Span:
    start, end = part
    for first, last in escapes:
        if first < start < last:
            start = first
        if first < end < last:
            end = last
    while start > inner[0] and data[start] & 0xC0 == 0x80:
        start -= 1
    while end < inner[1] and data[end] & 0xC0 == 0x80:
        end += 1
    return start, end


def _in_old(span: Span, edits: Edits) -> Span:
    """Map a span in the edited bytes to the old bytes, including everything removed inside it."""
    return _old_place(span[0], edits, is_end=False), _old_place(span[1], edits, is_end=True)


def _old_place(position: int, edits: Edits, *, is_end: bool) -> int:
    """Map a position to the old bytes. At a cut, a start maps behind it and an end before it."""
    shift = 0
    for edit in edits:
        begin = edit.offset - shift
        end = begin + len(edit.insert)
        if position < begin or (is_end and position == begin):
            break
        if position < end:
            return edit.offset + edit.length if is_end else edit.offset
        shift += edit.length - len(edit.insert)
    return position + shift
