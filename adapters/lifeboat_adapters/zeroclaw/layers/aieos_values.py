"""Decide which values of an AIEOS document can be promoted, and where else they may stand."""

from __future__ import annotations

from typing import Any

from lifeboat_adapters.zeroclaw.layers.json_pointers import Pointer

MEMORY = "@alf"
"""The key in `aieos_extensions` for the original places of promoted values. ZeroClaw ignores keys that
begin with `@`."""


def places_of_field(*places: Pointer) -> tuple[Pointer, ...]:
    """Return places, and the same places below `identity`, where some writers nest everything."""
    return (*places, *(("identity", *place) for place in places if place[0] != "identity"))


def is_text(value: Any) -> bool:
    """Return whether a value is a non-empty text."""
    return isinstance(value, str) and bool(value.strip())


def is_texts(value: Any) -> bool:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and bool(value) and all(map(is_text, value))


def is_share(value: Any) -> bool:
    """Return whether a value is a number from 0 to 1."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
