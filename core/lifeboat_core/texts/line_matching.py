"""Match the lines of two versions of a text: which line of the new version is which line of the old one."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

MOST_COMPARED = 64_000_000
"""Pairs of lines that are compared where no line is unique: one bit of memory each. Beyond that, the lines count as
new."""


class _Range(NamedTuple):
    """Lines `old_start` until before `old_end` of the old version, and the same of the new one."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def match_lines(old: Sequence[Hashable], new: Sequence[Hashable]) -> dict[int, int]:
    """Return for each line of `new` that stood in `old` its place there; both counted from 0, in rising order.

    Lines that are unique in both versions are matched first (patience diff), so a moved section is not torn apart and
    repeated lines, such as empty ones, follow their surroundings.
    """
    found: dict[int, int] = {}
    waiting = [_Range(0, len(old), 0, len(new))]
    while waiting:
        left = _trim(old, new, waiting.pop(), found)
        if left.old_start == left.old_end or left.new_start == left.new_end:
            continue
        anchors = _unique_anchors(old, new, left)
        if anchors:
            waiting += _between(left, anchors, found)
        else:
            found.update(_compare(old, new, left))
    return found


def _trim(old: Sequence[Hashable], new: Sequence[Hashable], given: _Range, found: dict[int, int]) -> _Range:
    """Match equal lines at both ends of a range, and return the rest."""
    old_start, old_end, new_start, new_end = given
    while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
        found[new_start] = old_start
        old_start, new_start = old_start + 1, new_start + 1
    while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
        found[new_end] = old_end
    return _Range(old_start, old_end, new_start, new_end)


def _unique_anchors(old: Sequence[Hashable], new: Sequence[Hashable], given: _Range) -> list[tuple[int, int]]:
    """Return the places (old, new) of lines that are unique in both parts, the longest run of them that rises in
    both."""
    old_part, new_part = old[given.old_start : given.old_end], new[given.new_start : given.new_end]
    old_counts, new_counts = Counter(old_part), Counter(new_part)
    place_of = {line: place for place, line in enumerate(old_part, given.old_start) if old_counts[line] == 1}
    pairs = [
        (place_of[line], place)
        for place, line in enumerate(new_part, given.new_start)
        if new_counts[line] == 1 and line in place_of
    ]
    return _longest_rising(pairs)


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of these pairs whose first members rise."""
    ends: list[int] = []
    last_of: list[int] = []
    before: list[int] = []
    for number, (first, _) in enumerate(pairs):
        length = bisect_left(ends, first)
        before.append(last_of[length - 1] if length else -1)
        if length == len(ends):
            ends.append(first)
            last_of.append(number)
        else:
            ends[length], last_of[length] = first, number
    chosen: list[tuple[int, int]] = []
    at = last_of[-1] if last_of else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = before[at]
    return chosen[::-1]


def _between(given: _Range, anchors: list[tuple[int, int]], found: dict[int, int]) -> Iterator[_Range]:
    old_at, new_at = given.old_start, given.new_start
    for old_place, new_place in anchors:
        found[new_place] = old_place
        yield _Range(old_at, old_place, new_at, new_place)
        old_at, new_at = old_place + 1, new_place + 1
    yield _Range(old_at, given.old_end, new_at, given.new_end)


def _compare(old: Sequence[Hashable], new: Sequence[Hashable], given: _Range) -> Iterator[tuple[int, int]]:
    """Yield matches (new, old) among repeated lines: a longest common subsequence.

    Each row of the usual table is one integer with a bit for each old line, so a row takes a few operations. The
    time of `difflib` grows with the third power of the lines where few different ones repeat.
    """
    width, height = given.old_end - given.old_start, given.new_end - given.new_start
    if width * height > MOST_COMPARED:
        return
    masks: dict[Hashable, int] = {}
    for place, line in enumerate(old[given.old_start : given.old_end]):
        masks[line] = masks.get(line, 0) | 1 << place
    row = full = (1 << width) - 1
    rows = [row]  # a bit is 0 where one more old line makes the common subsequence longer
    for line in new[given.new_start : given.new_end]:
        common = row & masks.get(line, 0)
        row = ((row + common) | (row - common)) & full
        rows.append(row)
    place, number = width - 1, height
    while place >= 0 and number:
        if rows[number] >> place & 1:
            place -= 1
            continue
        number -= 1
        if rows[number] >> place & 1:
            yield given.new_start + number, given.old_start + place
            place -= 1
