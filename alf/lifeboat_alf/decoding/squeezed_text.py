"""Search text without punctuation and case, so that a long value is found however it is broken up, quoted or escaped.

A value that is spread over several lines, listed letter by letter, grouped by four, mixed with zero-width characters or
capitalised is always the same sequence of letters and digits. Chance does not produce a matching sequence of 16.
"""

from __future__ import annotations

import codecs
import re
from array import array
from collections.abc import Iterator

from lifeboat_alf.decoding.decoded_bytes import Span

LEAST = 16
"""Minimum letters and digits of a value. Fewer, or hardly any different ones, occur by chance in unrelated text."""
_LEAST_DIFFERENT = 6
_LONGEST_GAPS = 16
"""How many times longer than its letters the place of a value may be."""
_OTHERS = bytes(byte for byte in range(256) if not (chr(byte).isascii() and chr(byte).isalnum()))
_LOWER = bytes(ord(chr(byte).lower()) if byte < 128 else byte for byte in range(256))
_KEPT = re.compile(rb"[0-9A-Za-z]+")


def squeeze_text(data: bytes) -> bytes:
    """Return only the ASCII letters and digits, in lower case."""
    return data.translate(_LOWER, _OTHERS)


def squeezed_spellings(value: bytes) -> set[bytes]:
    """Return the squeezed spellings of a value, including ROT13; an empty set for a value that is too short."""
    squeezed = squeeze_text(value)
    if len(squeezed) < LEAST or len(set(squeezed)) < _LEAST_DIFFERENT:
        return set()
    return {squeezed, codecs.encode(squeezed.decode("ascii"), "rot13").encode("ascii")}


def squeezed_spans(data: bytes, squeezed: bytes, spelling: bytes) -> Iterator[Span]:
    """Yield the places in `data` where a spelling occurs. `squeezed` is `data` squeezed."""
    places: array[int] | None = None
    at = squeezed.find(spelling)
    while at >= 0:
        places = places or _places(data)
        start, end = places[at], places[at + len(spelling) - 1] + 1
        if end - start <= _LONGEST_GAPS * len(spelling):
            yield start, end
        at = squeezed.find(spelling, at + len(spelling))


def _places(data: bytes) -> array[int]:
    """Return the offset of each byte of the squeezed text."""
    places = array("Q")
    for hit in _KEPT.finditer(data):
        places.extend(range(*hit.span()))
    return places
