"""Embeddings as a bundle holds them: little-endian float32 in base64 (section 2.7), and back without losing a bit."""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Iterable, Sequence

FLOAT_BYTES = 4
_DIGITS = (6, 7, 8, 9)
"""How many digits a float32 may need; nine are always enough."""
_single = struct.Struct("<f")


class BadVector(ValueError):
    """A text that holds no vector, or one that float32 cannot hold. `is_length` says that only the length is wrong."""

    def __init__(self, message: str, *, is_length: bool = False) -> None:
        super().__init__(message)
        self.is_length = is_length


def pack_vector(vector: Sequence[float]) -> str:
    """A vector as a bundle holds it, each number the nearest float32. Raises BadVector for one that has none."""
    return base64.b64encode(_floats(vector)).decode("ascii")


def unpack_vector(text: str, dimensions: int) -> list[float]:
    """The numbers of an embedding, exactly as they are. Raises BadVector."""
    data = decode_vector(text, dimensions)
    return list(struct.unpack(f"<{dimensions}f", data))


def decode_vector(text: str, dimensions: int) -> bytes:
    """The bytes of an embedding, checked: the one text that RFC 4648 gives for them, of the right length, and numbers.
    Raises BadVector."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BadVector("this is not base64") from None
    if base64.b64encode(data).decode("ascii") != text:
        raise BadVector("this is not base64 as RFC 4648 writes it")
    if len(data) != FLOAT_BYTES * dimensions:
        raise BadVector(f"{len(data)} bytes are not {dimensions} numbers of float32", is_length=True)
    if not all(map(math.isfinite, struct.unpack(f"<{dimensions}f", data))):
        raise BadVector("a number of it is infinite or none")
    return data


def shortest_floats(vector: Iterable[float]) -> list[float]:
    """Numbers of float32 with as few digits as still mean the same float32: `0.1` and not `0.10000000149011612`."""
    return [_shortest(value) for value in vector]


def is_exact_in_float32(vector: Sequence[float]) -> bool:
    """Whether the numbers come back from a bundle (`shortest_floats` of `unpack_vector`) as they are."""
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
        except OverflowError:  # rounded beyond the largest float32
            continue
    return value


def _floats(vector: Sequence[float]) -> bytes:
    try:
        data = struct.pack(f"<{len(vector)}f", *vector)
    except (struct.error, OverflowError, TypeError):
        raise BadVector("a number of it is beyond float32") from None
    if not all(map(math.isfinite, vector)):
        raise BadVector("a number of it is infinite or none")
    return data
