"""Choose the deflate library: zlib-ng where it is installed (3 to 5 times faster), else zlib.

This is the only code that touches an internal of `zipfile`: the compressor object of an entry being written. A test
fails when a new Python no longer has it; until then writing falls back to the standard library's compressor.
"""

from __future__ import annotations

import contextlib
import importlib
import zlib
from typing import IO, Any

_zlib: Any = zlib
with contextlib.suppress(ImportError):
    _zlib = importlib.import_module("zlib_ng.zlib_ng")

RATIO_LIMIT = 250
"""Ratio of unpacked to packed size above which an entry counts as a bomb. Text reaches 10 to 60."""
RATIO_FROM = 16 << 20
"""Entries up to this size (unpacked bytes) may have any ratio."""

ERRORS: tuple[type[Exception], ...] = (zlib.error, _zlib.error)
HOOK = "_compressor"
_PIECE = 1 << 20


def compute_crc32(data: bytes, start: int) -> int:
    return int(_zlib.crc32(data, start))


def make_decompressor() -> Any:
    """Return a raw deflate decompressor with `decompress(data, max_length)`, `unconsumed_tail`, `unused_data`,
    `eof`."""
    return _zlib.decompressobj(-15)


class BoundedCompressor:
    """Raw deflate that never packs a large entry tighter than half of the ratio that the reader accepts.

    Beyond that (for example a file of zeros) it writes stored blocks. After a sync flush another compressor may
    continue a deflate stream, because neither refers back.
    """

    def __init__(self, level: int) -> None:
        self._level = level
        self._packing = True
        self._object = _compressor(level)
        self._in = self._out = 0

    def compress(self, data: Any) -> bytes:
        view = memoryview(data)
        return b"".join(self._piece(view[start : start + _PIECE]) for start in range(0, len(view), _PIECE))

    def flush(self) -> bytes:
        rest: bytes = self._object.flush()
        return rest

    def _piece(self, data: memoryview) -> bytes:
        packed: bytes = self._switch() + self._object.compress(data)
        self._in += len(data)
        self._out += len(packed)
        return packed

    def _switch(self) -> bytes:
        """Switch between packing and storing when the ratio requires it; return the pending bytes of the old
        compressor."""
        wanted = self._in < RATIO_FROM // 2 or self._in < self._out * (RATIO_LIMIT // 2)
        if wanted == self._packing:
            return b""
        rest: bytes = self._object.flush(_zlib.Z_SYNC_FLUSH)
        self._packing = wanted
        self._object = _compressor(self._level if wanted else 0)
        return rest


def _compressor(level: int) -> Any:
    return _zlib.compressobj(level, _zlib.DEFLATED, -15)


def use_fast(handle: IO[bytes], level: int) -> bool:
    """Install this module's compressor for an entry that `zipfile` writes. Return False when the hook is missing."""
    if getattr(handle, HOOK, None) is None:
        return False
    setattr(handle, HOOK, BoundedCompressor(level))
    return True
