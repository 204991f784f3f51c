"""Search for many byte strings at once, because a purge of many versions searches every body for all their texts.

Each string is found by one whole word inside it. The words of a body are split once, in C, and only strings whose word
is among them are compared where it occurs. A few strings are searched for directly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lifeboat_alf.purging.byte_spans import Span

_FEW = 24
_WORD = re.compile(rb"[0-9A-Za-z_\x80-\xff]{3,}")


class MultiStringSearch:
    """A set of byte strings to search for. Memory grows with their number."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        self._plain: list[bytes] = []
        self._by_word: dict[bytes, dict[tuple[int, int], set[bytes]]] = {}
        chosen = sorted(set(needles))
        for needle in chosen:
            word = _inner_word(needle) if len(chosen) > _FEW else None
            if word is None:
                self._plain.append(needle)
            else:
                groups = self._by_word.setdefault(word[0], {})
                groups.setdefault((word[1], len(needle)), set()).add(needle)

    def find(self, data: bytes) -> Iterator[Span]:
        """Yield every place of every string, unordered. Of overlapping places of one string, only the first."""
        for needle in self._plain:
            for start in _places(data, needle):
                yield start, start + len(needle)
        if self._by_word:
            yield from self._found_by_words(data)

    def _found_by_words(self, data: bytes) -> Iterator[Span]:
        for word in self._by_word.keys() & set(_WORD.findall(data)):
            groups = self._by_word[word]
            for place in _places(data, word):
                for (offset, length), members in groups.items():
                    start = place - offset
                    if start >= 0 and data[start : start + length] in members:
                        yield start, start + length


def _places(data: bytes, needle: bytes) -> Iterator[int]:
    start = data.find(needle)
    while start >= 0:
        yield start
        start = data.find(needle, start + len(needle))


def _inner_word(needle: bytes) -> tuple[bytes, int] | None:
    """Return the longest word inside a string with a boundary on both sides, and its offset. Every body that holds the
    string has this word."""
    inside = [match for match in _WORD.finditer(needle) if match.start() > 0 and match.end() < len(needle)]
    longest = max(inside, key=lambda match: match.end() - match.start(), default=None)
    return None if longest is None else (longest[0], longest.start())
