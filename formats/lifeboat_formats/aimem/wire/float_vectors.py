"""Embeddings in a bundle: little-endian float32 in base64 (section 2.7), converted back without losing a bit."""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Iterable, Sequence

FLOAT_BYTES = 4
_DIGITS = (6, 7, 8, 9)
"""Numbers of digits to try for a float32; nine are always enough."""
_single = struct.Struct("<f")


class BadVector(ValueError):
    """The text is not a vector, or float32 cannot hold it. `is_length`: only the length is wrong."""

    def __init__(self, message: str, *, is_length: bool = False) -> None:
        super().__init__(message)
        self.is_length = is_length


def pack_vector(vector: Sequence[float]) -> str:
    """Encode a vector, rounding to float32. Raises BadVector."""
    return base64.b64encode(_floats(vector)).decode("ascii")


def unpack_vector(text: str, dimensions: int) -> list[float]:
    """Decode the exact numbers of an embedding. Raises BadVector."""
    data = decode_vector(text, dimensions)
    return list(struct.unpack(f"<{dimensions}f", data))


def decode_vector(text: str, dimensions: int) -> bytes:
    """Decode and check the bytes of an embedding: canonical base64 (RFC 4648), the right length, finite numbers. Raises
    BadVector."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BadVector("the vector is not valid base64") from None
    if base64.b64encode(data).decode("ascii") != text:
        raise BadVector("the vector is not valid base64 (RFC 4648)")
    if len(data) != FLOAT_BYTES * dimensions:
        raise BadVector(
            f"the vector has {len(data)} bytes, but {dimensions} float32 numbers need 4 bytes each", is_length=True
        )
    if not all(map(math.isfinite, struct.unpack(f"<{dimensions}f", data))):
        raise BadVector("the vector contains an infinite number or NaN")
    return data


def shortest_floats(vector: Iterable[float]) -> list[float]:
    """Return float32 numbers with the fewest digits that round to the same float32: `0.1` instead of
    `0.10000000149011612`."""
    return [_shortest(value) for value in vector]


def is_exact_in_float32(vector: Sequence[float]) -> bool:
    """Return whether a vector is unchanged after a round trip through a bundle (`shortest_floats` of
    `unpack_vector`)."""
    try:
        data = _floats(vector)
    except BadVector:
        return False
    return shortest_floats(struct.unpack(f"<{len(vector)}f", data)) == list(vector)


def _shortest(value: float) -> float:
    for digits in _DIGITS:
        candidate = float(f"{value:.{digits}g}")
        try:
            if _single.unpack(_single.pack(candidate))[0] == value:
                return candidate
        except OverflowError:  # rounded up beyond the largest float32
            continue
    return value


def _floats(vector: Sequence[float]) -> bytes:
    try:
        data = struct.pack(f"<{len(vector)}f", *vector)
    except (struct.error, OverflowError, TypeError):
        raise BadVector("the vector contains a number that is too large for float32") from None
    if not all(map(math.isfinite, vector)):
        raise BadVector("the vector contains an infinite number or NaN")
    return data
