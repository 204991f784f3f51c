"""Reassemble SQLite rows that are larger than a page, including deleted ones.

SQLite keeps the beginning of a large row in a B-tree page and the rest in a list of overflow pages, each of which
begins with the number of the next one ("Database File Format", 1.5 and 1.6). The SQLite library does not help: it does
not tell where in the file a value is stored, and it hides the content of freed pages.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lifeboat_alf.decoding.decoded_bytes import DecodedBytes, JoinedParts, Span
from lifeboat_alf.decoding.decoding_budget import TOO_LARGE, DecodingBudget

HEADER = b"SQLite format 3\0"
_TABLE_LEAF, _INDEX_LEAF, _INDEX_INTERIOR = 13, 10, 2
_TREE_PAGES = bytes((2, 5, 10, 13))
_HEADER_SIZE = 100
_NUMBER = struct.Struct(">I")
_SMALL_NUMBER = re.compile(rb"\0(?=\0(?:[^\0]|\0[^\0]))")
_NUMBERS = re.compile(rb"\0(?!\0\0\0)")
"""Where a page number below 2^16, or below 2^24, may be."""
_WINDOW = 16 << 10
"""Bytes of a page list to read when it is not known whether the list belongs to the bytes before it."""
_MOST_WHOLE = 4
"""How often a whole list is read after a possible remainder of its deleted row. After that only its beginning is
read."""


def page_readings(data: bytes, work: DecodingBudget) -> Iterator[DecodedBytes]:
    """Yield every row that spans several pages, of every database that begins in these bytes."""
    at = data.find(HEADER)
    while at >= 0:
        size = _page_size(data, at)
        if size:
            if not work.take(len(data) - at):
                return
            yield from _Pages(data, at, size, size - data[at + 20]).readings(work)
        at = data.find(HEADER, at + 1)


def _page_size(data: bytes, at: int) -> int:
    """Return the page size of a database; 0 for other bytes."""
    if len(data) < at + _HEADER_SIZE or data[at + 21 : at + 24] != b"\x40\x20\x20":
        return 0
    size = int.from_bytes(data[at + 16 : at + 18], "big")
    size = 1 << 16 if size == 1 else size
    return size if size >= 512 and size & (size - 1) == 0 and size - data[at + 20] >= 480 else 0


def within_pages(data: bytes, spans: Sequence[Span]) -> list[Span]:
    """Drop the spans that cross the end of a page and contain another span. A page number is stored there, so a value
    in two pages has one span in each."""
    page = _page_size(data, 0) if data.startswith(HEADER) else 0
    if not page:
        return list(spans)
    inside = sorted(span for span in spans if span[0] // page == max(span[1] - 1, 0) // page)
    across = [span for span in spans if span[0] // page != max(span[1] - 1, 0) // page]
    begins = [start for start, _ in inside]
    return inside + [
        (start, end) for start, end in across if (at := bisect_left(begins, start)) == len(begins) or begins[at] >= end
    ]


@dataclass(slots=True)
class _Pages:
    """The pages of one database, numbered from 1. `at` is its offset, `usable` the bytes of a page in use.

    `loose` are pages outside every B-tree, which begin with the number of another page. `trunks` are pages that list
    freed pages, with the length of the list. `used` are pages already read as part of a list.
    """

    data: bytes
    at: int
    size: int
    usable: int
    loose: set[int] = field(default_factory=set)
    trunks: dict[int, int] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    tries: Counter[int] = field(default_factory=Counter)

    def readings(self, work: DecodingBudget) -> Iterator[DecodedBytes]:
        firsts = self.data[self.at :: self.size]
        self.loose = {number for number, first in enumerate(firsts, 1) if first == 0 and number > 1}
        if not self.loose:
            return
        self.trunks = self._freed_lists()
        for number, first in enumerate(firsts, 1):
            if number == 1 or first in _TREE_PAGES or number in self.trunks:
                yield from self._rows_of(number, work)
        yield from self._without_beginning(work)

    def _place(self, number: int) -> int:
        return self.at + (number - 1) * self.size

    def _next(self, number: int) -> int:
        """Return the next page of a list; 0 at the end."""
        following = self._number_at(self._place(number))
        return following if following in self.loose and number not in self.trunks else 0

    def _number_at(self, place: int) -> int:
        number: int = _NUMBER.unpack_from(self.data, place)[0] if place + 4 <= len(self.data) else 0
        return number

    def _freed_lists(self) -> dict[int, int]:
        found: dict[int, int] = {}
        number = self._number_at(self.at + 32)
        while number in self.loose and number not in found:
            place = self._place(number)
            listed = min(8 + 4 * self._number_at(place + 4), self.usable)
            found[number] = listed
            number = self._number_at(place)
        return found

    # Rows ---------------------------------------------------------------------------------------------------------

    def _rows_of(self, number: int, work: DecodingBudget) -> Iterator[DecodedBytes]:
        """Yield the rows that begin in a page and continue in another."""
        start = self._place(number)
        end = min(start + self.usable, len(self.data))
        pattern = _SMALL_NUMBER if len(self.data) < self.size << 16 else _NUMBERS
        behind = start + (_HEADER_SIZE if number == 1 else self.trunks.get(number, 4))
        places = [hit.start() for hit in pattern.finditer(self.data, behind, end)]
        places = [place for place in places if place + 4 <= end and self._number_at(place) in self.loose]
        if not places:
            return
        cells = [] if number in self.trunks else list(self._cells(number, end))
        begins = {pointer: payload for _, payload, pointer in cells}
        inside = bytearray(end - start)
        for cell, _, pointer in cells:
            inside[cell - start : pointer + 4 - start] = b"x" * (pointer + 4 - cell)
        for block in self._free_blocks(number):
            inside[block : block + 4] = b"x" * 4
        for place in places:
            if place in begins:
                yield from self._reading((begins[place], place), self._number_at(place), work)
            elif not any(inside[place - start : place - start + 4]):
                yield from self._remainder((start, place), self._number_at(place), work)

    def _cells(self, number: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield for each row of a page its offset, the offset of its content, and the offset where the number of its
        next page is or would be."""
        start = self._place(number)
        head = start + (_HEADER_SIZE if number == 1 else 0)
        kind = self.data[head]
        if kind not in (_TABLE_LEAF, _INDEX_LEAF, _INDEX_INTERIOR):
            return
        pointers = head + (12 if kind == _INDEX_INTERIOR else 8)
        count = min(int.from_bytes(self.data[head + 3 : head + 5], "big"), max(end - pointers, 0) // 2)
        for (offset,) in struct.iter_unpack(">H", self.data[pointers : pointers + 2 * count]):
            cell = start + offset
            place = cell + (4 if kind == _INDEX_INTERIOR else 0)
            length, place = self._varint(place, end)
            if kind == _TABLE_LEAF:
                _, place = self._varint(place, end)
            pointer = place + self._local(kind, length)
            if cell < pointer <= end - 4 and length:
                yield cell, place, pointer

    def _free_blocks(self, number: int) -> Iterator[int]:
        """Yield the offsets of deleted rows in a B-tree page. Each begins with the offset of the next one and its own
        size, which may look like a page number."""
        start = self._place(number)
        head = start + (_HEADER_SIZE if number == 1 else 0)
        at, before = int.from_bytes(self.data[head + 1 : head + 3], "big"), 0
        while before < at <= self.usable - 4 and self.data[head] in _TREE_PAGES:
            yield at
            at, before = int.from_bytes(self.data[start + at : start + at + 2], "big"), at

    def _local(self, kind: int, length: int) -> int:
        """Return how many bytes of a row are stored in its B-tree page."""
        most = self.usable - 35 if kind == _TABLE_LEAF else (self.usable - 12) * 64 // 255 - 23
        if length <= most:
            return length
        least = (self.usable - 12) * 32 // 255 - 23
        here = least + (length - least) % (self.usable - 4)
        return here if here <= most else least

    def _varint(self, place: int, end: int) -> tuple[int, int]:
        value = 0
        for count, byte in enumerate(self.data[place : min(place + 9, end)], 1):
            if count == 9:
                return value << 8 | byte, place + count
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                return value, place + count
        return 0, end

    # Reassembling -------------------------------------------------------------------------------------------------

    def _remainder(self, before: Span, number: int, work: DecodingBudget) -> Iterator[DecodedBytes]:
        """Yield what may be the rest of a deleted row. It may also be unrelated data."""
        self.tries[number] += 1
        yield from self._reading(before, number, work, None if self.tries[number] <= _MOST_WHOLE else _WINDOW)

    def _without_beginning(self, work: DecodingBudget) -> Iterator[DecodedBytes]:
        """Yield lists whose beginning was overwritten, and lists that a list of freed pages was written into."""
        followed = {self._next(number) for number in self.loose}
        heads = sorted(self.loose - followed - self.trunks.keys())
        for number in heads:
            if number not in self.used:
                yield from self._reading(None, number, work)
        for trunk, listed in self.trunks.items():
            before = self._place(trunk) + listed, self._place(trunk) + self.usable
            if before[1] > len(self.data) or not self.data[before[0] : before[1]].strip(b"\0"):
                continue
            nearest = sorted(heads, key=lambda head: (head != trunk + 1, head))
            for number in nearest:
                if work.bytes_left < _WINDOW:
                    break
                yield from self._remainder(before, number, work)
        for number in sorted(self.loose - self.used - self.trunks.keys()):
            if number not in self.used:  # a list that ends where it began
                yield from self._reading(None, number, work)

    def _reading(
        self, before: Span | None, number: int, work: DecodingBudget, most: int | None = None
    ) -> Iterator[DecodedBytes]:
        if work.bytes_left < _WINDOW:
            work.unread.add(TOO_LARGE)
            return
        parts = [] if before is None else [before]
        parts += self._list(number, most)
        size = sum(end - start for start, end in parts)
        if len(parts) > 1 and work.take(size):
            yield JoinedParts(self.data, parts)

    def _list(self, number: int, most: int | None) -> Iterator[Span]:
        """Yield the content of a page and of the pages after it. Of pages already read in another list, yield only
        enough to show what crosses the border."""
        seen = set[int]()
        left = most
        while number and number not in seen and (left is None or left > 0):
            seen.add(number)
            if left is None and number in self.used and len(seen) > 1:
                left = _WINDOW
            start = self._place(number)
            span = start + self.trunks.get(number, 4), min(start + self.usable, len(self.data))
            if span[0] < span[1]:
                yield span
            left = None if left is None else left - (span[1] - span[0])
            if most is None:
                self.used.add(number)
            number = self._next(number)
