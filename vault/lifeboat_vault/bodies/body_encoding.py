"""How bytes are kept: plain, compressed, or as a patch against other bytes. Pure."""

from __future__ import annotations

import sys
from typing import NamedTuple

from lifeboat_alf.deltas import zstd_patch
from lifeboat_alf.errors import ApplyError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PLAIN, ZSTD, PATCH = "plain", "zstd", "patch"

SMALLEST_COMPRESSED = 1024
LARGEST_PATCHED = 4 << 20
_LEVEL = 3
_SMALL_PATCH = 16
"""A patch of this part of a body: packed alone hardly a text is smaller."""


class CodingError(ValueError):
    """Kept bytes that do not decode to what was kept."""


class Encoded(NamedTuple):
    coding: str
    data: bytes


def encode_body(body: bytes) -> Encoded:
    """Compressed where that helps: below a kilobyte it rarely does, and every read would pay."""
    if len(body) < SMALLEST_COMPRESSED:
        return Encoded(PLAIN, body)
    packed = zstd.compress(body, _LEVEL)
    return Encoded(ZSTD, packed) if len(packed) < len(body) else Encoded(PLAIN, body)


def encode_against(base: bytes, body: bytes) -> Encoded:
    """A patch if it takes less than half of what `encode_body` takes. A small one is taken without trying the other
    way."""
    difference = zstd_patch.make_patch(base, body, len(body))
    if difference is not None and len(difference) * _SMALL_PATCH <= len(body):
        return Encoded(PATCH, difference)
    whole = encode_body(body)
    if difference is None or 2 * len(difference) >= len(whole.data):
        return whole
    return Encoded(PATCH, difference)


def decode_body(encoded: Encoded, size: int, base: bytes | None = None) -> bytes:
    """The `size` bytes again. Raises CodingError for damaged data."""
    try:
        body = _decode(encoded, size, base)
    except (zstd.ZstdError, ApplyError) as error:
        raise CodingError(str(error)) from error
    if len(body) != size:
        raise CodingError(f"{len(body)} bytes where {size} were kept")
    return body


def _decode(encoded: Encoded, size: int, base: bytes | None) -> bytes:
    if encoded.coding == PLAIN:
        return encoded.data
    if encoded.coding == PATCH:
        return zstd_patch.apply_patch(base or b"", encoded.data, size)
    return zstd.decompress(encoded.data)
