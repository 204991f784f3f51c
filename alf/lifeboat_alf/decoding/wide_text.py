"""Find UTF-16 and UTF-32 text: whole files, and stretches in other bytes such as database rows."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from itertools import accumulate

from lifeboat_alf.decoding.decoded_bytes import DecodedBytes, EvenRun, Pieces, RewrittenText
from lifeboat_alf.decoding.decoding_budget import LEAST, DecodingBudget

_LATIN = {
    "utf-16-le": (re.compile(rb"(?:[^\0]\0){%d,}" % LEAST), b"x0" * LEAST),
    "utf-16-be": (re.compile(rb"(?:\0[^\0]){%d,}" % LEAST), b"0x" * LEAST),
    "utf-32-le": (re.compile(rb"(?:[^\0]\0\0\0){%d,}" % LEAST), b"x000" * LEAST),
    "utf-32-be": (re.compile(rb"(?:\0\0\0[^\0]){%d,}" % LEAST), b"000x" * LEAST),
}
"""Stretches of characters below U+0100, and their shape when every byte other than NUL is marked."""
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_NULS = bytes(ord("x") if byte else ord("0") for byte in range(256))


def wide_readings(data: bytes, work: DecodingBudget) -> Iterator[DecodedBytes]:
    """Yield text in a wide encoding as UTF-8."""
    encoding = wide_encoding(data)
    if encoding is not None:
        if work.take(len(data)):
            yield _decoded(data, 0, len(data), encoding)
        return
    if b"\0" not in data:
        return
    marked = data.translate(_NULS)
    for name, (pattern, sign) in _LATIN.items():
        if sign in marked:
            for hit in pattern.finditer(data):
                if not work.take(hit.end() - hit.start()):
                    return
                yield _decoded(data, hit.start(), hit.end(), name)


def wide_encoding(data: bytes) -> str | None:
    """Return the encoding that a byte order mark names; None without one."""
    if data[:1] not in (b"\xff", b"\xfe", b"\0"):
        return None
    return next((name for mark, name in _MARKS if data.startswith(mark)), None)


def _decoded(data: bytes, start: int, end: int, encoding: str) -> DecodedBytes:
    unit = 4 if encoding.startswith("utf-32") else 2
    end -= (end - start) % unit
    text = data[start:end].decode(encoding, "replace")
    if text.isascii():
        return EvenRun(text.encode("ascii"), start, unit, 1, end)

    def pieces() -> Pieces:
        here = accumulate((len(character.encode("utf-8", "replace")) for character in text), initial=0)
        there = accumulate((_width(character, unit) for character in text), initial=start)
        return array("Q", here), array("Q", there)

    return RewrittenText(text.encode("utf-8", "replace"), pieces)


def _width(character: str, unit: int) -> int:
    return 4 if unit == 4 or ord(character) > 0xFFFF else 2
