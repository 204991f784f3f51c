"""Splits a text into lines, with or without leading line numbers.

Only CR LF, LF and CR end a line: `str.splitlines` would also split at U+2028 and others, which are text here. The first
non-blank line decides whether a file is numbered, because rows of version 2 begin with numbers of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\n|\r)|[^\r\n]+\Z")
_NUMBERED = re.compile(r"[ \t]*([0-9]{1,9})\|")
_FIRST_DATA = re.compile(r"\\?@|[A-Za-z_][A-Za-z0-9_:.\-]*[ \t]*=")
_FIRST = re.compile(r"\s*")


class LineOffsets(NamedTuple):
    """Offsets of one line: `start` to `end` include number and terminator, `data` to `data_end` do not. `number` is the
    leading line number, or None."""

    start: int
    data: int
    data_end: int
    end: int
    number: int | None


def first_line(text: str) -> str:
    """Return the first non-blank line without its terminator."""
    found = _FIRST.match(text)
    at = found.end() if found else 0
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    line = _LINE.match(text, start)
    return "" if line is None else line.group(1) if line.group(1) is not None else line.group()


def is_numbered(text: str) -> bool:
    """Return whether the lines of a file are numbered: in the first non-blank line `N|` is followed by nothing, a
    header or a pair."""
    line = first_line(text)
    found = _NUMBERED.match(line)
    if found is None:
        return False
    rest = line[found.end() :].strip()
    return not rest or _FIRST_DATA.match(rest) is not None


def iterate_lines(text: str, start: int = 0, end: int | None = None, *, numbered: bool) -> Iterator[LineOffsets]:
    """Yield the lines between two offsets, both at the beginning of a line. The lines leave no gap."""
    at, stop = start, len(text) if end is None else end
    while at < stop:
        found = _LINE.match(text, at)
        assert found is not None  # at least one character is left
        data_end = found.end() if found.group(1) is None else found.end(1)
        prefix = _NUMBERED.match(text, at, data_end) if numbered else None
        if prefix is None:
            yield LineOffsets(at, at, data_end, found.end(), None)
        else:
            yield LineOffsets(at, prefix.end(), data_end, found.end(), int(prefix.group(1)))
        at = found.end()


def count_terminators(text: str, end: int) -> int:
    """Return how many lines end before an offset at the beginning of a line."""
    return text.count("\n", 0, end) + text.count("\r", 0, end) - text.count("\r\n", 0, end)


def find_terminators(text: str) -> set[str]:
    """Return the kinds of line terminators that occur."""
    pairs = text.count("\r\n")
    counted = {"\r\n": pairs, "\n": text.count("\n") - pairs, "\r": text.count("\r") - pairs}
    return {terminator for terminator, count in counted.items() if count}
