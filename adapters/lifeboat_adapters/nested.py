"""Values deep in a parsed configuration, whatever language it is written in."""

from __future__ import annotations

from typing import Any


def get(values: Any, *keys: str) -> Any:
    """A value deep in nested objects, None when a step is missing or is not an object."""
    for key in keys:
        if not isinstance(values, dict):
            return None
        values = values.get(key)
    return values


def text(values: Any, *keys: str) -> str | None:
    """`get`, where only a string with something in it counts."""
    value = get(values, *keys)
    return value.strip() if isinstance(value, str) and value.strip() else None
