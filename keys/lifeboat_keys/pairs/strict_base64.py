"""Encode bytes as text with only one valid spelling: decoding accepts exactly what encoding produces.

A lenient decoder reads several texts as the same bytes, so a changed character of a signed document would go unnoticed.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any


def to_base64(data: bytes) -> str:
    """Return standard base64 with padding."""
    return base64.b64encode(data).decode("ascii")


def from_base64(text: Any, size: int | None = None) -> bytes:
    """Decode the output of `to_base64`. Raises ValueError for any other spelling, or when the result is not `size`
    bytes."""
    if not isinstance(text, str):
        raise ValueError("expected base64 text")
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    if to_base64(data) != text:
        raise ValueError("the base64 text is not in canonical form")
    if size is not None and len(data) != size:
        raise ValueError(f"expected {size} bytes, found {len(data)}")
    return data


def device_id(public: bytes) -> str:
    """Return the id of a machine: the first 16 hexadecimal digits of its device's public key."""
    return public.hex()[:16]
