"""Store a vault's rows in one SQLite file.

With a write-ahead log a commit is one flush instead of three, and the timeline can be read while a capture commits.
With `synchronous=FULL` a completed commit survives a power cut. `auto_vacuum` must be set before the log mode and the
first table, or it is silently ignored. `docs/architecture.md` says what `sqlite_utils` is used for.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lifeboat_vault import errors
from lifeboat_vault.store import readable_copy, vault_schema
from lifeboat_vault.store.disk_blobs import translate_errors
from lifeboat_vault.store.store_protocols import Parameters, Row

if TYPE_CHECKING:
    from sqlite_utils import Database

BUSY_SECONDS = 10.0
_LOG_LIMIT = 16 << 20
_PAGES_PER_STEP = 4096

_AT_CREATION = ("pragma page_size = 4096", "pragma auto_vacuum = incremental", "pragma journal_mode = wal")
_ALWAYS = (
    "pragma synchronous = full",
    "pragma fullfsync = on",
    "pragma secure_delete = on",
    "pragma foreign_keys = on",
    f"pragma journal_size_limit = {_LOG_LIMIT}",
)


class SqliteStore:
    """A `MetadataStore` in the file `path`. Belongs to the thread that made it."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        tables: Sequence[str] = vault_schema.TABLES,
        allowed: Callable[[], None] | None = None,
    ) -> None:
        """Open the file; with `create` it may be missing or empty.

        `tables` are what `prepare` creates, by default those of a vault. `allowed` is called inside each transaction
        before anything changes, and may raise to refuse it. Raises VaultMissing, VaultDamaged.
        """
        if not create and not path.exists():
            raise errors.VaultMissing(f"the database {path} does not exist")
        self._path = path
        self._tables = tables
        self._allowed = allowed
        self.is_read_only = False
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        with _TranslatedErrors(path):
            if create:
                _for_its_owner(path)
            self._connection = self._connected(create)

    def _connected(self, create: bool) -> sqlite3.Connection:
        """Connect. On a disk that is not writable, return a read-only connection, so that the vault stays readable."""
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            for pragma in (*(_AT_CREATION if create else ()), *_ALWAYS):
                connection.execute(pragma).fetchall()
            connection.execute("select 1 from sqlite_master").fetchone()
            return connection
        except sqlite3.Error as error:
            connection.close()
            if create or not readable_copy.is_for_want_of_writing(error):
                raise
            return self._readable(error)
        except BaseException:
            connection.close()
            raise

    def _readable(self, refused: sqlite3.Error) -> sqlite3.Connection:
        """Connect for reading only. Raises `refused` when that fails too, because it names the cause."""
        try:
            connection, self._copy = readable_copy.open_readable(self._path)
        except (OSError, sqlite3.Error):
            raise refused from None
        self.is_read_only = True
        return connection

    @cached_property
    def database(self) -> Database:
        """Return the schema and the SQL functions of this connection, for what copies tables between engines."""
        from sqlite_utils import Database  # takes a fifth of a second to load

        return Database(self._connection, execute_plugins=False, recursive_triggers=False)

    def prepare(self) -> None:
        if self._has_tables():
            return
        with self.transaction():
            if self._has_tables():
                return  # another process was first
            for statement in self._tables:
                self.execute(statement)

    def _has_tables(self) -> bool:
        return self.row("select 1 from sqlite_master where type = 'table' limit 1") is not None

    @contextlib.contextmanager
    def transaction(self, *, wait: bool = True) -> Iterator[None]:
        self._begin(wait)
        try:
            yield
            with _TranslatedErrors(self._path):
                self._connection.execute("commit")
        except BaseException:
            # After "disk full" SQLite has rolled back by itself, and a second rollback would hide the cause.
            if self._connection.in_transaction:
                self._connection.execute("rollback")
            raise

    def _begin(self, wait: bool) -> None:
        if self.is_read_only:
            raise self._refusal()
        if self._connection.in_transaction:
            raise errors.VaultBusy(f"{self._path}: this connection has an open transaction or snapshot already")
        self._lock(wait)
        if self._allowed is not None:
            try:
                self._allowed()
            except BaseException:
                self._connection.execute("rollback")
                raise

    def _refusal(self) -> errors.VaultError:
        message = f"the database {self._path} cannot be written"
        return errors.VaultFull(message) if _is_full(self._path.parent) else errors.VaultUnusable(message)

    def _lock(self, wait: bool) -> None:
        with _TranslatedErrors(self._path):
            if wait:
                self._connection.execute("begin immediate")
                return
            self._set_timeout(0)
            try:
                self._connection.execute("begin immediate")
            finally:
                self._set_timeout(BUSY_SECONDS)

    def _set_timeout(self, seconds: float) -> None:
        self._connection.execute(f"pragma busy_timeout = {int(seconds * 1000)}").fetchall()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        if self._connection.in_transaction:
            yield
            return
        with _TranslatedErrors(self._path):
            self._connection.execute("begin")
        try:
            yield
        finally:
            self._connection.execute("rollback")

    def execute(self, statement: str, parameters: Parameters = ()) -> int:
        with _TranslatedErrors(self._path):
            return self._connection.execute(statement, parameters).rowcount

    def execute_many(self, statement: str, rows: Iterable[Parameters]) -> None:
        with _TranslatedErrors(self._path):
            self._connection.executemany(statement, rows)

    def row(self, statement: str, parameters: Parameters = ()) -> Row | None:
        with _TranslatedErrors(self._path):
            row: Row | None = self._connection.execute(statement, parameters).fetchone()
            return row

    def rows(self, statement: str, parameters: Parameters = ()) -> Iterator[Row]:
        with _TranslatedErrors(self._path):
            cursor = self._connection.execute(statement, parameters)
        return self._stream(cursor)

    def _stream(self, cursor: sqlite3.Cursor) -> Iterator[Row]:
        while True:
            with _TranslatedErrors(self._path):
                rows = cursor.fetchmany(64)
            if not rows:
                return
            yield from rows

    def problems(self) -> list[str]:
        try:
            found = [str(text) for (text,) in self.rows("pragma integrity_check(20)") if text != "ok"]
            broken = sum(1 for _ in self.rows("pragma foreign_key_check"))
        except errors.VaultDamaged as error:
            return [error.message]
        return found + ([f"number of database rows that refer to missing objects: {broken}"] if broken else [])

    def size(self) -> int:
        names = (self._path, self._path.with_name(self._path.name + "-wal"))
        return sum(path.stat().st_size for path in names if path.exists())

    def compact(self) -> None:
        """Release space in steps, so that a reader never waits long, and then truncate the log, which would keep
        deleted content."""
        # A reader prevents the log from being emptied; the next run does it.
        with contextlib.suppress(errors.VaultBusy):
            while self._free_pages() and self._vacuum_step():
                pass
            self._pragma("pragma wal_checkpoint(truncate)")

    def scrub(self, *, wait: bool = True) -> bool:
        """Write all pages again.

        `secure_delete` clears deleted content, but when SQLite splits or joins a page it leaves copies of moved cells
        in the unused part. This runs in a separate connection, because open statements in this one would prevent it.
        """
        self.drop_copies()
        seconds = BUSY_SECONDS if wait else 0.0
        with (
            _TranslatedErrors(self._path),
            contextlib.closing(sqlite3.connect(self._path, timeout=seconds, isolation_level=None)) as connection,
        ):
            for pragma in _ALWAYS:
                connection.execute(pragma).fetchall()
            connection.execute("vacuum")
            busy, *_ = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
        return not busy

    def drop_copies(self) -> None:
        """Remove the copies that migrations kept beside the file."""
        for copy in self._path.parent.glob(f"*{self._path.name}.schema-*"):
            with contextlib.suppress(FileNotFoundError), translate_errors():
                copy.unlink()

    def _vacuum_step(self) -> bool:
        before = self._free_pages()
        self._pragma(f"pragma incremental_vacuum({_PAGES_PER_STEP})")
        return self._free_pages() < before

    def _free_pages(self) -> int:
        row = self.row("pragma freelist_count")
        return int(row[0]) if row else 0

    def _pragma(self, statement: str) -> None:
        with _TranslatedErrors(self._path):
            self._connection.execute(statement).fetchall()

    def copy_to(self, path: Path) -> None:
        """Copy through a separate connection: a backup waits for ever for an open transaction of the same connection.
        On a disk that is not writable no other connection can be opened, and this one has no transaction."""
        path.touch(mode=0o600)
        own = contextlib.nullcontext(self._connection)
        with (
            _TranslatedErrors(self._path),
            own if self.is_read_only else contextlib.closing(sqlite3.connect(self._path)) as source,
            contextlib.closing(sqlite3.connect(path)) as target,
        ):
            source.backup(target)

    def close(self) -> None:
        with _TranslatedErrors(self._path):
            self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()


_BY_CODE: dict[int, type[errors.VaultError]] = {
    sqlite3.SQLITE_FULL: errors.VaultFull,
    sqlite3.SQLITE_BUSY: errors.VaultBusy,
    sqlite3.SQLITE_LOCKED: errors.VaultBusy,
    sqlite3.SQLITE_CORRUPT: errors.VaultDamaged,
    sqlite3.SQLITE_NOTADB: errors.VaultDamaged,
    sqlite3.SQLITE_ERROR: errors.VaultDamaged,
    sqlite3.SQLITE_CONSTRAINT: errors.DraftInvalid,
}


_FIXES: dict[object, str] = {errors.VaultDamaged: "lifeboat agents remove AGENT"}
"""Advice for a file that SQLite cannot read: there is no sequence to go back to, so the agent starts again and the file
is kept."""


_TOO_LITTLE = 64 << 10
"""Free bytes below which SQLite cannot open its log."""


def _is_full(folder: Path) -> bool:
    """Return whether an I/O error means a full disk. SQLite distinguishes them for its own file only."""
    try:
        return shutil.disk_usage(folder).free < _TOO_LITTLE
    except OSError:
        return False


def _for_its_owner(path: Path) -> None:
    """Create the file with private permissions, because SQLite would create it readable for everyone. If that fails,
    SQLite reports why.

    An existing database is never opened here: closing it would release every lock that this process has on it, and
    another process that believes to be the last could remove the log under active writers.
    """
    if path.exists():
        return
    with contextlib.suppress(OSError):
        descriptor, empty = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        os.close(descriptor)
        try:
            os.link(empty, path)
        finally:
            os.unlink(empty)


class _TranslatedErrors:
    """Context manager that converts SQLite's errors by the low byte of their code. A class, because it surrounds every
    statement."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error) and hasattr(error, "sqlite_errorcode"):
            make = _BY_CODE.get(error.sqlite_errorcode & 0xFF, errors.VaultUnusable)
            if make is errors.VaultUnusable and _is_full(self._path.parent):
                make = errors.VaultFull
            raise make(f"{self._path}: {error}", fix=_FIXES.get(make)) from error
        if isinstance(error, UnicodeDecodeError):  # SQLite quotes damaged content, which may not be text
            damaged = errors.VaultDamaged
            raise damaged(f"the database {self._path} contains invalid text", fix=_FIXES.get(damaged)) from error
