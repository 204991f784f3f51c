"""Purged values that are known again in other words: keyed prints of their letters and digits.

A value is compared without its punctuation, white space and capitals. Text is searched from word to word, a binary file
at every place, because nothing separates the columns of a database. A print stands beside its key on the disk, so a
value that a program could guess has none (see `is_printable`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import accumulate
from typing import NamedTuple

from lifeboat_adapters.secrets.entropy import LEAST_PRINTED, is_guessable
from lifeboat_alf.decoding import decode

Span = tuple[int, int]

LONGEST = 4096
"""Letters. Of a longer text its lines are known again."""
LEAST_LETTERS = 4
"""Fewer stand in any text by chance, so not even the user can ask for a print of them."""
LARGEST_BINARY = 16 << 20
"""Bytes. A search at every place takes a third of a second for each megabyte."""
_MOST_SEARCHED = 128 << 20
"""Bytes, once for each length that a value has: forty seconds."""
_LONGEST_GAPS = 16
"""How much longer than its letters the place of a value may be, as a factor."""
_LEAST_ENCODED = 24
"""Bytes. No shorter text encodes a value of 16 letters."""
_CHUNK = 1 << 18
_PRIME = (1 << 61) - 1
_OTHERS = bytes(byte for byte in range(128) if not chr(byte).isalnum())
_LOWER = bytes(ord(chr(byte).lower()) if byte < 128 else byte for byte in range(256))
_WORD = re.compile(rb"[0-9A-Za-z\x80-\xff]+")


class ValuePrint(NamedTuple):
    """What is kept beside the print of a value: how many letters it has, and their rolling sum under the same key."""

    letters: int
    rolled: int


def letters_of(data: bytes) -> bytes:
    """Return letters and digits alone, those of ASCII in lower case."""
    return data.translate(_LOWER, _OTHERS)


def is_weak(removed: Iterable[bytes]) -> bool:
    """Whether what was removed could be guessed, so that no digest of it, alone or within other text, may be kept."""
    text = b"".join(sorted(set(removed)))[:LONGEST]
    return is_guessable(text.decode("latin-1"))


def is_printable(value: bytes, *, even_weak: bool) -> bool:
    """Whether a print of a value may be kept. `even_weak`: the user asks for it."""
    letters = letters_of(value)
    if not LEAST_LETTERS <= len(letters) <= LONGEST:
        return False
    return even_weak or not (len(letters) < LEAST_PRINTED or is_weak([value]))


def may_search_everywhere(body: bytes, known: Mapping[str, ValuePrint]) -> bool:
    """Whether a search at every place of some bytes ends soon enough."""
    lengths = len({each.letters for each in known.values()})
    return len(body) <= LARGEST_BINARY and len(body) * lengths <= _MOST_SEARCHED


class ValuePrints:
    """Makes the prints of one agent's purged values, and finds the values again."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._base = int.from_bytes(self._digest(b"base of the rolling sum")[:7], "big") + 256

    def of(self, value: bytes) -> tuple[str, ValuePrint]:
        letters = letters_of(value)
        return self._mark(letters), ValuePrint(len(letters), self._sums(letters)[-1])

    def find(self, body: bytes, known: Mapping[str, ValuePrint], *, everywhere: bool) -> list[Span]:
        """Return where known values stand in some bytes, also encoded ones, in order and without overlaps.
        `everywhere`: also within words."""
        if not known:
            return []
        found = {span for span, _ in self._places(body, known, everywhere=everywhere)}
        for reading in decode(body) if len(body) >= _LEAST_ENCODED else ():
            places = self._places(reading.data, known, everywhere=False)
            found.update(part for place, _ in places for part in reading.spans(*place))
        return _apart(found)

    def marks_in(self, text: bytes, known: Mapping[str, ValuePrint]) -> set[str]:
        """Return the marks of the known values that stand in a text as words."""
        return {mark for _, mark in self._places(text, known, everywhere=False)}

    def _places(self, body: bytes, known: Mapping[str, ValuePrint], *, everywhere: bool) -> Iterator[tuple[Span, str]]:
        letters = letters_of(body)
        lengths = {each.letters for each in known.values() if each.letters <= len(letters)}
        if not lengths:
            return
        if everywhere:
            yield from self._within_words(body, letters, known)
            return
        begins, ends, count = dict[int, int](), dict[int, int](), 0
        for word in _WORD.finditer(body):
            begins[count] = word.start()
            count += word.end() - word.start()
            ends[count] = word.end()
        for length in lengths:
            for begin in [each for each in begins if each + length in ends]:
                span = begins[begin], ends[begin + length]
                if _is_near(span, length) and (mark := self._mark(letters[begin : begin + length])) in known:
                    yield span, mark

    def _within_words(self, body: bytes, letters: bytes, known: Mapping[str, ValuePrint]) -> Iterator[tuple[Span, str]]:
        hits: list[tuple[int, int, str]] = []
        for length in {each.letters for each in known.values()}:
            sums = {each.rolled for each in known.values() if each.letters == length}
            power = pow(self._base, length, _PRIME)
            for first in range(0, max(len(letters) - length + 1, 0), _CHUNK):
                rolled = self._sums(letters[first : first + _CHUNK + length - 1])
                pairs = zip(rolled, rolled[length:], strict=False)
                for place in [at for at, (low, high) in enumerate(pairs) if (high - low * power) % _PRIME in sums]:
                    begin = first + place
                    if (mark := self._mark(letters[begin : begin + length])) in known:
                        hits.append((begin, begin + length - 1, mark))
        places = _places_of(body, {end for begin, last, _ in hits for end in (begin, last)})
        for begin, last, mark in hits:
            span = places[begin], places[last] + 1
            if _is_near(span, last + 1 - begin):
                yield span, mark

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


def _is_near(span: Span, length: int) -> bool:
    return span[1] - span[0] <= _LONGEST_GAPS * length


def _places_of(body: bytes, letters: Set[int]) -> dict[int, int]:
    """Where the letters of these numbers stand."""
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
