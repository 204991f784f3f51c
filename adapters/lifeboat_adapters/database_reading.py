"""Reading a database that its runtime may be using: in one transaction, nothing written, nothing copied.

Columns are taken as they are found: a schema changes with almost every release.
"""

from __future__ import annotations

import base64
import math
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lifeboat_adapters.errors import RuntimeDatabaseError

Found = TypeVar("Found")

_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""How a rollback journal begins that is in force (SQLite, "Database File Format", section 3)."""

_IS_TABLE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
_LARGEST = 2**63 - 1


def read_database(
    path: Path, read: Callable[[sqlite3.Connection], Iterator[Found]], *, fix: str | None = None
) -> Iterator[Found]:
    """What is read of a database, all of it in one transaction. Raises RuntimeDatabaseError; `fix` is the command that
    opens and closes the database properly."""
    path = followed(path)
    try:
        before = _stamp(path)
        with closing(_open(path, fix)) as connection:
            connection.execute("BEGIN")
            yield from read(connection)
        if before.log is None and _stamp(path) != before:
            raise RuntimeDatabaseError(f"{path} changed while it was read")
    except (sqlite3.Error, OSError, UnicodeError) as error:
        raise RuntimeDatabaseError(f"{path}: {error}") from error


def problem_of_table(path: Path, table: str | None) -> str:
    """Why a database says nothing about the rows of a table (of any, for None), "" when it does. Raises
    RuntimeDatabaseError when it cannot be read now."""
    if not path.is_file():
        return f"{path} is not there"
    if path.stat().st_size == 0:
        return f"{path} is empty (0 bytes)"
    (names,) = read_database(path, lambda opened: iter([{str(name) for (name,) in opened.execute(_TABLES)}]))
    if not names:
        return f"{path} is empty: it has no tables"
    return "" if table is None or table in names else f"{path} has no table {table}"


def followed(path: Path) -> Path:
    """A database where it is: SQLite keeps its log beside the file that a link leads to."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


@dataclass(frozen=True, slots=True)
class _Stamp:
    file: tuple[int, int, int]
    log: int | None


def _stamp(path: Path) -> _Stamp:
    """What tells whether a database without a log was written to."""
    stat = os.stat(path)
    log = _log_of(path)
    return _Stamp((stat.st_size, stat.st_mtime_ns, stat.st_ino), log.stat().st_size or None if log.is_file() else None)


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _open(path: Path, fix: str | None) -> sqlite3.Connection:
    """Open without leaving a trace: a closed database as immutable; one in use through the shared memory that its user
    made. A log without shared memory would make SQLite create it in the runtime's folder, so it is left alone."""
    in_use = _stamp(path).log is not None
    if _is_half_written(path):
        raise RuntimeDatabaseError(f"{path} is being written, or a write of it was broken off", fix=fix)
    if in_use and not path.with_name(f"{path.name}-shm").is_file():
        raise RuntimeDatabaseError(f"{path} was not closed properly", fix=fix)
    mode = "mode=ro" if in_use else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None, timeout=2)
    connection.text_factory = _text
    return connection


def _is_half_written(path: Path) -> bool:
    """Whether a rollback journal says that pages of the file may be of no committed state."""
    journal = path.with_name(f"{path.name}-journal")
    if not journal.is_file():
        return False
    with journal.open("rb") as opened:
        return opened.read(len(_JOURNAL)) == _JOURNAL


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def columns_of(connection: sqlite3.Connection, table: str) -> tuple[list[str], list[str]]:
    """All columns of a table but computed ones, and those of its primary key in its order; nothing when there is no
    such table. A view is none: reading it may never end."""
    if connection.execute(_IS_TABLE, (table,)).fetchone() is None:
        return [], []
    found = list(connection.execute(f'PRAGMA table_info("{table}")'))
    keys = sorted((column for column in found if column[5]), key=lambda column: int(column[5]))
    return [column[1] for column in found], [column[1] for column in keys]


def key_of(values: tuple[Any, ...]) -> str:
    """What sorts and identifies a row in its table, from the values of its primary key."""
    return "\x1f".join(f"{value:020d}" if isinstance(value, int) else str(value) for value in values)


def as_json(value: Any) -> Any:
    """A value as JSON can hold it: bytes as base64, numbers that are none as their name."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"real": str(value)}
    return value


def from_json(value: Any) -> Any:
    """`as_json`, backwards. Raises ValueError for what no database holds."""
    if value is None or isinstance(value, str) or not isinstance(value, dict | list | int):
        return value
    if isinstance(value, int) and -_LARGEST - 1 <= value <= _LARGEST:
        return value
    if isinstance(value, dict) and len(value) == 1:
        (kind, text), *_ = value.items()
        if kind == "base64" and isinstance(text, str):
            return base64.b64decode(text, validate=True)
        if kind == "real" and isinstance(text, str):
            return float(text)
    raise ValueError("neither a number, nor text, nor bytes")
