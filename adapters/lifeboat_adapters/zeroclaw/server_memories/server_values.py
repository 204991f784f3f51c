"""Convert values between a server and a row."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import embeddings

_SAYS_NOTHING = (None, "", 0, False, 0.5, "default")
"""The default values of columns."""


def encode_floats(written: Any) -> bytes | None:
    """Return little-endian float32 from numbers, or from the text form of pgvector, None for a value that
    is no vector."""
    try:
        numbers = msgspec.json.decode(written, type=list[float]) if isinstance(written, str) else written
        return embeddings.encode_float32(numbers) if isinstance(numbers, list) else None
    except (msgspec.DecodeError, TypeError, OverflowError):
        return None


def is_same_time(one: Any, other: Any) -> bool:
    """Return whether two texts are the same time, to the microsecond. Texts that are no time are compared
    as they are."""
    try:
        return _moment(one) == _moment(other)
    except (TypeError, ValueError, OverflowError):
        return bool(one == other)


def _moment(written: Any) -> datetime:
    moment = datetime.fromisoformat(written)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def find_unstored_columns(values: JsonObject, columns: Collection[str]) -> list[str]:
    """Return columns of a row that have a value and that a store does not have."""
    return [name for name, value in values.items() if name not in columns and value not in _SAYS_NOTHING]
