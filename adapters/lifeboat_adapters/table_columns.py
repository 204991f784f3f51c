"""Read the columns of an existing table, and convert values to what it keeps."""

from __future__ import annotations

import hashlib
import math
import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lifeboat_alf.common.json_types import JsonObject

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


class RowDoesNotFit(ValueError):
    """A row that a table cannot hold. The message says why."""


@dataclass(frozen=True, slots=True)
class SqliteColumn:
    """A column of a table. `kind` is the type that SQLite converts values to: TEXT, INTEGER, REAL, or "" for none."""

    name: str
    kind: str
    required: bool
    default: str | None


def read_table_columns(connection: sqlite3.Connection, table: str) -> dict[str, SqliteColumn]:
    """Return the columns of a table by name, in its order, {} when there is no such table."""
    found = connection.execute(f'PRAGMA table_info("{table}")')
    return {
        name: SqliteColumn(name, _kind(declared), bool(needed), default)
        for _, name, declared, needed, default, _ in found
    }


def _kind(declared: str) -> str:
    """Apply SQLite's rule for the affinity of a declared type."""
    upper = declared.upper()
    if "INT" in upper:
        return "INTEGER"
    if any(part in upper for part in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    return "REAL" if any(part in upper for part in ("REAL", "FLOA", "DOUB")) else ""


def fit_row(row: Mapping[str, Any], known: Mapping[str, SqliteColumn]) -> JsonObject:
    """Return a row as the table keeps it, in the table's order. Unknown columns are left out, and so are NULL values of
    columns with a default. Raises RowDoesNotFit."""
    found: JsonObject = {}
    for name, column in known.items():
        if name not in row:
            continue
        value = _kept(row[name], column)
        if value is None and column.required:
            if column.default is None:
                raise RowDoesNotFit(f"the captured row has no value for: {name}")
            continue
        found[name] = value
    return found


def _kept(value: Any, column: SqliteColumn) -> Any:
    if isinstance(value, str):
        return _text(value, column)
    if value is None or isinstance(value, bytes):
        return value
    if not isinstance(value, bool | int | float):
        raise RowDoesNotFit(f"the value of the column {column.name} is neither a number nor text")
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise RowDoesNotFit(f"the value of the column {column.name} is too large")
    return _number(value, column)


def _number(value: float, column: SqliteColumn) -> Any:
    if column.kind == "TEXT":
        return str(int(value) if isinstance(value, bool) else value)
    if column.kind == "REAL":
        return float(value)
    if column.kind == "INTEGER" and isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return int(value) if isinstance(value, bool) else value


def _text(value: str, column: SqliteColumn) -> Any:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise RowDoesNotFit(f"the value of the column {column.name} is not text") from None
    if column.kind == "INTEGER" and _WHOLE.fullmatch(value):
        return int(value)
    if column.kind == "REAL":
        return _real(value)
    return value


def _real(value: str) -> float | str:
    try:
        return float(value) if value.isascii() and "_" not in value else value
    except ValueError:
        return value


def row_digest(values: Iterable[Any]) -> bytes:
    """Return a digest that identifies rows by their values."""
    return hashlib.blake2b(repr(tuple(values)).encode("utf-8", "surrogatepass"), digest_size=16).digest()
