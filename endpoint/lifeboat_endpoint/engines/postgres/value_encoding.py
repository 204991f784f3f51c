"""How values of Python become those of PostgreSQL, and back.

What is sent says nothing of its type: the server takes that of the column, so that a statement is prepared once,
whatever the size of a number and wherever a null stands. What comes back is binary.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

from lifeboat_endpoint.engines.postgres.libraries import adapt, numeric, psycopg
from lifeboat_vault import errors
from lifeboat_vault.store.store_protocols import Parameters

_TEXT, _BINARY = psycopg.pq.Format.TEXT, psycopg.pq.Format.BINARY


def encode_values(parameters: Parameters) -> tuple[list[bytes | None] | None, list[int] | None]:
    """The bytes and the format of each. Raises DraftInvalid for text that PostgreSQL does not take."""
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
            data.append(str(value).encode())  # numbers, truth values and times
        formats.append(kind)
    return data, formats


def _text(value: str) -> bytes:
    if "\0" in value:
        raise errors.DraftInvalid("a text holds a null character, which the database does not take")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise errors.DraftInvalid("a text is no Unicode, which the database does not take") from None


class _WholeNumberLoader(numeric.NumericBinaryLoader):
    """Sums of whole numbers are whole."""

    def load(self, data: bytes | bytearray | memoryview) -> Decimal:
        return int(super().load(data))  # type: ignore[return-value]


@lru_cache(maxsize=1)
def make_adapters() -> adapt.AdaptersMap:
    """As every connection of a store has them."""
    made = adapt.AdaptersMap(psycopg.adapters)
    made.register_loader("numeric", _WholeNumberLoader)
    return made
