"""Conversion of values between Python and PostgreSQL.

Values are sent without a type, so the server uses that of the column. A statement is then prepared only once,
regardless of the size of a number and whether a value is null. Results are binary.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

from lifeboat_endpoint.engines.postgres.libraries import adapt, numeric, psycopg
from lifeboat_vault import errors
from lifeboat_vault.store.store_protocols import Parameters

_TEXT, _BINARY = psycopg.pq.Format.TEXT, psycopg.pq.Format.BINARY


def encode_values(parameters: Parameters) -> tuple[list[bytes | None] | None, list[int] | None]:
    """Return the bytes and the format of each value. Raises DraftInvalid for text that PostgreSQL does not accept."""
    if not parameters:
        return None, None
    data: list[bytes | None] = []
    formats: list[int] = []
    for value in parameters:
        kind = _TEXT
        if value is None:
            data.append(None)
        elif isinstance(value, str):
            data.append(_text(value))
        elif isinstance(value, bytes | bytearray | memoryview):
            data.append(bytes(value))
            kind = _BINARY
        else:
            data.append(str(value).encode())  # numbers, booleans and times
        formats.append(kind)
    return data, formats


def _text(value: str) -> bytes:
    if "\0" in value:
        raise errors.DraftInvalid("a text contains a null character, which the database does not accept")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise errors.DraftInvalid("a text is not valid Unicode, which the database requires") from None


class _WholeNumberLoader(numeric.NumericBinaryLoader):
    """Load the sum of integers as an integer."""

    def load(self, data: bytes | bytearray | memoryview) -> Decimal:
        return int(super().load(data))  # type: ignore[return-value]


@lru_cache(maxsize=1)
def make_adapters() -> adapt.AdaptersMap:
    """Return the adapters for every connection of a store."""
    made = adapt.AdaptersMap(psycopg.adapters)
    made.register_loader("numeric", _WholeNumberLoader)
    return made
