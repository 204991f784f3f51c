"""Bound the work on databases of other programs: integrity checks and statements always end."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import cast

from lifeboat_adapters.errors import RuntimeDatabaseError

_SqlValue = str | bytes | int | float | None

SECONDS, BYTES_PER_SECOND = 60.0, 4 << 20
"""The time limit of a check: this many seconds, plus one second for each of this many bytes."""
_STEPS, _LEAST_LENGTH = 100, 1 << 20
"""The number of SQLite steps between two looks at the clock, and the value size that every database may use."""
_LARGEST_PRODUCT = 1 << 32
"""The largest allowed product of the lengths of two values where SQLite compares each part of one with the other."""
_PRODUCTS = {
    "glob": (2,),
    "instr": (2,),
    "json_patch": (2,),
    "jsonb_patch": (2,),
    "like": (2, 3),
    "ltrim": (2,),
    "replace": (3,),
    "rtrim": (2,),
    "trim": (2,),
    "unhex": (2,),
}
"""SQLite functions that do so, with their number of arguments. SQLite looks at no clock within a function."""
_MAIN = "*** in database main ***"
_OF_TRIGGER = "--"
"""The prefix by which SQLite marks a statement within a trigger."""


def find_damage(connection: sqlite3.Connection, size: int, pragma: str = "quick_check") -> str | None:
    """Return the damage that SQLite finds in an open database of `size` bytes, None when there is none.

    The check computes generated columns. An agent could make them so costly that the check never ends. So no value may
    be larger than the database, and time is bounded, also within a single function. Raises sqlite3.Error.
    """
    seconds = SECONDS + size / BYTES_PER_SECOND
    until = time.monotonic() + seconds
    most = max(size, _LEAST_LENGTH)
    _bound_functions(connection, most)
    longest = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most)
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        row = connection.execute(f"pragma {pragma}(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return f"SQLite did not finish its check of the database within {seconds:.0f} seconds"
        raise
    finally:
        connection.set_progress_handler(None, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    found = "SQLite cannot read the database" if row is None else str(row[0])
    return None if found == "ok" else " ".join(found.removeprefix(_MAIN).split())


@contextmanager
def ending_statements(connection: sqlite3.Connection, path: object, size: int) -> Iterator[None]:
    """Limit the time of every statement on a database of `size` bytes: an agent can give a table a trigger that never
    ends.

    Raises RuntimeDatabaseError for a statement that exceeds the time limit of a check, sqlite3.Error for one that calls
    a function which would.
    """
    seconds = SECONDS + size / BYTES_PER_SECOND
    until = 0.0

    def begin(statement: str) -> None:
        nonlocal until
        if not statement.startswith(_OF_TRIGGER):
            until = time.monotonic() + seconds

    _bound_functions(connection, connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH))
    connection.set_trace_callback(begin)
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            said = (
                f"{path}: a row could not be written within {seconds:.0f} seconds; check the triggers of this database"
            )
            raise RuntimeDatabaseError(said) from error
        raise
    finally:
        connection.set_progress_handler(None, 0)
        connection.set_trace_callback(None)


def _bound_functions(connection: sqlite3.Connection, longest: int) -> None:
    """Make the functions in `_PRODUCTS` fail permanently where they could take hours or return values longer than
    `longest`. Otherwise they answer like SQLite's own."""
    own = _OwnFunctions(longest)
    for name, counts in _PRODUCTS.items():
        for count in counts:
            query = f"select {name}({', '.join('?' * count)})"
            with suppress(sqlite3.OperationalError):  # this release of SQLite lacks the function
                own.call(query, (None,) * count)
                connection.create_function(name, count, _bounded(own, query), deterministic=True)


def _bounded(own: _OwnFunctions, query: str) -> Callable[..., _SqlValue]:
    def call(*values: _SqlValue) -> _SqlValue:
        first, second = (len(value) if isinstance(value, str | bytes) else 1 for value in values[:2])
        if first * second > _LARGEST_PRODUCT:
            raise OverflowError(
                f"a function in an SQL statement would produce a value of {first} times {second} bytes, which is "
                "more than Lifeboat allows"
            )
        return own.call(query, values)

    return call


class _OwnFunctions:
    """SQLite's own functions, for connections that have replaced them."""

    def __init__(self, longest: int) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)

    def call(self, query: str, values: tuple[_SqlValue, ...]) -> _SqlValue:
        try:
            (found,) = self._connection.execute(query, values).fetchone()
            return cast(_SqlValue, found)
        except sqlite3.DataError as error:
            raise OverflowError(str(error)) from error

    def __del__(self) -> None:
        self._connection.close()
