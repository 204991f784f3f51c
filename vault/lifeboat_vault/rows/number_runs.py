"""Many numbers in little room: as the runs of them that follow each other, oldest first, `[[0, 41], [44, 44]]`."""

from __future__ import annotations

from collections.abc import Sequence

Runs = list[list[int]]
MOST = 64
"""Runs that are kept: the newest. What is said of older numbers is forgotten."""


def add_number(runs: Sequence[Sequence[int]], number: int) -> Runs:
    """The runs with one number more."""
    made: Runs = []
    for first, last in sorted([*map(tuple, runs), (number, number)]):
        if made and first <= made[-1][1] + 1:
            made[-1][1] = max(made[-1][1], last)
        else:
            made.append([first, last])
    return made[-MOST:]


def holds_number(runs: Sequence[Sequence[int]], number: int) -> bool:
    """Whether a number is among them."""
    return any(first <= number <= last for first, last in runs)
