"""`state/<id>.db`: the stat cache, the search index, and look-ups that follow from the vault.

Nothing in it is a decision: it is deleted when it is missing, damaged, older or of another vault, and filled again from
the vault.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lifeboat_adapters.stable_reads.file_reading import StatKey
from lifeboat_core.capture.scan_cache import KnownFile
from lifeboat_vault.store.readable_copy import open_readable

VERSION = 9
_LARGEST = 2**63 - 1
_NOT_ITS_FAULT = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_CANNOT_WRITE = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
}
_TABLES = """
create table fact(key text primary key, value text not null) without rowid;
create table seen(native blob primary key, path text not null, size not null, mtime_ns not null, ctime_ns not null,
    inode not null, mode integer not null, racy integer not null) without rowid;
create table large(path text primary key, size integer not null, captured_at text not null) without rowid;
create table artifact(path text primary key, name text not null) without rowid;
create index artifact_name on artifact(name);
create table listed(id text not null, path text not null, primary key (id, path)) without rowid;
create index listed_path on listed(path);
create table vector(id text not null, path text not null, primary key (id, path)) without rowid;
create index vector_path on vector(path);
create table successor(id text primary key, supersedes text not null, place integer not null) without rowid;
create index successor_of on successor(supersedes, place);
create index successor_place on successor(place);
create table memory(number integer primary key, id text not null unique, content text not null, origin text not null,
    type text not null, namespace text not null, tags text not null, identity_version integer,
    created_at text not null, observed_at text, pinned integer not null);
create index memory_origin on memory(origin);
create table put_away(id text primary key, content text not null, origin text not null, type text not null,
    namespace text not null, tags text not null, identity_version integer, created_at text not null, observed_at text,
    pinned integer not null, status text not null) without rowid;
create virtual table words using fts5(content, origin, type, content='memory', content_rowid='number',
    tokenize="unicode61 remove_diacritics 2");
"""
_TRIGGERS = (
    """create trigger memory_added after insert on memory when exists (select 1 from fact where key = 'words') begin
        insert into words(rowid, content, origin, type) values (new.number, new.content, new.origin, new.type);
    end""",
    """create trigger memory_gone after delete on memory when exists (select 1 from fact where key = 'words') begin
        insert into words(words, rowid, content, origin, type)
            values ('delete', old.number, old.content, old.origin, old.type);
    end""",
)
_SHADOW = (
    "create table shadow(row not null unique, record text not null, kind integer not null, key, whole integer not null,"
    " vector integer, marked integer not null{columns})",
    "create index shadow_record on shadow(record)",
    "create index shadow_key on shadow(key)",
    # Both are small indexes: scanning all rows for a few would cost as much as comparing them.
    "create index shadow_not_held on shadow(kind, record) where kind <> 0",
    "create index shadow_unmarked on shadow(record) where not marked",
)
FOUND_BY_CAPTURE = ("last_capture", "lookalikes")
"""Facts about what the last capture found."""
SHADOW = "shadow"
"""The fact that says of which store and columns the table `shadow` is, and how far it is valid."""
WORDS = "words"
"""The fact that the full text was filled; from then on it follows `memory` by itself."""


class StateDb:
    """One agent's caches. Opened for one piece of work and closed again."""

    def __init__(self, connection: sqlite3.Connection, path: Path, *, is_lasting: bool = True) -> None:
        self.connection = connection
        self.path = path
        self.is_lasting = is_lasting

    @classmethod
    def open(cls, path: Path, vault_id: str) -> StateDb:
        """Open the caches, or make unusable ones again; in memory where nothing can be written (`is_lasting`).

        Raises sqlite3.Error when the file is in use: then nothing is wrong with it.
        """
        try:
            return cls._connect_again(path, vault_id)
        except OSError:
            return cls._in_memory(path, vault_id)
        except sqlite3.Error as error:
            if not is_write_refusal(error):
                raise
            return cls._in_memory(path, vault_id)

    @classmethod
    def _connect_again(cls, path: Path, vault_id: str) -> StateDb:
        try:
            return cls._connect(path, vault_id)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NOT_ITS_FAULT or is_write_refusal(error):
                raise
            delete_cache(path)
            return cls._connect(path, vault_id)

    @classmethod
    def _in_memory(cls, path: Path, vault_id: str) -> StateDb:
        """Open caches in memory: what follows from the vault can be looked up, a capture reads everything, and nothing
        is kept. What the last capture found stays known if the file can be read."""
        state = cls(sqlite3.connect(":memory:", isolation_level=None), path, is_lasting=False)
        state._create(vault_id)
        for key, value in _found_before(path, vault_id):
            state.put(key, value)
        return state

    @classmethod
    def _connect(cls, path: Path, vault_id: str) -> StateDb:
        fresh = not path.exists()
        if fresh:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("pragma journal_mode=wal")
            connection.execute("pragma synchronous=normal")
            state = cls(connection, path)
            if connection.execute("pragma user_version").fetchone()[0] == 0:
                state._create(vault_id)
            if not state._fits(vault_id):
                raise sqlite3.DatabaseError("the cache belongs to another version or another vault")
        except BaseException:
            connection.close()
            raise
        return state

    def _create(self, vault_id: str) -> None:
        """Create everything in one transaction: another process may open the same new file."""
        with self.transaction():
            if self.connection.execute("pragma user_version").fetchone()[0] == 0:
                for statement in (*_TABLES.split(";")[:-1], *_TRIGGERS):
                    self.connection.execute(statement)
                self.make_shadow([])
                self.put("vault", vault_id)
                self.connection.execute(f"pragma user_version={VERSION}")

    def _fits(self, vault_id: str) -> bool:
        version = self.connection.execute("pragma user_version").fetchone()[0]
        return bool(version == VERSION and self.get("vault") == vault_id)

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> StateDb:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit everything or nothing."""
        self.connection.execute("begin immediate")
        try:
            yield
            self.connection.execute("commit")
        except BaseException:
            # On a full disk SQLite has rolled back by itself, and a second rollback would hide the cause.
            if self.connection.in_transaction:
                self.connection.execute("rollback")
            raise

    def get(self, key: str) -> Any:
        """Return a small fact, None if it is unknown."""
        row = self.connection.execute("select value from fact where key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def put(self, key: str, value: Any) -> None:
        # Python's own JSON writes native names that are no UTF-8 so that they come back.
        text = json.dumps(value, separators=(",", ":"))
        self.connection.execute("insert or replace into fact values (?, ?)", (key, text))

    def seen(self) -> dict[str, KnownFile]:
        """Return what the last capture saw, by native name."""
        rows = self.connection.execute("select native, path, size, mtime_ns, ctime_ns, inode, mode, racy from seen")
        return {
            os.fsdecode(native): KnownFile(
                path, StatKey(int(size), int(mtime), int(ctime), int(inode), int(mode)), bool(racy)
            )
            for native, path, size, mtime, ctime, inode, mode, racy in rows
        }

    def put_seen(self, changed: dict[str, KnownFile], removed: Iterable[str]) -> None:
        self.connection.executemany("delete from seen where native = ?", ((os.fsencode(name),) for name in removed))
        self.connection.executemany(
            "insert or replace into seen values (?, ?, ?, ?, ?, ?, ?, ?)",
            ((os.fsencode(name), one.path, *map(_held, one.key), one.racy) for name, one in changed.items()),
        )

    def forget_seen(self) -> None:
        """Make the next capture read every file again."""
        self.connection.execute("delete from seen")

    def large(self) -> dict[str, tuple[int, str]]:
        """Return large artifacts by archive path: size and time of the last capture."""
        rows = self.connection.execute("select path, size, captured_at from large")
        return {path: (size, moment) for path, size, moment in rows}

    def put_large(self, path: str, size: int, captured_at: str) -> None:
        self.connection.execute("insert or replace into large values (?, ?, ?)", (path, size, captured_at))

    def drop_large(self, path: str) -> None:
        self.connection.execute("delete from large where path = ?", (path,))

    def fill_words(self) -> None:
        """Fill the full text at the first search: no capture waits for that."""
        if not self.get(WORDS):
            with self.transaction():
                self.connection.execute("insert into words(words) values ('rebuild')")
                self.put(WORDS, True)

    def empty_words(self) -> None:
        """Empty the full text before `memory` is filled in bulk."""
        self.connection.execute("delete from fact where key = ?", (WORDS,))
        self.connection.execute("insert into words(words) values ('delete-all')")

    def give_back(self) -> None:
        """Rewrite the file without what was deleted, its log too."""
        self.connection.execute("vacuum")
        self.connection.execute("pragma wal_checkpoint(truncate)")

    def make_shadow(self, columns: list[str]) -> None:
        """Make an empty table of rows (see `capture.row_shadow`) with these columns in addition to its own."""
        self.connection.execute("drop table if exists shadow")
        names = "".join(f", {name}" for name in columns)
        for statement in _SHADOW:
            self.connection.execute(statement.format(columns=names))

    def forget_shadow(self) -> None:
        """Forget the rows; the next capture compares them with the head."""
        self.make_shadow([])
        self.connection.execute("delete from fact where key = ?", (SHADOW,))

    def artifacts_named(self, name: str) -> list[str]:
        """Return the archive paths of the artifacts with a file name (folded)."""
        rows = self.connection.execute("select path from artifact where name = ? order by path", (name.casefold(),))
        return [row[0] for row in rows]

    def is_listed(self, record_id: str, prefix: str) -> bool:
        """Return whether a file of the head below `prefix` lists a record among its memories, or a row contains it.
        What files of another runtime list says where the memory stood there."""
        row = self.connection.execute(
            "select exists(select 1 from listed where id = ?1 and substr(path, 1, length(?2)) = ?2)"
            " or exists(select 1 from shadow where record = ?1 and kind = 0)",
            (record_id, prefix),
        ).fetchone()
        return bool(row[0])

    def unlisted_of(self, origin: str | None, prefix: str) -> list[tuple[str, str]]:
        """Yield memories that came from a file of this name (None: any) and are in no row and in no list of a file
        below `prefix`: id and text."""
        rows = self.connection.execute(
            "select id, content from memory where (origin = ?1 or ?1 is null)"
            " and not exists(select 1 from listed where id = memory.id and substr(path, 1, length(?2)) = ?2)"
            " and not exists(select 1 from shadow where record = memory.id and kind = 0) order by number",
            (origin, prefix),
        )
        return list(rows)

    def listed(self, prefix: str) -> set[str]:
        """Return the records that files of the head below `prefix` list."""
        rows = self.connection.execute("select id from listed where substr(path, 1, length(?1)) = ?1", (prefix,))
        return {row[0] for row in rows}

    def vectors_of(self, record_id: str) -> list[str]:
        """Return the indexes that list a vector of a record in the head."""
        rows = self.connection.execute("select path from vector where id = ? order by path", (record_id,))
        return [path for (path,) in rows]

    def winner(self, record_id: str) -> str:
        """Return the id of the current record of a chain that goes through `record_id` (forwards)."""
        known = {record_id}
        while True:
            row = self.connection.execute(
                "select id from successor where supersedes = ? order by place desc limit 1", (record_id,)
            ).fetchone()
            if row is None or row[0] in known:
                return record_id
            record_id = row[0]
            known.add(record_id)

    def successor_of(self, record_id: str) -> str | None:
        """Return the direct successor of a record in its chain, the last one if there are several."""
        row = self.connection.execute(
            "select id from successor where supersedes = ? order by place desc limit 1", (record_id,)
        ).fetchone()
        return None if row is None else str(row[0])

    def chain_of(self, record_id: str) -> list[str]:
        """Return all records that supersede each other directly or indirectly, as they were appended."""
        found, new = {record_id: 0}, [record_id]
        while new:
            one = new.pop()
            rows = self.connection.execute(
                "select id, supersedes, place from successor where id = ?1 or supersedes = ?1", (one,)
            ).fetchall()
            for successor, superseded, place in rows:
                new += [each for each in (successor, superseded) if each not in found]
                found.setdefault(superseded, 0)
                found[successor] = place
        return sorted(found, key=lambda each: found[each])


def is_write_refusal(error: OSError | sqlite3.Error) -> bool:
    """Return whether a cache only cannot be written now: a full disk, a lost folder."""
    return isinstance(error, OSError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in _CANNOT_WRITE


def _found_before(path: Path, vault_id: str) -> list[tuple[str, Any]]:
    """Return the facts of a read-only file about what the last capture found; nothing if it cannot be read, or is of
    another vault."""
    try:
        readable = open_readable(path)
    except (sqlite3.Error, OSError):
        return []
    try:
        before = StateDb(readable.connection, path, is_lasting=False)
        return [(key, before.get(key)) for key in FOUND_BY_CAPTURE] if before._fits(vault_id) else []
    except (sqlite3.Error, ValueError):  # a damaged file; errors of msgspec are ValueErrors
        return []
    finally:
        readable.connection.close()
        if readable.folder is not None:
            readable.folder.cleanup()


def _held(number: int) -> int | str:
    """Return a number of a stat as a column can hold it: a time after 2262, or an inode of 64 bits, is no SQLite
    integer."""
    return number if -_LARGEST <= number <= _LARGEST else str(number)


def delete_cache(path: Path) -> None:
    """Remove a cache with everything beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def is_folder(known: KnownFile) -> bool:
    return stat.S_ISDIR(known.key.mode)
