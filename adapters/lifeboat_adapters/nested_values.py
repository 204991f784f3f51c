"""Read values deep in a parsed configuration, in any configuration language."""

from __future__ import annotations

from typing import Any


def get_nested(values: Any, *keys: str) -> Any:
    """Return a value deep in nested objects, None when a step is missing or is not an object."""
    for key in keys:
        if not isinstance(values, dict):
            return None
        values = values.get(key)
    return values


def get_nested_text(values: Any, *keys: str) -> str | None:
    """Return the value as `get_nested` does, None when it is not a non-empty string."""
    value = get_nested(values, *keys)
    return value.strip() if isinstance(value, str) and value.strip() else None
