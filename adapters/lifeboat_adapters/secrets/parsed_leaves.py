"""Leaves that a tokenizer finds: a value, the path to it, and the exact bytes that spell it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple, NoReturn

from lifeboat_adapters.credential_types import UnparsableSecrets

Path = tuple[str | int, ...]
Scalar = str | int | float | bool | None

BOM = b"\xef\xbb\xbf"


class ParsedLeaf(NamedTuple):
    """One scalar value of a document. `data[start:end]` is its literal as spelled, including quotes. `path` holds keys
    and list indexes from the root. Each of several duplicate keys is a leaf."""

    path: Path
    value: Scalar
    start: int
    end: int


class PositionedText:
    """A decoded document that can map each character to its position in the bytes. `first` is the byte at which the
    text begins."""

    def __init__(self, data: bytes, text: str, first: int = 0) -> None:
        self.text = text
        self._data = data
        self._first = first
        self._ascii = len(data) - first == len(text)
        self._mark = (0, first)

    @classmethod
    def read(cls, data: bytes) -> PositionedText:
        """Decode a document without its byte order mark. Raises UnparsableSecrets for bytes that are not UTF-8."""
        first = len(BOM) if data.startswith(BOM) else 0
        try:
            return cls(data, data[first:].decode("utf-8"), first)
        except UnicodeDecodeError as error:
            raise_unparsable(data, first + error.start, "not UTF-8")

    def byte(self, index: int) -> int:
        """Return the byte position of a character. Calls come in rising order, so that all of them together take one
        pass."""
        if self._ascii:
            return self._first + index
        seen, offset = self._mark
        if index < seen:
            seen, offset = 0, self._first
        offset += len(self.text[seen:index].encode("utf-8"))
        self._mark = (index, offset)
        return offset

    def leaf(self, path: Path, value: Scalar, start: int, end: int) -> ParsedLeaf:
        """Return a leaf from the positions of its characters."""
        return ParsedLeaf(path, value, self.byte(start), self.byte(end))

    def fail(self, index: int, problem: str) -> NoReturn:
        """Raise UnparsableSecrets for a character."""
        raise_unparsable(self._data, self.byte(index), problem)


class LeafScanner:
    """The position of a tokenizer in a document, and the leaves that it found."""

    def __init__(self, document: PositionedText) -> None:
        self.leaves: list[ParsedLeaf] = []
        self._document = document
        self._text = document.text
        self._at = 0

    def _take_comma(self, char: str, close: str) -> None:
        """Move behind the comma after a member. `char` is the character here, `close` ends the container."""
        if char != ",":
            self._fail(f"a comma or {close} was expected")
        self._at += 1

    def _skip_pattern(self, pattern: re.Pattern[str]) -> None:
        """Move behind a match of the pattern, if there is one here."""
        found = pattern.match(self._text, self._at)
        self._at = self._at if found is None else found.end()

    def _fail(self, problem: str, at: int | None = None) -> NoReturn:
        self._document.fail(self._at if at is None else at, problem)


def raise_unparsable(data: bytes, offset: int, problem: str) -> NoReturn:
    """Raise UnparsableSecrets with line and column (both from 1, the column in bytes), never with content."""
    before = data[:offset]
    line = before.count(b"\n") + 1
    column = offset - (before.rfind(b"\n") + 1) + 1
    raise UnparsableSecrets(f"line {line}, column {column}: {problem}")


def paths_at_offsets(leaves: Iterable[ParsedLeaf], offsets: Sequence[int]) -> list[Path]:
    """Return the path of the value at each offset, () for an offset outside of all values. The leaves are in order of
    position."""
    found = list(leaves)
    starts = [leaf.start for leaf in found]
    return [_place(found, starts, offset) for offset in offsets]


def _place(leaves: Sequence[ParsedLeaf], starts: Sequence[int], offset: int) -> Path:
    number = bisect_right(starts, offset) - 1
    return leaves[number].path if number >= 0 and offset < leaves[number].end else ()
