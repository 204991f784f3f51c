"""Read and change values deep in nested JSON objects."""

from __future__ import annotations

from typing import Any

from lifeboat_alf.common.json_types import JsonObject

Pointer = tuple[str, ...]

GONE = object()


def get_at_pointer(value: Any, pointer: Pointer) -> Any:
    """Return the value at a pointer, GONE when there is none."""
    for key in pointer:
        if not isinstance(value, dict) or key not in value:
            return GONE
        value = value[key]
    return value


def put_at_pointer(value: JsonObject, pointer: Pointer, item: Any) -> bool:
    """Set the value at a pointer and create the objects around it. Return False when another value is in the way."""
    for key in pointer[:-1]:
        value = value.setdefault(key, {})
        if not isinstance(value, dict):
            return False
    value[pointer[-1]] = item
    return True


def take_at_pointer(value: JsonObject, pointer: Pointer) -> Any:
    """Remove and return the value at a pointer, and remove objects around it that become empty. Return GONE when there
    is none."""
    key, rest = pointer[0], pointer[1:]
    if not rest:
        return value.pop(key, GONE)
    inner = value.get(key)
    if not isinstance(inner, dict):
        return GONE
    taken = take_at_pointer(inner, rest)
    if taken is not GONE and not inner:
        del value[key]
    return taken
