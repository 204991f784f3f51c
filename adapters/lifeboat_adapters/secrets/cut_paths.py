"""Where in a parsed file cuts stand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf, Path


def paths_at_offsets(leaves: Iterable[ParsedLeaf], offsets: Sequence[int]) -> list[Path]:
    """The path of the value in which each offset stands, () for one that stands in none. The leaves come in the order
    in which they stand."""
    found = list(leaves)
    starts = [leaf.start for leaf in found]
    return [_place(found, starts, offset) for offset in offsets]


def _place(leaves: Sequence[ParsedLeaf], starts: Sequence[int], offset: int) -> Path:
    number = bisect_right(starts, offset) - 1
    return leaves[number].path if number >= 0 and offset < leaves[number].end else ()
