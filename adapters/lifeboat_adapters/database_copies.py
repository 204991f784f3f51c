"""Copy a database privately when it lies where the agent can replace it.

SQLite opens a database, its log and its shared memory by path, and resolves a path through `/proc/self/fd` to a path
again. So SQLite cannot be restricted to the file that was checked. Files below a workspace are copied from descriptors
instead, and SQLite opens the copy. *Rejected: comparing the open files afterwards.* By then SQLite may have waited for
a FIFO, or created an empty log beside another database.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.guarded_files import GuardedFile, file_identity

JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""The first bytes of a rollback journal that is in force (SQLite, "Database File Format", section 3)."""
_LOG_HEADER = 32
_TRIES = 3


@contextmanager
def open_copy(held: GuardedFile, fix: str | None) -> Iterator[sqlite3.Connection]:
    """Open one committed state of a database. The files of the copy have no names any more once it is open. Raises
    RuntimeDatabaseError, sqlite3.Error, OSError."""
    with tempfile.TemporaryDirectory(prefix="lifeboat-read-") as folder:
        copy = Path(folder, "database")
        if not any(_copy(held, copy, fix) for _ in range(_TRIES)):
            raise RuntimeDatabaseError(f"{held.place} changed while it was read", fix=fix)
        _work_in_log(copy)
        connection = sqlite3.connect(f"{copy.as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)
    with closing(connection):
        yield connection


def is_half_written(held: GuardedFile) -> bool:
    """Return whether a rollback journal shows that pages of a database may belong to no committed state. Raises
    OSError."""
    return _first_bytes(held, "-journal", len(JOURNAL)) == JOURNAL


def _copy(held: GuardedFile, copy: Path, fix: str | None) -> bool:
    """Copy a database and then its log, which holds everything written into the database since the log was begun.
    Return False when the database was written or its log restarted meanwhile."""
    if is_half_written(held):
        raise RuntimeDatabaseError(f"{held.place} is being written, or a write was interrupted", fix=fix)
    before = _state(held)
    _copy_file(held, "", copy)
    log = copy.with_name(f"{copy.name}-wal")
    log.unlink(missing_ok=True)
    if before[-1]:
        _copy_file(held, "-wal", log)
    return _state(held) == before and not is_half_written(held)


def _state(held: GuardedFile) -> tuple[object, ...]:
    """Return a value that stays the same while a copy of a database and then of its log is sound. With a log: that it
    is not restarted. Without one: that the file is not written."""
    found, log = held.status(), _first_bytes(held, "-wal", _LOG_HEADER)
    is_in_use = len(log) == _LOG_HEADER
    written = () if is_in_use else (found.st_size, found.st_mtime_ns)
    return (file_identity(found), *written, log if is_in_use else b"")


def _first_bytes(held: GuardedFile, end: str, count: int) -> bytes:
    if held.find(end) is None:
        return b""
    with os.fdopen(held.open(end), "rb") as stream:
        return stream.read(count)


def _copy_file(held: GuardedFile, end: str, target: Path) -> None:
    with os.fdopen(held.open(end), "rb") as source, target.open("wb") as made:
        shutil.copyfileobj(source, made)


def _work_in_log(copy: Path) -> None:
    if not copy.with_name(f"{copy.name}-wal").exists():
        return
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("pragma synchronous=off")
        connection.execute("select 1 from sqlite_master limit 1").fetchone()
        connection.execute("pragma wal_checkpoint(truncate)")
