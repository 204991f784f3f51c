"""What else a text says: its base64, hexadecimal, percent-encoded and escaped parts decoded, with the way back to it.

A known secret may stand in a note as `Basic anVuZTo...` or as `\\u0061...`; whoever looks for it looks into these too.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

_LEAST = 16
"""Bytes that a part has to decode to: no shorter secret is looked for."""
_RUN = re.compile(b"x+")
_HEXADECIMAL = b"0123456789abcdefABCDEF"
_BASE64 = _HEXADECIMAL + b"ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ+/-_"
_PRINTABLE = bytes(range(0x20, 0x7F))
_WORD = 6
"""Characters in a row of what was written, not rolled."""
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")
_ESCAPE = re.compile(
    rb"\\u(?P<high>[dD][89abAB][0-9A-Fa-f]{2})\\u(?P<low>[dD][c-fC-F][0-9A-Fa-f]{2})"
    rb"|\\u(?P<four>[0-9A-Fa-f]{4})|\\x(?P<two>[0-9A-Fa-f]{2})|\\(?P<one>[\"'\\/bfnrt])"
)
_SIMPLE = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}


class Reading(Protocol):
    """Decoded bytes; `span` gives the part of the text that spells `data[start:end]`."""

    @property
    def data(self) -> bytes: ...

    def span(self, start: int, end: int) -> tuple[int, int]: ...


@dataclass(frozen=True, slots=True)
class _Even:
    """A run in which every `letters` characters, from `at` on, are `bytes_each` bytes."""

    data: bytes
    at: int
    letters: int
    bytes_each: int
    end: int

    def span(self, start: int, end: int) -> tuple[int, int]:
        first, last = start // self.bytes_each, -(-end // self.bytes_each)
        return self.at + first * self.letters, min(self.at + last * self.letters, self.end)


@dataclass(frozen=True, slots=True)
class _Mixed:
    """A text with escapes in it. Both lists rise: `decoded[n]` bytes of `data` are spelled by `raw[n]` of the text."""

    data: bytes
    decoded: list[int]
    raw: list[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        return self._raw(start), self._raw(end)

    def _raw(self, at: int) -> int:
        nearest = bisect_right(self.decoded, at) - 1
        return self.raw[nearest] + at - self.decoded[nearest]


def readings(data: bytes) -> Iterator[Reading]:
    """Every part of a text that says something else when it is decoded."""
    for start, end in _runs(data, _BASE64, -(-_LEAST * 4 // 3)):
        yield from _base64(data, start, end)
    for start, end in _runs(data, _HEXADECIMAL, _LEAST * 2):
        yield from _hexadecimal(data, start, end)
    if b"%" in data:
        yield from _unescaped(data, _PERCENT, lambda hit: bytes.fromhex(hit[1].decode("ascii")))
    if b"\\" in data:
        yield from _unescaped(data, _ESCAPE, _character)


def _runs(data: bytes, letters: bytes, least: int) -> Iterator[tuple[int, int]]:
    """Where at least so many of these letters stand in a row. Most files are through after a look at a translation."""
    marked = data.translate(_marking(letters))
    at = marked.find(b"x" * least)
    while at >= 0:
        run = _RUN.match(marked, at)
        assert run is not None
        yield at, run.end()
        at = marked.find(b"x" * least, run.end())


@cache
def _marking(letters: bytes) -> bytes:
    return bytes(ord("x") if byte in letters else ord(" ") for byte in range(256))


def _base64(data: bytes, start: int, end: int) -> Iterator[Reading]:
    """A run need not begin where the encoding began: each of four beginnings gives other bytes."""
    for at in range(start, start + 4):
        letters = data[at:end].translate(_TO_STANDARD)
        letters = letters[: len(letters) - (len(letters) % 4 == 1)]
        decoded = base64.b64decode(letters + b"=" * (-len(letters) % 4))
        if _says_something(decoded):
            yield _Even(decoded, at, 4, 3, end)


def _hexadecimal(data: bytes, start: int, end: int) -> Iterator[Reading]:
    for at in (start, start + 1):
        even = data[at : at + (end - at) // 2 * 2]
        decoded = bytes.fromhex(even.decode("ascii"))
        if _says_something(decoded):
            yield _Even(decoded, at, 2, 1, end)


def _says_something(decoded: bytes) -> bool:
    """Whether there is a word in it. Ids, digests and pictures decode to noise, and there are many of them."""
    return b"x" * _WORD in decoded.translate(_marking(_PRINTABLE))


def _unescaped(
    data: bytes, pattern: re.Pattern[bytes], decode: Callable[[re.Match[bytes]], bytes]
) -> Iterator[Reading]:
    pieces: list[bytes] = []
    decoded, raw = [0], [0]
    for hit in pattern.finditer(data):
        plain, character = data[raw[-1] : hit.start()], decode(hit)
        pieces += [plain, character]
        decoded += [decoded[-1] + len(plain), decoded[-1] + len(plain) + len(character)]
        raw += [hit.start(), hit.end()]
    if pieces:
        yield _Mixed(b"".join([*pieces, data[raw[-1] :]]), decoded, raw)


def _character(hit: re.Match[bytes]) -> bytes:
    if hit["one"]:
        return _SIMPLE.get(hit["one"], hit["one"])
    if hit["high"]:
        pair = bytes.fromhex((hit["high"] + hit["low"]).decode("ascii"))
        return pair.decode("utf-16-be").encode()
    return chr(int(hit["four"] or hit["two"], 16)).encode("utf-8", "replace")
