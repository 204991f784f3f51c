"""The rows of one path or one record as spans of sequences, and how they read with one kept state put right.

Pure: nothing here reads or writes a table.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple


class RowSpan(NamedTuple):
    """One row: alive from `first` until before `last` (None: still). `content` is equal for rows that say the same,
    `columns` are the others as they are kept."""

    first: int
    last: int | None
    content: tuple[Any, ...]
    columns: tuple[Any, ...]

    def covers(self, number: int | None) -> bool:
        return number is not None and self.first <= number and (self.last is None or number < self.last)


class KeptSequences:
    """The numbers of the sequences that a vault keeps."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = sorted(numbers)

    def before(self, number: int) -> int | None:
        place = bisect_left(self._numbers, number)
        return self._numbers[place - 1] if place else None

    def after(self, number: int) -> int | None:
        place = bisect_right(self._numbers, number)
        return self._numbers[place] if place < len(self._numbers) else None

    def within(self, first: int, last: int | None) -> list[int]:
        """Return those from `first` until before `last` (None: no end)."""
        end = len(self._numbers) if last is None else bisect_left(self._numbers, last)
        return self._numbers[bisect_left(self._numbers, first) : end]


def replace_at_sequence(
    stays: Sequence[RowSpan], kept: KeptSequences, number: int, wanted: RowSpan | None
) -> list[RowSpan]:
    """Return the rows of one key that has `wanted` at one kept sequence (None: nothing), and what it had at every
    other one. Of `wanted` only the content and the columns count. Spans that meet and say the same become one row."""
    others = [part for stay in stays for part in _without(stay, kept, number)]
    if wanted is None:
        return others
    neighbours = (kept.before(number), kept.after(number))
    joined = [one for one in others if one.content == wanted.content and any(map(one.covers, neighbours))]
    first = min([number, *(one.first for one in joined)])
    ends = [neighbours[1], *(one.last for one in joined if one.first > number)]
    last = None if None in ends else max(end for end in ends if end is not None)
    return [*(one for one in others if one not in joined), RowSpan(first, last, wanted.content, wanted.columns)]


def _without(stay: RowSpan, kept: KeptSequences, number: int) -> list[RowSpan]:
    """Return what is left of a row that is not alive at a kept sequence any more."""
    if not stay.covers(number):
        return [stay]
    before, after = stay._replace(last=number), kept.after(number)
    parts = [before] if kept.within(before.first, number) else []
    return [*parts, stay._replace(first=after)] if after is not None and stay.covers(after) else parts
