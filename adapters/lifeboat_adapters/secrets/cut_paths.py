"""Find the values of a parsed file in which cuts stand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf, Path


def paths_at_offsets(leaves: Iterable[ParsedLeaf], offsets: Sequence[int]) -> list[Path]:
    """Return the path of the value at each offset, () for an offset outside of all values. The leaves are in order of
    position."""
    found = list(leaves)
    starts = [leaf.start for leaf in found]
    return [_place(found, starts, offset) for offset in offsets]


def _place(leaves: Sequence[ParsedLeaf], starts: Sequence[int], offset: int) -> Path:
    number = bisect_right(starts, offset) - 1
    return leaves[number].path if number >= 0 and offset < leaves[number].end else ()
