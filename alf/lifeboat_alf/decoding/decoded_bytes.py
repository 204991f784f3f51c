"""Decoded bytes that map back to the parts of the original that spell them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

Span = tuple[int, int]


class DecodedBytes(Protocol):
    """Decoded bytes. `spans` returns the parts of the original that spell `data[start:end]`: usually one, several for a
    value stored in several places."""

    @property
    def data(self) -> bytes: ...

    def spans(self, start: int, end: int) -> list[Span]: ...


@dataclass(frozen=True, slots=True)
class EvenRun:
    """A run in which every `letters` bytes, starting at `at`, spell `bytes_each` bytes."""

    data: bytes
    at: int
    letters: int
    bytes_each: int
    end: int

    def spans(self, start: int, end: int) -> list[Span]:
        first, last = start // self.bytes_each, -(-end // self.bytes_each)
        return [(min(self.at + first * self.letters, self.end), min(self.at + last * self.letters, self.end))]


@dataclass(frozen=True, slots=True)
class OpaqueBlock:
    """Decoded bytes that cannot be mapped individually: all of `at` to `end` spells each of them."""

    data: bytes
    at: int
    end: int

    def spans(self, start: int, end: int) -> list[Span]:
        return [(self.at, self.end)]


@dataclass(frozen=True, slots=True)
class OriginalBytes:
    """The original bytes, unchanged."""

    data: bytes

    def spans(self, start: int, end: int) -> list[Span]:
        return [(start, end)]


class JoinedParts:
    """Parts of the original, concatenated."""

    __slots__ = ("_begins", "_parts", "data")

    def __init__(self, original: bytes, parts: Sequence[Span]) -> None:
        self.data = b"".join(original[start:end] for start, end in parts)
        self._parts = parts
        self._begins = list(accumulate((end - start for start, end in parts), initial=0))

    def spans(self, start: int, end: int) -> list[Span]:
        found: list[Span] = []
        for number in range(max(bisect_right(self._begins, start) - 1, 0), len(self._parts)):
            begin, (first, last) = self._begins[number], self._parts[number]
            if found and begin >= end:
                break
            found.append((min(first + max(start - begin, 0), last), min(first + max(end - begin, 0), last)))
        return found


Pieces = tuple[Sequence[int], Sequence[int]]
"""Start offsets of pieces in the decoded bytes and in the original, both rising, each list followed by its end. A piece
of equal length on both sides is literal; any other piece is one character, however it is spelled."""


class RewrittenText:
    """Text in which some parts were replaced. `pieces` is computed when a position is first asked for."""

    __slots__ = ("_known", "_pieces", "data")

    def __init__(self, data: bytes, pieces: Callable[[], Pieces]) -> None:
        self.data = data
        self._pieces = pieces
        self._known: Pieces | None = None

    def spans(self, start: int, end: int) -> list[Span]:
        if start >= end:
            place = self._piece(start)[0]
            return [(place, place)]
        return [(self._piece(start)[0], self._piece(end - 1)[1])]

    def _piece(self, at: int) -> Span:
        """Return the part of the original that spells one byte."""
        if self._known is None:
            self._known = self._pieces()
        here, there = self._known
        number = bisect_right(here, at) - 1
        if number >= len(here) - 1:
            return there[-1], there[-1]
        if here[number + 1] - here[number] == there[number + 1] - there[number]:
            place = there[number] + at - here[number]
            return place, place + 1
        return there[number], there[number + 1]


@dataclass(frozen=True, slots=True)
class NestedDecoding:
    """A decoding of another decoding."""

    inner: DecodedBytes
    outer: DecodedBytes

    @property
    def data(self) -> bytes:
        return self.inner.data

    def spans(self, start: int, end: int) -> list[Span]:
        return [span for part in self.inner.spans(start, end) for span in self.outer.spans(*part)]
