"""How values of Python become those of PostgreSQL, and back.

What is sent says nothing of its type: the server takes that of the column, so that a statement is prepared once,
whatever the size of a number and wherever a null stands.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

from lifeboat_endpoint.store.postgres.libraries import psycopg
from psycopg.types.numeric import Int8Dumper, NumericBinaryLoader, NumericLoader
from psycopg.types.string import BytesBinaryDumper, StrDumperUnknown


class _Number(Int8Dumper):
    oid = 0


class _Bytes(BytesBinaryDumper):
    oid = 0


class _Whole(NumericLoader):
    """Sums of whole numbers are whole."""

    def load(self, data: bytes | bytearray | memoryview) -> Decimal:
        return int(super().load(data))  # type: ignore[return-value]


class _WholeBinary(NumericBinaryLoader):
    def load(self, data: bytes | bytearray | memoryview) -> Decimal:
        return int(super().load(data))  # type: ignore[return-value]


@lru_cache(maxsize=1)
def adapters() -> psycopg.adapt.AdaptersMap:
    """As every connection here has them."""
    made = psycopg.adapt.AdaptersMap(psycopg.adapters)
    made.register_dumper(int, _Number)
    made.register_dumper(bytes, _Bytes)
    made.register_dumper(str, StrDumperUnknown)
    made.register_loader("numeric", _Whole)
    made.register_loader("numeric", _WholeBinary)
    return made
