"""A temporary file that only its creator can read.

Data that waits on disk for a moment must not survive in disk blocks after a purge, and an endpoint with sealed data
writes no plain text beside it.
"""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import nacl.bindings
import nacl.utils

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_BLOCK = 1 << 18
_NONCE = nacl.bindings.crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
_SEALED = _BLOCK + nacl.bindings.crypto_aead_xchacha20poly1305_ietf_ABYTES


class SealedTemporaryFile(io.RawIOBase):
    """An unnamed file, sealed block by block with a key that exists only in this object. Writes append at any
    read position; the last block read is cached. It is not thread-safe."""

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__()
        self._file = tempfile.TemporaryFile(prefix="lifeboat-", dir=folder)  # noqa: SIM115 (closed with this object)
        self._key = nacl.utils.random(nacl.bindings.crypto_aead_xchacha20poly1305_ietf_KEYBYTES)
        self._waiting = bytearray()
        self._blocks = 0
        self._position = 0
        self._last = (-1, b"")

    @property
    def size(self) -> int:
        """The number of bytes written."""
        return self._blocks * _BLOCK + len(self._waiting)

    def write(self, data: ReadableBuffer, /) -> int:
        self._check()
        before = len(self._waiting)
        self._waiting += data
        written = len(self._waiting) - before
        while len(self._waiting) >= _BLOCK:
            self._seal(bytes(self._waiting[:_BLOCK]))
            del self._waiting[:_BLOCK]
        return written

    def read_at(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes from an offset, at most to the end of a block; b"" at the end."""
        self._check()
        number, start = divmod(offset, _BLOCK)
        block = self._opened(number) if number < self._blocks else bytes(self._waiting)
        return block[start : start + size] if number <= self._blocks else b""

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        found = self.read_at(self._position, len(view))
        view[: len(found)] = found
        self._position += len(found)
        return len(found)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._check()
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def tell(self) -> int:
        return self._position

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._file.close()
            self._key, self._last = b"", (-1, b"")
            self._waiting.clear()
        super().close()

    def _seal(self, block: bytes) -> None:
        nonce = self._blocks.to_bytes(_NONCE, "little")
        sealed = nacl.bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(block, None, nonce, self._key)
        self._file.seek(self._blocks * _SEALED)
        self._file.write(sealed)
        self._file.flush()  # a full disk is an error of this write
        self._blocks += 1

    def _opened(self, number: int) -> bytes:
        if self._last[0] != number:
            self._file.seek(number * _SEALED)
            sealed = self._file.read(_SEALED)
            nonce = number.to_bytes(_NONCE, "little")
            opened = nacl.bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, None, nonce, self._key)
            self._last = (number, opened)
        return self._last[1]

    def _check(self) -> None:
        if self.closed:
            raise ValueError("the file is closed")
