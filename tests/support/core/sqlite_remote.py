"""A kind of remote that keeps everything in one SQLite database: sqlite:///absolute/path.db"""

from __future__ import annotations

import contextlib
import hashlib
import io
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from lifeboat_core.errors import BadSetting
from lifeboat_core.home.context import Context
from lifeboat_core.remotes.contract import RemoteConfig, RemoteKind
from lifeboat_core.remotes.sealed.log_files import HeadMoved, StoredFile
from lifeboat_core.remotes.sealed.sealed_log_setup import open_log
from lifeboat_vault.errors import RemoteRefused, RemoteUnreachable, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import Remote

TABLES = """
    CREATE TABLE remote (id TEXT NOT NULL);
    CREATE TABLE agent (id TEXT PRIMARY KEY, head BLOB);
    CREATE TABLE file (agent TEXT NOT NULL, name TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (agent, name));
"""


def tag_of(head: bytes) -> str:
    return hashlib.sha256(head).hexdigest()


class SqliteFiles:
    """`SealedFiles` in the database `path`. `remote_id` is the expected id, "" while it is added."""

    def __init__(self, path: Path, remote_id: str) -> None:
        self._path, self._remote_id = path, remote_id

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            if not self._path.parent.is_dir():
                raise RemoteUnreachable(f"there is no folder {self._path.parent}")
            # Only a new remote may be created. A missing database is unreachable, not empty.
            mode = "rw" if self._remote_id else "rwc"
            with contextlib.closing(sqlite3.connect(f"{self._path.as_uri()}?mode={mode}", uri=True)) as db, db:
                db.execute("PRAGMA synchronous = FULL")
                db.execute("BEGIN IMMEDIATE")
                self._check_identity(db)
                yield db
        except sqlite3.Error as error:
            raise RemoteUnreachable(f"{self._path}: {error}") from error

    def _check_identity(self, db: sqlite3.Connection) -> str:
        if not db.execute("SELECT 1 FROM sqlite_schema").fetchone():
            for statement in TABLES.split(";"):
                db.execute(statement)
            db.execute("INSERT INTO remote VALUES (?)", (str(uuid.uuid4()),))
        (found,) = db.execute("SELECT id FROM remote").fetchone()
        if self._remote_id and found != self._remote_id:
            raise RemoteUnreachable(f"{self._path} is another remote")
        return str(found)

    def identity(self) -> str:
        with self._transaction() as db:
            return self._check_identity(db)

    def agents(self) -> list[str]:
        with self._transaction() as db:
            return [agent_id for (agent_id,) in db.execute("SELECT id FROM agent ORDER BY id")]

    def add_agent(self, agent_id: str) -> None:
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO agent VALUES (?, NULL)", (agent_id,))

    def names(self, agent_id: str) -> list[StoredFile]:
        with self._transaction() as db:
            rows = db.execute("SELECT name, length(body) FROM file WHERE agent = ? ORDER BY name", (agent_id,))
            return [StoredFile(name, size) for name, size in rows]

    def put(self, agent_id: str, name: str, source: BinaryIO) -> None:
        with self._transaction() as db:
            body = source.read()
            if not db.execute("INSERT OR IGNORE INTO file VALUES (?, ?, ?)", (agent_id, name, body)).rowcount:
                raise RemoteRefused(f"{name} is there already")

    def read(self, agent_id: str, name: str) -> BinaryIO:
        with self._transaction() as db:
            row = db.execute("SELECT body FROM file WHERE agent = ? AND name = ?", (agent_id, name)).fetchone()
        if row is None:
            raise UnknownAtRemote(f"there is no {name}")
        return io.BytesIO(row[0])

    def remove(self, agent_id: str, name: str) -> None:
        with self._transaction() as db:
            db.execute("DELETE FROM file WHERE agent = ? AND name = ?", (agent_id, name))

    def remove_unfinished(self, agent_id: str, is_wanted: Callable[[str], bool]) -> None:
        """Do nothing: a transaction leaves no half-written file."""

    def head(self, agent_id: str) -> tuple[bytes, str] | None:
        with self._transaction() as db:
            row = db.execute("SELECT head FROM agent WHERE id = ? AND head IS NOT NULL", (agent_id,)).fetchone()
        return None if row is None else (row[0], tag_of(row[0]))

    def set_head(self, agent_id: str, data: bytes, expected: str | None) -> str:
        with self._transaction() as db:
            row = db.execute("SELECT head FROM agent WHERE id = ?", (agent_id,)).fetchone()
            found = None if row is None or row[0] is None else tag_of(row[0])
            if found != expected:
                raise HeadMoved("another machine wrote to the remote at the same time")
            db.execute("INSERT OR REPLACE INTO agent VALUES (?, ?)", (agent_id, data))
        return tag_of(data)

    def close(self) -> None:
        """Nothing is held open."""


class SqliteKind(RemoteKind):
    """One SQLite database on a disk of this machine."""

    name = "sqlite"
    is_sealed_by_default = True

    def check_url(self, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme != "sqlite" or parts.netloc or parts.query or not parts.path.startswith("/"):
            raise BadSetting("the address of a database is sqlite:///absolute/path.db")
        return url

    def open(self, context: Context, config: RemoteConfig, token: str | None) -> Remote:
        path = Path(unquote(urlsplit(self.check_url(config.url)).path))
        files = SqliteFiles(path, config.id)
        return open_log(context, files, kind=self.name, sealed=config.sealed, name=config.name)

    def readable_by(self, config: RemoteConfig) -> str:
        return f"A reader of the database sees {'sizes and times' if config.sealed else 'memories'}."

    def needs_network(self, url: str) -> bool:
        return False


REMOTE_KIND = SqliteKind()
