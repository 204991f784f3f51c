"""Recognise purged values in other words, by keyed prints of their letters and digits.

A value is compared without punctuation, white space and case. Text is searched from word to word, a binary file at
every offset, because nothing separates the columns of a database. The key of a print is on the same disk, so a value
that a program could guess has no print (see `is_printable`).

Searching for each length on its own would cost the number of lengths times the text. Values are therefore found by
beginnings of a few sizes, and compared completely there. A beginning that could be guessed has no sum: finding it would
leave only the rest to guess.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Set
from itertools import accumulate
from typing import NamedTuple

from lifeboat_adapters.secrets.entropy import LEAST_PRINTED, is_guessable

Span = tuple[int, int]

LONGEST = 4096
"""Letters. Longer texts are recognised by their lines."""
LEAST_LETTERS = 4
"""Fewer letters occur in any text by chance, so not even the user can ask for a print of them."""
LARGEST_BINARY = 16 << 20
"""Bytes. A search at every offset takes a third of a second per megabyte."""
_MOST_SEARCHED = 128 << 20
"""Bytes, counted once for each length of a value: forty seconds."""
_LONGEST_GAPS = 16
"""How many times longer than its letters the place of a value may be."""
_LEAST_ENCODED = 24
"""Bytes. No shorter text encodes a value of 16 letters."""
_CHUNK = 1 << 18
_PRIME = (1 << 61) - 1
_OTHERS = bytes(byte for byte in range(128) if not chr(byte).isalnum())
_LOWER = bytes(ord(chr(byte).lower()) if byte < 128 else byte for byte in range(256))
_WORD = re.compile(rb"[0-9A-Za-z\x80-\xff]+")


_BEGINNINGS = tuple(size << power for power in range(8) for size in (16, 24))
"""Sizes in letters of the beginnings that get sums."""


class ValuePrint(NamedTuple):
    """What is stored beside the print of a value: its number of letters, and a rolling sum under the same key: that of
    a beginning that cannot be guessed, with its number of letters, or that of the whole value if it has none; the other
    fields are 0. Both sums together would reveal the sum of the rest, which may be short."""

    letters: int
    rolled: int
    begin_letters: int = 0
    begin_rolled: int = 0

    @property
    def searched(self) -> int:
        """Return how many letters the search compares at every offset."""
        return self.begin_letters or self.letters

    @property
    def searched_sum(self) -> int:
        return self.begin_rolled if self.begin_letters else self.rolled


class _Window(NamedTuple):
    """What is searched for with one length: the prints by their sums. `is_whole`: they are not beginnings."""

    letters: int
    is_whole: bool
    power: int
    sums: dict[int, list[tuple[str, int]]]


def letters_of(data: bytes) -> bytes:
    """Return only letters and digits, with ASCII letters in lower case."""
    return data.translate(_LOWER, _OTHERS)


def is_weak(removed: Iterable[bytes]) -> bool:
    """Return whether removed text could be guessed, so that no digest of it may be stored, alone or within
    other text."""
    text = b"".join(sorted(set(removed)))[:LONGEST]
    return is_guessable(text.decode("latin-1"))


def is_printable(value: bytes, *, even_weak: bool) -> bool:
    """Return whether a print of a value may be stored. `even_weak`: the user asked for it."""
    letters = letters_of(value)
    if not LEAST_LETTERS <= len(letters) <= LONGEST:
        return False
    return even_weak or not (len(letters) < LEAST_PRINTED or is_weak([value]))


def may_search_everywhere(body: bytes, known: Mapping[str, ValuePrint]) -> bool:
    """Return whether a search at every offset is fast enough."""
    lengths = len({each.searched for each in known.values()})
    return len(body) <= LARGEST_BINARY and len(body) * lengths <= _MOST_SEARCHED


class ValuePrints:
    """Makes the prints of one agent's purged values, and finds the values."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._base = int.from_bytes(self._digest(b"base of the rolling sum")[:7], "big") + 256

    def of(self, value: bytes) -> tuple[str, ValuePrint]:
        letters = letters_of(value)
        sums = self._sums(letters)
        begin = next((each for each in _BEGINNINGS if each < len(letters) and not _is_weak_beginning(letters, each)), 0)
        kept = (0, begin, sums[begin]) if begin else (sums[-1],)
        return self._mark(letters), ValuePrint(len(letters), *kept)

    def find(self, body: bytes, known: Mapping[str, ValuePrint], *, everywhere: bool) -> list[Span]:
        """Return where known values are in some bytes, also encoded ones, in order and without overlaps. `everywhere`:
        also within words."""
        from lifeboat_alf.decoding.decoder import decode_layers  # imported late: most commands decode nothing

        if not known:
            return []
        found = {span for span, _ in self._places(body, known, everywhere=everywhere)}
        for reading in decode_layers(body) if len(body) >= _LEAST_ENCODED else ():
            places = self._places(reading.data, known, everywhere=False)
            found.update(part for place, _ in places for part in reading.spans(*place))
        return _apart(found)

    def marks_in(self, text: bytes, known: Mapping[str, ValuePrint]) -> set[str]:
        """Return the marks of the known values that stand in a text as words."""
        return {mark for _, mark in self._places(text, known, everywhere=False)}

    def _places(self, body: bytes, known: Mapping[str, ValuePrint], *, everywhere: bool) -> Iterator[tuple[Span, str]]:
        letters = letters_of(body)
        if all(each.letters > len(letters) for each in known.values()):
            return
        if everywhere:
            yield from self._within_words(body, letters, known)
            return
        begins, ends, count = dict[int, int](), dict[int, int](), 0
        for word in _WORD.finditer(body):
            begins[count] = word.start()
            count += word.end() - word.start()
            ends[count] = word.end()
        for begin, length, mark in self._found(letters, known, begins, ends):
            span = begins[begin], ends[begin + length]
            if _is_near(span, length):
                yield span, mark

    def _within_words(self, body: bytes, letters: bytes, known: Mapping[str, ValuePrint]) -> Iterator[tuple[Span, str]]:
        hits = list(self._found(letters, known, None, None))
        places = _places_of(body, {end for begin, length, _ in hits for end in (begin, begin + length - 1)})
        for begin, length, mark in hits:
            span = places[begin], places[begin + length - 1] + 1
            if _is_near(span, length):
                yield span, mark

    def _found(
        self,
        letters: bytes,
        known: Mapping[str, ValuePrint],
        begins: Iterable[int] | None,
        ends: Container[int] | None,
    ) -> Iterator[tuple[int, int, str]]:
        """Yield start, number of letters and mark of each known value; only between the given starts and ends, if they
        are given."""
        windows = self._windows(known, len(letters))
        longest = max((each.letters for each in windows), default=0)
        begun = None if begins is None else sorted(begins)
        for first in range(0, len(letters), _CHUNK) if windows else ():
            rolled = self._sums(letters[first : first + _CHUNK + longest - 1])
            here = None if begun is None else begun[bisect_left(begun, first) : bisect_left(begun, first + _CHUNK)]
            for window in windows:
                for at in _places_in(rolled, window, first, here, ends):
                    value = (rolled[at + window.letters] - rolled[at] * window.power) % _PRIME
                    for mark, length in window.sums[value]:
                        end = first + at + length
                        is_end = end <= len(letters) and (ends is None or end in ends)
                        if is_end and self._mark(letters[first + at : end]) == mark:
                            yield first + at, length, mark

    def _windows(self, known: Mapping[str, ValuePrint], most: int) -> list[_Window]:
        found = dict[tuple[int, bool], _Window]()
        for mark, each in known.items():
            if each.letters > most:
                continue
            kind = each.searched, not each.begin_letters
            window = found.setdefault(kind, _Window(*kind, pow(self._base, each.searched, _PRIME), {}))
            window.sums.setdefault(each.searched_sum, []).append((mark, each.letters))
        return list(found.values())

    def _sums(self, letters: bytes) -> list[int]:
        base = self._base
        return list(accumulate(letters, lambda low, letter: (low * base + letter) % _PRIME, initial=0))

    def _mark(self, letters: bytes) -> str:
        return self._digest(b"value", letters).hex()

    def _digest(self, *parts: bytes) -> bytes:
        made = hashlib.blake2b(key=self._key, digest_size=16)
        for part in parts:
            made.update(len(part).to_bytes(8, "big"))
            made.update(part)
        return made.digest()


def _places_in(
    rolled: list[int], window: _Window, first: int, begins: list[int] | None, ends: Container[int] | None
) -> list[int]:
    """Return the offsets in a chunk, from its first letter on, that have a sum of the window."""
    size, power, sums = window.letters, window.power, window.sums
    if begins is None:
        pairs = enumerate(zip(rolled, rolled[size:], strict=False))
        return [at for at, (low, high) in pairs if at < _CHUNK and (high - low * power) % _PRIME in sums]
    places = [begin - first for begin in begins if begin - first + size < len(rolled)]
    if window.is_whole and ends is not None:
        places = [at for at in places if first + at + size in ends]
    return [at for at in places if (rolled[at + size] - rolled[at] * power) % _PRIME in sums]


def _is_weak_beginning(letters: bytes, count: int) -> bool:
    return is_guessable(letters[:count].decode("latin-1"))


def _is_near(span: Span, length: int) -> bool:
    return span[1] - span[0] <= _LONGEST_GAPS * length


def _places_of(body: bytes, letters: Set[int]) -> dict[int, int]:
    """Return the byte offsets of the letters with these numbers."""
    found, wanted, count = dict[int, int](), sorted(letters), 0
    words = _WORD.finditer(body)
    start = end = 0
    for letter in wanted:
        while letter >= count + end - start:
            count += end - start
            start, end = next(words).span()
        found[letter] = start + letter - count
    return found


def _apart(spans: Iterable[Span]) -> list[Span]:
    made: list[Span] = []
    for start, end in sorted(spans):
        if made and start < made[-1][1]:
            made[-1] = made[-1][0], max(end, made[-1][1])
        else:
            made.append((start, end))
    return made
