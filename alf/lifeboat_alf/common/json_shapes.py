"""Read parts of foreign documents in the expected shape. Other shapes read as missing, so they never stop the
reader."""

from __future__ import annotations

from typing import Any

from lifeboat_alf.common.json_types import JsonObject


def as_object(value: Any) -> JsonObject:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return a text; "" for anything else."""
    return value if isinstance(value, str) else ""


def objects_in(value: Any) -> list[JsonObject]:
    """Return the objects in a list, none for anything else."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def texts_in(value: Any) -> list[str]:
    """Return the texts in a list, none for anything else."""
    return [item for item in as_list(value) if isinstance(item, str)]
