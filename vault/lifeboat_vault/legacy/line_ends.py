"""Restore the line ends of a note that was sent without them, from the matching lines of its earlier version. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_MOST_COMPARED = 250_000
"""Maximum pairs of lines to compare. In notes that differ in more, a line takes the end of the next line with the same
text."""


class WrittenLine(NamedTuple):
    """A line of a note and its end: "" or a lone CR for an unterminated last line."""

    text: str
    end: str


def written_lines(note: str) -> list[WrittenLine]:
    """Return the lines of a note with their ends."""
    found = []
    for line in _LINE.findall(note):
        text = line.removesuffix("\n").removesuffix("\r")
        found.append(WrittenLine(text, line[len(text) :]))
    return found


def match_lines(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """Return for each line of `new` the index of its line in `old`, None for an added one.

    Lines keep their order. Changed lines match those in the same place if their numbers are equal.
    """
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    found: list[int | None] = [*range(start)]
    found += [None if place is None else place + start for place in _middle(middle_old, middle_new)]
    return [*found, *range(len(old) - end, len(old))]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    return next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _middle(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    if len(old) * len(new) > _MOST_COMPARED:
        return _by_text(old, new)
    lengths = _lengths(old, new)
    if len(old) == len(new) and sum(a == b for a, b in zip(old, new, strict=True)) == lengths[0][0]:
        return [*range(len(new))]
    pairs = [*_pairs(old, new, lengths), (len(old), len(new))]
    found: list[int | None] = []
    old_at = 0
    for old_end, new_end in pairs:
        is_changed = old_end - old_at == new_end - len(found)
        found += [*range(old_at, old_end)] if is_changed else [None] * (new_end - len(found))
        found += [old_end]
        old_at = old_end + 1
    return found[:-1]


def _lengths(old: Sequence[str], new: Sequence[str]) -> list[list[int]]:
    """Return the length of the longest common subsequence of the remaining lines, by both start positions."""
    table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        row, below = table[i], table[i + 1]
        for j in range(len(new) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if old[i] == new[j] else max(below[j], row[j + 1])
    return table


def _pairs(old: Sequence[str], new: Sequence[str], lengths: list[list[int]]) -> list[tuple[int, int]]:
    found, i, j = list[tuple[int, int]](), 0, 0
    while i < len(old) and j < len(new):
        if old[i] == new[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return found


def _by_text(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    places: dict[str, list[int]] = defaultdict(list)
    for place in range(len(old) - 1, -1, -1):
        places[old[place]].append(place)
    return [places[text].pop() if places.get(text) else None for text in new]
