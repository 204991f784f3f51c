"""Decompresses files within limits and decodes them without guessing the encoding."""

from __future__ import annotations

import gzip
import zlib

from lifeboat_formats.interchange.errors import SourceRefused

GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
LARGEST = 100 * 1024 * 1024
"""Largest unpacked file in bytes, as the specification recommends ("Size Limits")."""
_PIECE = 64 * 1024
_MOST_MEMBERS = 4096


def is_compressed(data: bytes) -> bool:
    """Return whether bytes are compressed, by their first bytes."""
    return data.startswith(GZIP)


def decompress_bytes(data: bytes, *, largest: int = LARGEST) -> bytes:
    """Return the unpacked data of one or several gzip members; other bytes are returned unchanged. Memory use is
    bounded by `largest`. Raises SourceRefused: `gzip_bomb` above that size, `gzip_invalid` for damaged data."""
    if not is_compressed(data):
        return data
    out = bytearray()
    at = 0
    for _ in range(_MOST_MEMBERS):
        at = _member(data, at, out, largest)
        if data[at : at + 1] in (b"", b"\0"):
            break
    if data[at:].strip(b"\0"):
        raise SourceRefused("Unexpected data after the compressed data", format_code="gzip_invalid")
    return bytes(out)


def compress_bytes(data: bytes) -> bytes:
    """Compress bytes reproducibly: without name and time."""
    return gzip.compress(data, 9, mtime=0)


def decode_text(data: bytes, *, name: str = "") -> tuple[str, bool]:
    """Decode a text. Return it without its byte order mark, and whether it had one. Raises SourceRefused
    (`utf8_invalid`): other encodings are never guessed."""
    bom = data.startswith(BOM)
    try:
        return data[len(BOM) if bom else 0 :].decode(), bom
    except UnicodeDecodeError as error:
        at = error.start + (len(BOM) if bom else 0)
        where = f"line {_line(data, at)}"
        raise SourceRefused(
            f"{name or 'The file'} is not valid UTF-8 at byte {at} ({where})", format_code="utf8_invalid", where=where
        ) from None


def encode_text(text: str, *, name: str = "") -> bytes:
    """Encode a text. Raises SourceRefused (`utf8_invalid`) if it contains a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise SourceRefused(
            f"{name or 'The text'} contains half of a character (an unpaired surrogate)", format_code="utf8_invalid"
        ) from None


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + data.count(b"\r", 0, at) - data.count(b"\r\n", 0, at) + 1


def _member(data: bytes, at: int, out: bytearray, largest: int) -> int:
    """Append one unpacked gzip member to `out` and return the offset where it ends."""
    stream = zlib.decompressobj(wbits=31)
    try:
        while not stream.eof:
            piece = stream.unconsumed_tail or data[at : at + _PIECE]
            if not piece:
                raise SourceRefused("The compressed data is incomplete", format_code="gzip_invalid")
            at += 0 if stream.unconsumed_tail else len(piece)
            out += stream.decompress(piece, largest - len(out) + 1)
            if len(out) > largest:
                raise SourceRefused(
                    f"The decompressed data would be larger than {largest} bytes", format_code="gzip_bomb"
                )
    except zlib.error:
        raise SourceRefused("The compressed data is damaged", format_code="gzip_invalid") from None
    return at - len(stream.unused_data)
