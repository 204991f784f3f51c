"""Rows of one path or record as spans of sequences, and how to repair them for one kept state. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple


class RowSpan(NamedTuple):
    """One row, alive from `first` until before `last` (None: still). `content` is equal for rows that say the same;
    `columns` are the other stored columns."""

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
        """Return the kept numbers from `first` until before `last` (None: no end)."""
        end = len(self._numbers) if last is None else bisect_left(self._numbers, last)
        return self._numbers[bisect_left(self._numbers, first) : end]


def replace_at_sequence(
    stays: Sequence[RowSpan], kept: KeptSequences, number: int, wanted: RowSpan | None
) -> list[RowSpan]:
    """Return the rows of one key with `wanted` at one kept sequence (None: nothing) and unchanged content at every
    other one. Only content and columns of `wanted` are used. Adjacent equal spans become one row."""
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
    """Return the rest of a row that is no longer alive at a kept sequence."""
    if not stay.covers(number):
        return [stay]
    before, after = stay._replace(last=number), kept.after(number)
    parts = [before] if kept.within(before.first, number) else []
    return [*parts, stay._replace(first=after)] if after is not None and stay.covers(after) else parts
