"""Capture SQLite databases of the agent itself as files, each in one committed state.

A database at rest is read byte for byte. One in use has committed pages in its write-ahead log, or pages of an open
transaction in its own file: it is copied together with its log, and SQLite applies the log to the copy. Nothing in the
workspace is written, and no log is opened for writing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from lifeboat_adapters import database_checks
from lifeboat_adapters.stable_reads.file_reading import (
    TICKS_NS,
    TRIES,
    FileContent,
    OverLimit,
    StatKey,
    Unstable,
    read_file,
    stat_key_of,
)
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_alf.seams.file_operations import FileOperations, FolderEntry, NotRegular, StrPath

HEADER = b"SQLite format 3\0"
WAL, JOURNAL = "-wal", "-journal"
SIDE_FILES = (WAL, "-shm", JOURNAL)
"""Endings of the files that SQLite keeps beside a database."""
PAGE = 512
"""The smallest page size. The length of every database is a multiple of its page size."""
LOCK_SECONDS = 0.2
_PAUSE_SECONDS = 0.01
_PENDING_BYTE = 0x40000000
_SHARED_FIRST, _SHARED_SIZE = _PENDING_BYTE + 2, 510
SETTLED_NS = 5_000_000_000
_WAL_HEADER = 32
_WAL_MAGIC = bytes.fromhex("377f06")
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_JOURNAL_HEADER = 28
_SUPER_SIZE = 20
"""Bytes after the last page of a journal that names a super-journal: a page number, the name, its length, a checksum
and the magic number of journals."""
_COUNTERS = ((24, 28), (92, 100))
"""Where the header counts changes and names the SQLite version that made the last one ("Database File Format", 1.3)."""


class LogMark(NamedTuple):
    """What distinguishes one generation of a log from the next: the ending of its name, and random numbers that SQLite
    draws when it restarts the log."""

    end: str
    numbers: bytes


def may_be_database(size: int, *, has_log: bool) -> bool:
    """Return whether the first bytes of a file of this size are worth reading."""
    return has_log or (size > 0 and size % PAGE == 0)


def is_database(files: FileOperations, path: StrPath) -> bool:
    """Return whether a file starts as an SQLite database does, or will once its first transaction is committed. Return
    False for a missing file. Raises OSError."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, NotRegular):
        return _first_bytes(files, path, len(HEADER)) == HEADER or _is_begun(files, path)
    return False


def _is_begun(files: FileOperations, path: StrPath) -> bool:
    """Return whether a file has pages of a first transaction that is still open: SQLite writes the first page last.
    Raises OSError."""
    journal = _mark(files, path, JOURNAL)
    return journal is not None and journal.numbers[4:8] == bytes(4)  # the database had no page before the transaction


def has_log(files: FileOperations, path: StrPath) -> bool:
    """Return whether SQLite would read a log into a database at this path. Raises OSError."""
    log = _mark(files, path, WAL)
    return (log is not None and log.numbers.startswith(_WAL_MAGIC)) or _mark(files, path, JOURNAL) is not None


class SideFile(NamedTuple):
    """A file that SQLite keeps beside a database. `problem` says why this is not certain: the database cannot
    be read."""

    entry: FolderEntry
    problem: str


def find_side_files(files: FileOperations, entries: Iterable[FolderEntry]) -> dict[str, SideFile]:
    """Return the entries of one folder, by name, that SQLite keeps beside an existing database."""
    named = {entry.name: entry for entry in entries if entry.name.endswith(SIDE_FILES)}
    if not named:
        return {}
    named = {name: entry for name, entry in named.items() if entry.is_file(follow_symlinks=False)}
    paths = {entry.name: entry.path for entry in entries if entry.is_file(follow_symlinks=False)}
    problems: dict[str, str] = {}
    for name in {name.rpartition("-")[0] for name in named} & paths.keys():
        try:
            if is_database(files, paths[name]):
                problems[name] = ""
        except OSError as error:
            problems[name] = refusal_reason(error)
    above = {name: name.rpartition("-")[0] for name in named}
    return {name: SideFile(named[name], problems[above[name]]) for name in named if above[name] in problems}


def add_log_stat(key: StatKey, log: os.stat_result | None) -> StatKey:
    """Return the stat of a database including its write-ahead log, because a commit may change the log alone."""
    if log is None:
        return key
    newest = max(key.mtime_ns, log.st_mtime_ns), max(key.ctime_ns, log.st_ctime_ns)
    return StatKey(key.size + log.st_size, *newest, key.inode, key.mode)


def differs_in_counters_only(old: bytes, new: bytes) -> bool:
    """Return whether two databases are equal except for the counters in their headers."""
    if len(old) != len(new) or old == new or not (old.startswith(HEADER) and new.startswith(HEADER)):
        return False
    return _without_counters(old) == _without_counters(new) and old[100:] == new[100:]


def _without_counters(data: bytes) -> bytes:
    head = bytearray(data[:100])
    for start, end in _COUNTERS:
        head[start:end] = bytes(end - start)
    return bytes(head)


_MODE = slice(18, 20)
"""Where the header says that there is a write-ahead log, which a database in memory cannot have."""
_NO_LOG = b"\1\1"


def find_damage(path: Path) -> str | None:
    """Return what SQLite's `quick_check` finds wrong with a database that no program uses; None when it is sound.
    Creates no file beside it. Raises OSError for a file that cannot be read."""
    with path.open("rb"):
        pass  # gives a better error than SQLite's "unable to open database file"
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        with contextlib.closing(connection):
            return database_checks.find_damage(connection, path.stat().st_size)
    except (sqlite3.Error, UnicodeError) as error:
        return str(error)


def find_damage_in(data: bytes) -> str | None:
    """Return what SQLite's `quick_check` finds wrong with the bytes of a database; None when they are sound."""
    body = bytearray(data)
    body[_MODE] = _NO_LOG
    try:
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(bytes(body))
            return database_checks.find_damage(connection, len(body))
    except (sqlite3.Error, UnicodeError) as error:
        return str(error)


# Reading ------------------------------------------------------------------------------------------------------------


def read_database(files: FileOperations, path: StrPath, limit: int, scratch: Path) -> FileContent:
    """Return one committed state of a database, at most `limit` bytes, with the stat of the database and its log.

    `scratch` is a private folder for the copy, created if needed and emptied afterwards. Raises OverLimit, Unstable,
    OSError; also for a database that SQLite cannot bring into a committed state.
    """
    for _ in range(TRIES):
        content = _read_once(files, path, limit, scratch)
        if content is not None:
            # A write in the same clock tick would not change the stat, so the next capture reads the file again.
            fresh = abs(time.time_ns() - content.key.mtime_ns) < TICKS_NS
            return content._replace(key=content.key._replace(ctime_ns=0)) if fresh else content
    raise Unstable(os.fspath(path))


def _read_once(files: FileOperations, path: StrPath, limit: int, scratch: Path) -> FileContent | None:
    """Read a database; return None when it changed its mode meanwhile."""
    log = _mark(files, path, WAL)
    if log is not None:
        return _copy(files, path, limit, scratch, log)
    if _is_in_wal_mode(files, path):
        # Only a checkpoint writes into the file, and there is no checkpoint without a log.
        content = read_file(files, path, limit)
        return None if _mark(files, path, WAL) is not None else _with_stat_of_log(files, path, content)
    if (journal := _mark(files, path, JOURNAL)) is not None:
        return _copy(files, path, limit, scratch, journal)
    locked = _read_locked(files, path, limit)
    if locked is None:
        return _read_unlocked(files, path, limit, scratch)
    # A program that was killed in a transaction leaves a journal, but no lock.
    return None if _mark(files, path, JOURNAL) is not None else _with_stat_of_log(files, path, locked)


def _read_unlocked(files: FileOperations, path: StrPath, limit: int, scratch: Path) -> FileContent | None:
    """Read a database that could not be locked: it is being written, its program holds its lock permanently, or the
    file system has no locks. A file that was not written for a while and has no journal is between two transactions."""
    content = read_file(files, path, limit)
    if _mark(files, path, JOURNAL) is not None:
        return None
    if abs(time.time_ns() - content.key.mtime_ns) < SETTLED_NS or _is_damaged(files, content.data, scratch):
        raise Unstable(os.fspath(path))
    return content


def _is_damaged(files: FileOperations, data: bytes, scratch: Path) -> bool:
    """Return whether the bytes mix several states, as a transaction without a journal can leave them."""
    copy = scratch / "database"
    files.make_folders(scratch, 0o700)
    try:
        files.write_new(copy, data, mode=0o600, sync=False)
        return find_damage(copy) is not None
    finally:
        _remove_copy(files, copy)


def _remove_copy(files: FileOperations, copy: Path) -> None:
    for end in ("", *SIDE_FILES):
        with contextlib.suppress(FileNotFoundError):
            files.remove(copy.with_name(f"{copy.name}{end}"))


def _read_locked(files: FileOperations, path: StrPath, limit: int) -> FileContent | None:
    """Return the bytes of a database under SQLite's read lock, which excludes writers; None when it is not available.

    The lock is taken on the descriptor that is read. SQLite would look the path up again, and follow a link that
    replaced a folder. Raises OverLimit, OSError.
    """
    descriptor = files.open_regular(path)
    with os.fdopen(descriptor, "rb") as stream:  # closing the file releases the lock
        if not _lock_for_reading(descriptor):
            return None
        found = os.fstat(descriptor)
        if found.st_size > limit:
            raise OverLimit(os.fspath(path))
        return FileContent(stream.read(found.st_size), stat_key_of(found))


def _lock_for_reading(descriptor: int) -> bool:
    """Take SQLite's SHARED lock ("File Locking And Concurrency In SQLite Version 3", os_unix.c)."""
    try:
        import fcntl
    except ImportError:
        return False
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, _PENDING_BYTE)
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST)
            finally:
                fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, _PENDING_BYTE)
        except OSError:
            if time.monotonic() >= until:
                return False
            time.sleep(_PAUSE_SECONDS)
        else:
            return True


def _copy(files: FileOperations, path: StrPath, limit: int, scratch: Path, log: LogMark) -> FileContent | None:
    """Copy a database with its log and let SQLite apply the log; return None when the log was restarted meanwhile.

    The order makes the copy consistent without a lock: first the database, then its log. The log has everything that
    was written into the database since the log was started (new pages of a checkpoint, former pages of a transaction).
    """
    copy = scratch / "database"
    files.make_folders(scratch, 0o700)
    try:
        key = _stat_with_log(files, path)
        files.write_new(copy, _bytes_of(files, path, limit), mode=0o600, sync=False)
        log_bytes = _bytes_of(files, f"{os.fspath(path)}{log.end}", limit)
        if log.end == JOURNAL:
            log_bytes = _without_super_journal(files, log_bytes)
        files.write_new(copy.with_name(f"{copy.name}{log.end}"), log_bytes, mode=0o600, sync=False)
        _work_in_log(copy)
        if _mark(files, path, log.end) != log:
            return None
        return FileContent(read_file(files, copy, limit).data, key)
    except sqlite3.Error as error:
        if _mark(files, path, log.end) != log:
            return None
        raise OSError(errno.EIO, f"SQLite cannot read the database: {error}", os.fspath(path)) from error
    finally:
        _remove_copy(files, copy)


def _without_super_journal(files: FileOperations, journal: bytes) -> bytes:
    """Return a journal without the name of its super-journal, whose removal commits a transaction of several databases;
    nothing when that file is gone. SQLite would read and remove that file at any path that the journal names."""
    names = []
    while journal.endswith(_JOURNAL_MAGIC) and len(journal) >= _SUPER_SIZE:
        size = int.from_bytes(journal[-16:-12], "big")
        end = max(len(journal) - 16 - size, 0)
        names.append(journal[end : len(journal) - 16])
        journal = journal[: max(end - 4, 0)]
    path = os.fsdecode(names[0]) if names else ""
    if os.path.isabs(path) and "\0" not in path:
        try:
            files.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return b""
    return journal


def _bytes_of(files: FileOperations, path: StrPath, limit: int) -> bytes:
    with os.fdopen(files.open_regular(path), "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > limit:
            raise OverLimit(os.fspath(path))
        return stream.read(size)


def _work_in_log(copy: Path) -> None:
    """Let SQLite apply the log of a copy. Raises sqlite3.Error."""
    with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("pragma synchronous=off")
        connection.execute("select 1 from sqlite_master limit 1").fetchone()  # rolls a broken transaction back
        connection.execute("pragma wal_checkpoint(truncate)")


def _mark(files: FileOperations, path: StrPath, end: str) -> LogMark | None:
    """Return the generation of a log; None when there is no log or it is empty."""
    size = _WAL_HEADER if end == WAL else _JOURNAL_HEADER
    try:
        head = _first_bytes(files, f"{os.fspath(path)}{end}", size)
    except (FileNotFoundError, NotADirectoryError, NotRegular):
        return None
    except OSError as error:
        # a link or a name that is too long: SQLite creates no such log
        if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
            return None
        raise
    if end == WAL:
        return LogMark(end, head) if len(head) == size else None
    # The number of records (bytes 8 to 12) changes while a journal is written.
    return LogMark(end, head[12:size]) if head.startswith(_JOURNAL_MAGIC) else None


def _is_in_wal_mode(files: FileOperations, path: StrPath) -> bool:
    return _first_bytes(files, path, 20)[18:] == b"\2\2"


def _first_bytes(files: FileOperations, path: StrPath, count: int) -> bytes:
    with os.fdopen(files.open_regular(path), "rb", buffering=0) as stream:
        return stream.read(count)


def _with_stat_of_log(files: FileOperations, path: StrPath, content: FileContent) -> FileContent:
    return content._replace(key=add_log_stat(content.key, _stat_of_log(files, path)))


def _stat_with_log(files: FileOperations, path: StrPath) -> StatKey:
    return add_log_stat(stat_key_of(files.lstat(path)), _stat_of_log(files, path))


def _stat_of_log(files: FileOperations, path: StrPath) -> os.stat_result | None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return files.lstat(f"{os.fspath(path)}{WAL}")
    return None
