"""Read a database where SQLite cannot write: on a read-only or full disk.

SQLite opens a database with a write-ahead log only where it can create the log's index. Elsewhere, the file is read
directly if its log is empty; otherwise database and log are copied to the system's temporary folder and read there.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import NamedTuple

_CANNOT_WRITE = frozenset(
    {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_PERM}
)
_COPIES = 5
"""Attempts to copy a database and its log while nothing changes them."""


class ReadableCopy(NamedTuple):
    """An open connection. `folder` holds the copy that it reads, None where it reads the file itself."""

    connection: sqlite3.Connection
    folder: tempfile.TemporaryDirectory[str] | None


def is_for_want_of_writing(error: sqlite3.Error) -> bool:
    """Return whether SQLite refused because it could not write, so that reading may still work."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _CANNOT_WRITE


def open_readable(path: Path) -> ReadableCopy:
    """Open the database at `path` for reading only, including the content of its log.

    Raises sqlite3.Error when it cannot be read either, OSError when the temporary folder has no room for a copy.
    """
    if _size(_log_of(path)) == 0:
        return ReadableCopy(_connected(f"{path.absolute().as_uri()}?immutable=1"), None)
    folder = tempfile.TemporaryDirectory(prefix="lifeboat-read-")
    try:
        copy = Path(folder.name) / path.name
        _copy_both(path, copy)
        return ReadableCopy(_connected(copy.as_uri()), folder)
    except BaseException:
        folder.cleanup()
        raise


def _copy_both(path: Path, copy: Path) -> None:
    """Copy a consistent pair of database and log; repeat when one changed meanwhile."""
    for _ in range(_COPIES):
        before = _seen(path)
        shutil.copyfile(path, copy)
        shutil.copyfile(_log_of(path), _log_of(copy))
        if _seen(path) == before:
            return
    raise OSError(f"{path} cannot be copied, because another program is writing to the file")


def _seen(path: Path) -> tuple[tuple[int, int], ...]:
    found = (each.stat() for each in (path, _log_of(path)))
    return tuple((each.st_size, each.st_mtime_ns) for each in found)


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _connected(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        connection.execute("pragma query_only = on")
        connection.execute("select count(*) from sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
