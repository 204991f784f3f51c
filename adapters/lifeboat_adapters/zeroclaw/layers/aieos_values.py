"""What values of an AIEOS document can be promoted, and where else they may stand."""

from __future__ import annotations

from typing import Any

from lifeboat_adapters.zeroclaw.layers.json_pointers import Pointer

MEMORY = "@alf"
"""The key in `aieos_extensions` under which is remembered where promoted values stood. ZeroClaw itself passes over keys
that begin with `@`."""


def places_of_field(*places: Pointer) -> tuple[Pointer, ...]:
    """Places, and those in `identity` where some writers nest everything."""
    return (*places, *(("identity", *place) for place in places if place[0] != "identity"))


def is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_text, value))


def is_share(value: Any) -> bool:
    """A number from 0 to 1."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
