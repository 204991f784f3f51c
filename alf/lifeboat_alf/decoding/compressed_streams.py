"""What is compressed: gzip, zlib, bzip2 and xz wherever they begin, and the members of zip archives.

Members of a tar archive are not compressed by themselves, so their bytes are found without being taken apart.
"""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Protocol

from lifeboat_alf.decoding.decoded_bytes import DecodedBytes, OpaqueBlock
from lifeboat_alf.decoding.decoding_budget import ENCRYPTED, INCOMPLETE, LEAST, UNKNOWN_COMPRESSION, DecodingBudget

_SIGNS = {
    b"\x1f\x8b\x08": "gzip",
    b"x\x01": "zlib",
    b"x^": "zlib",
    b"x\x9c": "zlib",
    b"x\xda": "zlib",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"PK\x03\x04": "zip",
}
_ZLIB_SIGNS = tuple(sign for sign, form in _SIGNS.items() if form == "zlib")
_ZIP_HEADER = struct.Struct("<4xHHHHHIIIHH")
_NEWEST_VERSION, _LONGEST_NAME = 63, 1024
_STORED, _DEFLATED, _BZIP2, _LZMA, _ENCRYPTED_FLAG = 0, 8, 12, 14, 1
_FIRST_STEP, _LARGEST_STEP = 16, 256 << 10
_ENOUGH = 512
"""Decoded bytes. Of a thousand random inputs that begin like zlib, less than one decodes to as many before it fails."""


class _Decompressor(Protocol):
    """What the decompressors of the standard library have in common."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


def compressed_readings(data: bytes, work: DecodingBudget) -> Iterator[DecodedBytes]:
    """What every compressed stream in these bytes says, as far as it can be decompressed."""
    passed = 0
    for at, form in _begins(data):
        if at < passed:
            continue
        if not work.take_stream():
            return
        start, make = _stream_at(data, at, form, work)
        if make is None:
            continue
        decoded, end, ending = _decompressed(data, start, make(), work)
        is_long_enough = len(decoded) >= (_ENOUGH if ending is _StreamEnd.DAMAGED else LEAST)
        # The two bytes that begin zlib stand by chance in what was drawn at random. The signs of the others are longer.
        is_sure = form == "zip" or (form != "zlib" and at == 0)
        if ending is not _StreamEnd.WHOLE and (is_sure or is_long_enough):
            work.unread.add(INCOMPLETE)
        if is_long_enough or (len(decoded) >= LEAST and form != "zlib"):
            yield OpaqueBlock(decoded, start, end)
            passed = end


def begins_with_zlib(data: bytes) -> bool:
    """Return whether these bytes begin with a zlib stream: a whole one, enough of one, or one that is cut off. Two
    bytes by themselves stand at the beginning of many ids by chance."""
    if not data.startswith(_ZLIB_SIGNS):
        return False
    stream = zlib.decompressobj()
    try:
        return len(stream.decompress(data, _ENOUGH)) >= LEAST or stream.eof
    except zlib.error:
        return False


def is_text(data: bytes) -> bool:
    """Whether bytes are UTF-8 without NUL, which no compressed stream is."""
    if data.isascii():
        return b"\0" not in data
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _begins(data: bytes) -> list[tuple[int, str]]:
    """Where something may begin that is compressed, in order."""
    found = list[tuple[int, str]]()
    for sign, form in _SIGNS.items():
        at = data.find(sign)
        while at >= 0:
            found.append((at, form))
            at = data.find(sign, at + 1)
    return sorted(found)


def _stream_at(data: bytes, at: int, form: str, work: DecodingBudget) -> tuple[int, Callable[[], _Decompressor] | None]:
    """Where a stream begins, and what decompresses it; None for what is not compressed, or not by a known method."""
    if form == "zip":
        return _zip_member(data, at, work)
    make: dict[str, Callable[[], _Decompressor]] = {
        "gzip": lambda: _ZlibDecompressor(31),
        "zlib": lambda: _ZlibDecompressor(15),
        "bzip2": bz2.BZ2Decompressor,
        "xz": lambda: lzma.LZMADecompressor(memlimit=256 << 20),
    }
    return at, make[form]


def _zip_member(data: bytes, at: int, work: DecodingBudget) -> tuple[int, Callable[[], _Decompressor] | None]:
    if len(data) < at + _ZIP_HEADER.size:
        return at, None
    version, flags, method, *_, name, extra = _ZIP_HEADER.unpack_from(data, at)
    start = at + _ZIP_HEADER.size + name + extra
    if version & 0xFF > _NEWEST_VERSION or not 0 < name <= _LONGEST_NAME or start > len(data):
        return at, None  # a text that speaks of zip archives
    if flags & _ENCRYPTED_FLAG:
        work.unread.add(ENCRYPTED)
    elif method == _DEFLATED:
        return start, lambda: _ZlibDecompressor(-15)
    elif method == _BZIP2:
        return start, bz2.BZ2Decompressor
    elif method != _STORED:
        work.unread.add(UNKNOWN_COMPRESSION)
    return start, None


class _ZlibDecompressor:
    """zlib's decompressor as those of bz2 and lzma are used."""

    def __init__(self, window: int) -> None:
        self._inner = zlib.decompressobj(window)

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


class _StreamEnd(Enum):
    """Where the decoding of a stream stopped: at its end, where the data or the work allowed end, or at a fault."""

    WHOLE = auto()
    CUT_OFF = auto()
    DAMAGED = auto()


def _decompressed(
    data: bytes, start: int, stream: _Decompressor, work: DecodingBudget
) -> tuple[bytes, int, _StreamEnd]:
    """What a stream says up to its end, or to where it is damaged; where it ends, and how.

    The input is given in steps that grow: most of what only looks like a stream fails at the first, and of a damaged
    one all that was said in the steps before is kept.
    """
    pieces: list[bytes] = []
    at, step = start, _FIRST_STEP
    ending = _StreamEnd.CUT_OFF
    try:
        while not stream.eof:
            fed = data[at : at + step] if stream.needs_input else b""
            at += len(fed)
            piece = stream.decompress(fed, _LARGEST_STEP)
            if (not piece and not fed) or not work.take(len(piece)):
                break
            pieces.append(piece)
            step = min(2 * step, _LARGEST_STEP)
    except (zlib.error, OSError, EOFError, ValueError, lzma.LZMAError, MemoryError):
        ending = _StreamEnd.DAMAGED
    if stream.eof:
        return b"".join(pieces), at - len(stream.unused_data), _StreamEnd.WHOLE
    return b"".join(pieces), at, ending
