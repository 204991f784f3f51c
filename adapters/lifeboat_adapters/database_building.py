"""Build a complete database at a free path, from a copy of the present one or from the tables of a new one. It is
changed in one transaction, and checked before it is used. The present database is read and never changed."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from lifeboat_adapters.database_checks import ending_statements, find_damage
from lifeboat_adapters.database_reading import read_database
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.guarded_files import Guarded
from lifeboat_alf.seams.file_operations import flush_to_disk

Change = Callable[[sqlite3.Connection], None]
Stamp = tuple[tuple[int, int, int] | None, ...]

JOURNAL = "PRAGMA journal_mode=WAL"
"""The journal mode of a new database."""

_OWNER_ONLY = 0o600
_BESIDE = ("-wal", "-shm", "-journal")
_FULL_TEXT = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"


def side_files_of(path: Path) -> tuple[Path, ...]:
    """Return the side files of a database."""
    every = (path.with_name(path.name + suffix) for suffix in _BESIDE)
    return tuple(each for each in every if each.is_file())


def database_stamp(path: Path) -> Stamp:
    """Return a value that changes when a database or its log is written."""
    return tuple(_stat(each) for each in (path, path.with_name(f"{path.name}-wal")))


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ino)


def refuse_damaged(connection: sqlite3.Connection, path: Path, fix: str | None = None) -> None:
    """Raise RuntimeDatabaseError for a damaged database."""
    if damage := find_damage(connection, path.stat().st_size):
        raise RuntimeDatabaseError(f"{path} is damaged: {damage}", fix=fix)


def build_database(
    target: Path,
    source: Path | None,
    planned: Stamp,
    tables: str,
    change: Change,
    workspace: Guarded = None,
    fix: str | None = None,
) -> None:
    """Build a database at the free path `target`, from the one at `source` or from `tables`. Below `workspace` no link
    in the path of the source is followed. `fix` is a command of the runtime that checks the database.

    Raises RuntimeDatabaseError, also for a source that has changed since `planned` was taken. Then no file is left.
    """
    try:
        mode = _OWNER_ONLY if source is None else stat.S_IMODE(source.stat().st_mode)
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_ONLY))
    except OSError as error:
        raise RuntimeDatabaseError(f"{source or target}: {error.strerror}") from error
    try:
        _fill(target, source, planned, tables, change, workspace, fix)
        os.chmod(target, mode)
        _sync(target)
    except BaseException as error:
        for path in (target, *side_files_of(target)):
            path.unlink(missing_ok=True)
        if isinstance(error, sqlite3.Error | OSError):
            raise RuntimeDatabaseError(f"{source or target}: {error}") from error
        raise


def _fill(
    target: Path,
    source: Path | None,
    planned: Stamp,
    tables: str,
    change: Change,
    workspace: Guarded,
    fix: str | None,
) -> None:
    if source is not None:
        list(read_database(source, lambda opened: _copied(opened, target), fix=fix, workspace=workspace))
        if database_stamp(source) != planned:
            raise RuntimeDatabaseError(f"{source} changed since the restore was planned")
    with closing(sqlite3.connect(target, isolation_level=None)) as connection:
        # A failed copy is deleted, so no journal is needed. It would hold every changed page a second time.
        connection.execute("PRAGMA journal_mode=OFF")
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA secure_delete=ON")
        if source is None:
            connection.executescript(tables)
        connection.execute("PRAGMA foreign_keys=ON")
        before = _astray(connection)
        connection.execute("BEGIN IMMEDIATE")
        path, size = source or target, target.stat().st_size
        with ending_statements(connection, path, size):
            change(connection)
            connection.execute("COMMIT")
        _verify(connection, path, target.stat().st_size, before, fix)
        connection.execute(JOURNAL)


def _copied(opened: sqlite3.Connection, target: Path) -> Iterator[None]:
    """Copy a database with the online backup, which includes pages that are only in the log."""
    with closing(sqlite3.connect(target)) as copy:
        opened.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")
    yield None


def _astray(connection: sqlite3.Connection) -> int:
    """Return the number of rows that refer to rows that do not exist."""
    return sum(1 for _ in connection.execute("PRAGMA foreign_key_check"))


def _verify(connection: sqlite3.Connection, path: Path, size: int, astray: int, fix: str | None) -> None:
    damage = find_damage(connection, size, "integrity_check")
    if damage or _astray(connection) > astray:
        said = damage or "some rows refer to rows that do not exist"
        raise RuntimeDatabaseError(f"{path}: the new database is damaged ({said})", fix=fix)
    for (name,) in connection.execute(_FULL_TEXT).fetchall():
        if not _fits(connection, name):
            connection.execute(f'INSERT INTO "{name}"("{name}") VALUES (\'rebuild\')')
            if not _fits(connection, name):
                raise RuntimeDatabaseError(f"in {path}, the full-text index {name} does not match the rows", fix=fix)


def _fits(connection: sqlite3.Connection, name: str) -> bool:
    """Return whether a full-text index matches its table. Row numbers change when a user compacts the database."""
    with suppress(sqlite3.DatabaseError):
        connection.execute(f'INSERT INTO "{name}"("{name}", rank) VALUES (\'integrity-check\', 1)')
        return True
    return False


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        flush_to_disk(handle)
    finally:
        os.close(handle)
