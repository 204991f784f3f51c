"""Unified diffs in bounded time, also of texts in which few different lines repeat thousands of times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from lifeboat_core.texts.line_matching import match_lines

Step = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]
"""What a step does, and the lines of the old and of the new text that it is about, as `difflib` names them."""


def unified_diff_lines(
    old: Sequence[str], new: Sequence[str], before: str = "", after: str = "", *, context: int = 3
) -> Iterator[str]:
    """Yield the lines of a unified diff, without line ends; nothing if both are equal.

    `before` and `after` are the names of both sides, `context` the number of unchanged lines around a change.
    """
    steps = list(_steps(len(old), len(new), match_lines(old, new)))
    groups = _KnownSteps(steps).get_grouped_opcodes(context)
    for place, group in enumerate(groups):
        if not place:
            yield f"--- {before}"
            yield f"+++ {after}"
        yield f"@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@"
        for step, old_start, old_end, new_start, new_end in group:
            if step == "equal":
                yield from (f" {line}" for line in old[old_start:old_end])
            else:
                yield from (f"-{line}" for line in old[old_start:old_end])
                yield from (f"+{line}" for line in new[new_start:new_end])


class _KnownSteps(SequenceMatcher[str]):
    """A matcher whose steps are known already, so that only its grouping is used."""

    def __init__(self, steps: list[Step]) -> None:
        super().__init__(autojunk=False)
        self._steps = steps

    def get_opcodes(self) -> list[Step]:
        return self._steps


def _steps(old_size: int, new_size: int, matches: dict[int, int]) -> Iterator[Step]:
    """Yield steps as `difflib` names them: runs of equal lines, and what is between them."""
    old_at = new_at = 0
    pairs = sorted(matches.items())
    place = 0
    while place < len(pairs):
        new_start, old_start = pairs[place]
        length = 1
        while place + length < len(pairs) and pairs[place + length] == (new_start + length, old_start + length):
            length += 1
        if (old_at, new_at) != (old_start, new_start):
            yield _changed(old_at, old_start, new_at, new_start)
        old_at, new_at = old_start + length, new_start + length
        yield ("equal", old_start, old_at, new_start, new_at)
        place += length
    if (old_at, new_at) != (old_size, new_size):
        yield _changed(old_at, old_size, new_at, new_size)


def _changed(old_start: int, old_end: int, new_start: int, new_end: int) -> Step:
    if old_start == old_end:
        return ("insert", old_start, old_end, new_start, new_end)
    return ("delete" if new_start == new_end else "replace", old_start, old_end, new_start, new_end)


def _range(start: int, end: int) -> str:
    """Return the lines of a part as `diff -u` writes them: counted from 1, an empty part by the line before it."""
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
