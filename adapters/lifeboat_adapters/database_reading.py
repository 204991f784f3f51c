"""Read a database that its runtime may be using: in one transaction, without writing. Only a database in the agent's
workspace is copied first.

Columns are read as they are found, because the schema changes with almost every release.
"""

from __future__ import annotations

import base64
import math
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lifeboat_adapters.database_copies import is_half_written, open_copy
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.guarded_files import Guarded, GuardedFile, can_hold, count_open_files, file_identity
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_alf.seams.held_folder import Identity, LinkInPath

Found = TypeVar("Found")

_LOG, _SHARED_MEMORY = "-wal", "-shm"

_IS_TABLE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
_LARGEST = 2**63 - 1
OPEN_SECONDS = 30.0
"""The time limit for opening a database in use, longer than the two seconds that SQLite waits for its lock."""
_OPENINGS = 20
"""How often a database is opened until no other thread opens a file at the same time."""


def read_database(
    path: Path,
    read: Callable[[sqlite3.Connection], Iterator[Found]],
    *,
    fix: str | None = None,
    workspace: Guarded = None,
) -> Iterator[Found]:
    """Yield what `read` reads from a database, all of it in one transaction.

    `fix` is the command that opens and closes the database properly. If the database lies below `workspace` (or the
    runtime's folder given with it), no link in its path is followed. Raises RuntimeDatabaseError.
    """
    try:
        held = GuardedFile(path, workspace)
        opened = open_copy if held.is_in_workspace and can_hold() else _opened
        with opened(held, fix) as connection:
            connection.text_factory = _text
            connection.execute("BEGIN")
            yield from read(connection)
    except LinkInPath as error:
        raise RuntimeDatabaseError(f"{path} contains a symbolic link, which Lifeboat does not follow") from error
    except (sqlite3.Error, OSError, UnicodeError) as error:
        raise RuntimeDatabaseError(f"{path}: {refusal_reason(error)}") from error


def problem_of_table(path: Path, table: str | None, workspace: Guarded = None) -> str:
    """Return why a database has no information about the rows of a table (None: of any table), "" when it has. Raises
    RuntimeDatabaseError when it cannot be read now."""
    if not path.is_file():
        return f"{path} does not exist"
    if path.stat().st_size == 0:
        return f"{path} is empty (0 bytes)"
    tables = lambda opened: iter([{str(name) for (name,) in opened.execute(_TABLES)}])  # noqa: E731
    (names,) = read_database(path, tables, workspace=workspace)
    if not names:
        return f"{path} is empty (no tables)"
    return "" if table is None or table in names else f"{path} has no table {table}"


@dataclass(frozen=True, slots=True)
class _DatabaseStamp:
    file: tuple[int, int, int]
    log: int | None


def _stamp(held: GuardedFile) -> _DatabaseStamp:
    """Return a value that changes when a database without a log is written."""
    found, log = held.status(), held.find(_LOG)
    return _DatabaseStamp((found.st_size, found.st_mtime_ns, found.st_ino), log.st_size or None if log else None)


@contextmanager
def _opened(held: GuardedFile, fix: str | None) -> Iterator[sqlite3.Connection]:
    """Open a database without leaving a trace: a closed one as immutable, one in use through the shared memory of its
    user. A log without shared memory is refused, because SQLite would create the shared memory in the runtime's folder.

    SQLite resolves the path once more. So nothing is read before the files that it opened are known to be those of the
    folder that is held open.
    """
    before = _stamp(held)
    in_use = before.log is not None
    if is_half_written(held):
        raise RuntimeDatabaseError(f"{held.place} is being written, or a write was interrupted", fix=fix)
    if in_use and held.find(_SHARED_MEMORY) is None:
        raise RuntimeDatabaseError(f"{held.place} was not closed properly by the program that wrote it", fix=fix)
    mode = "mode=ro" if in_use else "mode=ro&immutable=1"
    with closing(_connected(held, f"{held.place.as_uri()}?{mode}", in_use=in_use)) as connection:
        yield connection
    if not in_use and _stamp(held) != before:
        raise RuntimeDatabaseError(f"{held.place} changed while it was read")


def _connected(held: GuardedFile, uri: str, *, in_use: bool) -> sqlite3.Connection:
    """Return a connection that has opened the files of the folder that is held open.

    The system reports the open files of the process, not of a connection. When another thread opens a file at the same
    time, the database is opened again. Raises RuntimeDatabaseError, sqlite3.Error.
    """
    for _ in range(_OPENINGS):
        known = count_open_files()
        connection = _connect(held, uri)
        if known is None or _has_opened(held, known, in_use=in_use):
            return connection
        connection.close()
    raise RuntimeDatabaseError(f"{held.place} was replaced while it was opened")


def _connect(held: GuardedFile, uri: str) -> sqlite3.Connection:
    """Let SQLite open a database and its log in a separate thread. Only that thread blocks when one of the files was
    replaced by a FIFO since the check. Raises RuntimeDatabaseError, sqlite3.Error."""
    opening = Future[sqlite3.Connection]()

    def connect() -> None:
        try:
            made = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=2, check_same_thread=False)
            try:
                made.execute(
                    "SELECT 1 FROM sqlite_master LIMIT 1"
                ).fetchone()  # SQLite opens the log with the first read
            except BaseException:
                made.close()
                raise
        except Exception as error:
            opening.set_exception(error)
        else:
            opening.set_result(made)

    threading.Thread(target=connect, daemon=True, name="lifeboat-open-database").start()
    done, _ = wait([opening], timeout=OPEN_SECONDS)
    if not done:
        opening.add_done_callback(_close_late)
        raise RuntimeDatabaseError(f"{held.place} could not be opened within {OPEN_SECONDS:.0f} seconds")
    return opening.result()


def _close_late(opening: Future[sqlite3.Connection]) -> None:
    if opening.exception() is None:
        opening.result().close()


def _has_opened(held: GuardedFile, known: Counter[Identity], *, in_use: bool) -> bool:
    """Return whether the process has the database and its log open, and has opened no other file since `known`. SQLite
    may reuse the descriptor of a file that was open before."""
    now = count_open_files()
    if now is None:
        return True
    ends = ("", _LOG, _SHARED_MEMORY) if in_use else ("",)
    wanted = {file_identity(found) for end in ends if (found := held.find(end)) is not None}
    return len(wanted) == len(ends) and wanted <= now.keys() and (now - known).keys() <= wanted


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def columns_of(connection: sqlite3.Connection, table: str) -> tuple[list[str], list[str]]:
    """Return all columns of a table except computed ones, and the columns of its primary key in order. Both are empty
    when the table does not exist. A view does not count as a table: reading it may never end."""
    if connection.execute(_IS_TABLE, (table,)).fetchone() is None:
        return [], []
    found = list(connection.execute(f'PRAGMA table_info("{table}")'))
    keys = sorted((column for column in found if column[5]), key=lambda column: int(column[5]))
    return [column[1] for column in found], [column[1] for column in keys]


def row_key_text(values: tuple[Any, ...]) -> str:
    """Return the key that sorts and identifies a row in its table, from the values of its primary key."""
    return "\x1f".join(f"{value:020d}" if isinstance(value, int) else str(value) for value in values)


def as_json(value: Any) -> Any:
    """Return a value as JSON can hold it: bytes as base64, infinite and undefined numbers by name."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"real": str(value)}
    return value


def decode_column_value(value: Any) -> Any:
    """Invert `as_json`. Raises ValueError for a value that no database holds."""
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
    raise ValueError("the value must be a number, a text or bytes")
