"""Widen matches to whole lines, in text and inside JSON strings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lifeboat_alf.purging.byte_spans import Span, join_spans

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BREAK = re.compile(rb"\\(?:(n|u000[aA])|.)", re.DOTALL)
_JSON = (".json", ".jsonl")


def widen_to_lines(path: str, body: bytes, spans: Iterable[Span]) -> list[Span]:
    """Return the lines that contain the spans, each with its line break. In JSON, lines are those of a string's text;
    structure is never included."""
    find = _in_strings if path.endswith(_JSON) else _in_text
    return join_spans(sorted(find(body, list(spans))))


def _in_text(body: bytes, spans: list[Span]) -> Iterator[Span]:
    for start, end in spans:
        behind = body.find(b"\n", max(end - 1, start))
        yield body.rfind(b"\n", 0, start) + 1, len(body) if behind < 0 else behind + 1


def _in_strings(body: bytes, spans: list[Span]) -> Iterator[Span]:
    strings = (match.span() for match in _STRING.finditer(body))
    string = next(strings, None)
    for start, end in sorted(spans):
        while string is not None and string[1] <= start:
            string = next(strings, None)
        if string is None or not (string[0] < start and end < string[1]):
            yield start, end  # a number, or more than one string
            continue
        first, last = string[0] + 1, string[1] - 1
        breaks = [match.span() for match in _BREAK.finditer(body, first, last) if match[1]]
        begin = max((after for _, after in breaks if after <= start), default=first)
        yield begin, min((after for _, after in breaks if after >= end), default=last)
