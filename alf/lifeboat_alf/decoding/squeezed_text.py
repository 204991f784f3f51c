"""Text without its punctuation and case: a long value is found in it however it is broken up, quoted or escaped.

A value that stands over several lines, letter by letter in a list, in groups of four, with a character without width in
it or in capitals is the same row of letters and digits. Chance does not make a row of 16 letters and digits equal to a
secret.
"""

from __future__ import annotations

import codecs
import re
from array import array
from collections.abc import Iterator

from lifeboat_alf.decoding.decoded_bytes import Span

LEAST = 16
"""Letters and digits. Fewer, or hardly any different ones, stand by chance in texts that have nothing to do with it."""
_LEAST_DIFFERENT = 6
_LONGEST_GAPS = 16
"""How much longer than its letters the place of a value may be, as a factor."""
_OTHERS = bytes(byte for byte in range(256) if not (chr(byte).isascii() and chr(byte).isalnum()))
_LOWER = bytes(ord(chr(byte).lower()) if byte < 128 else byte for byte in range(256))
_KEPT = re.compile(rb"[0-9A-Za-z]+")


def squeeze_text(data: bytes) -> bytes:
    """Letters and digits of ASCII, in small letters, and nothing else."""
    return data.translate(_LOWER, _OTHERS)


def squeezed_spellings(value: bytes) -> set[bytes]:
    """How a value stands in squeezed text, also turned by thirteen letters; none where it is too short for that."""
    squeezed = squeeze_text(value)
    if len(squeezed) < LEAST or len(set(squeezed)) < _LEAST_DIFFERENT:
        return set()
    return {squeezed, codecs.encode(squeezed.decode("ascii"), "rot13").encode("ascii")}


def squeezed_spans(data: bytes, squeezed: bytes, spelling: bytes) -> Iterator[Span]:
    """Where in `data` a spelling stands that `squeezed`, which is `data` squeezed, holds."""
    places: array[int] | None = None
    at = squeezed.find(spelling)
    while at >= 0:
        places = places or _places(data)
        start, end = places[at], places[at + len(spelling) - 1] + 1
        if end - start <= _LONGEST_GAPS * len(spelling):
            yield start, end
        at = squeezed.find(spelling, at + len(spelling))


def _places(data: bytes) -> array[int]:
    """Where each byte of the squeezed text stands."""
    places = array("Q")
    for hit in _KEPT.finditer(data):
        places.extend(range(*hit.span()))
    return places
