"""Bounded work on databases of others: checks that end, and statements that end."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lifeboat_adapters.errors import RuntimeDatabaseError

SECONDS, BYTES_PER_SECOND = 60.0, 4 << 20
"""How long a check may take: so many seconds, and one more for so many bytes."""
_STEPS, _LEAST_LENGTH = 100, 1 << 20
"""How many steps of SQLite lie between two looks at the clock, and how large a value may be in any database."""
_MAIN = "*** in database main ***"
_OF_TRIGGER = "--"
"""How SQLite tells of a statement within a trigger."""


def find_damage(connection: sqlite3.Connection, size: int, pragma: str = "quick_check") -> str | None:
    """Return what SQLite finds wrong with an open database of so many bytes, None when nothing is.

    SQLite computes generated columns for it. An agent could make them so costly that it never ends, so no value may be
    larger than the database, and time is bounded. Raises sqlite3.Error.
    """
    seconds = SECONDS + size / BYTES_PER_SECOND
    until = time.monotonic() + seconds
    longest = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(size, _LEAST_LENGTH))
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        row = connection.execute(f"pragma {pragma}(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return f"it could not be checked within {seconds:.0f} s"
        raise
    finally:
        connection.set_progress_handler(None, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    found = "nothing can be read" if row is None else str(row[0])
    return None if found == "ok" else " ".join(found.removeprefix(_MAIN).split())


@contextmanager
def ending_statements(connection: sqlite3.Connection, path: object, size: int) -> Iterator[None]:
    """Let no statement on a database of so many bytes run for ever: an agent can give a table a trigger that does.

    Raises RuntimeDatabaseError for one that takes longer than a check may.
    """
    seconds = SECONDS + size / BYTES_PER_SECOND
    until = 0.0

    def begin(statement: str) -> None:
        nonlocal until
        if not statement.startswith(_OF_TRIGGER):
            until = time.monotonic() + seconds

    connection.set_trace_callback(begin)
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            said = f"{path}: a row could not be written within {seconds:.0f} s; look at the triggers of this database"
            raise RuntimeDatabaseError(said) from error
        raise
    finally:
        connection.set_progress_handler(None, 0)
        connection.set_trace_callback(None)
