"""Encode bodies for storage: plain, compressed, or as a patch against other bytes. Pure."""

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
"""A patch below this fraction of the body is used without trying compression, which hardly ever does better."""


class CodingError(ValueError):
    """Stored bytes that do not decode to the original."""


class Encoded(NamedTuple):
    """Encoded bytes and how they are encoded."""

    coding: str
    data: bytes


def encode_body(body: bytes) -> Encoded:
    """Compress where that helps. Below a kilobyte it rarely does, and every read would pay for it."""
    if len(body) < SMALLEST_COMPRESSED:
        return Encoded(PLAIN, body)
    packed = zstd.compress(body, _LEVEL)
    return Encoded(ZSTD, packed) if len(packed) < len(body) else Encoded(PLAIN, body)


def encode_against(base: bytes, body: bytes) -> Encoded:
    """Return a patch if it takes less than half of `encode_body`. A small patch is used without trying compression."""
    difference = zstd_patch.make_patch(base, body, len(body))
    if difference is not None and len(difference) * _SMALL_PATCH <= len(body):
        return Encoded(PATCH, difference)
    whole = encode_body(body)
    if difference is None or 2 * len(difference) >= len(whole.data):
        return whole
    return Encoded(PATCH, difference)


def decode_body(encoded: Encoded, size: int, base: bytes | None = None) -> bytes:
    """Return the original `size` bytes. Raises CodingError for damaged data."""
    try:
        body = _decode(encoded, size, base)
    except (zstd.ZstdError, ApplyError) as error:
        raise CodingError(str(error)) from error
    if len(body) != size:
        raise CodingError(f"the decoded content has {len(body)} bytes, expected {size}")
    return body


def _decode(encoded: Encoded, size: int, base: bytes | None) -> bytes:
    if encoded.coding == PLAIN:
        return encoded.data
    if encoded.coding == PATCH:
        return zstd_patch.apply_patch(base or b"", encoded.data, size)
    return zstd.decompress(encoded.data)
