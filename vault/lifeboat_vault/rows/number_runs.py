"""Store many numbers compactly as runs of consecutive ones, oldest first: `[[0, 41], [44, 44]]`."""

from __future__ import annotations

from collections.abc import Sequence

Runs = list[list[int]]
MOST = 64
"""Maximum runs. Only the newest are kept; older numbers are forgotten."""


def add_number(runs: Sequence[Sequence[int]], number: int) -> Runs:
    """Return the runs with one more number."""
    made: Runs = []
    for first, last in sorted([*map(tuple, runs), (number, number)]):
        if made and first <= made[-1][1] + 1:
            made[-1][1] = max(made[-1][1], last)
        else:
            made.append([first, last])
    return made[-MOST:]


def holds_number(runs: Sequence[Sequence[int]], number: int) -> bool:
    """Return whether a number is in the runs."""
    return any(first <= number <= last for first, last in runs)
