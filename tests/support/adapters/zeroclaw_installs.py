"""Invented ZeroClaw installations of every generation, with databases that their own triggers index.

`make_install` writes one and returns an object to inspect it. Every call writes the same contents, and every secret is
an obvious fake.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GENERATIONS = ("0.1.0", "0.1.1", "0.1.5", "0.5.9", "0.8.0", "0.8.3")
"""Releases that changed the shape of the memory table: bare, with vectors and full text, with sessions, with
namespaces, with agents, with kinds."""
EARLY_GENERATIONS = GENERATIONS[:4]

_FTS = """
CREATE VIRTUAL TABLE memories_fts USING fts5(key, content, content=memories, content_rowid=rowid);
CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN
  INSERT INTO memories_fts(rowid, key, content) VALUES (new.rowid, new.key, new.content); END;
CREATE TRIGGER memories_ad AFTER DELETE ON memories BEGIN
  INSERT INTO memories_fts(memories_fts, rowid, key, content) VALUES ('delete', old.rowid, old.key, old.content); END;
CREATE TRIGGER memories_au AFTER UPDATE ON memories BEGIN
  INSERT INTO memories_fts(memories_fts, rowid, key, content) VALUES ('delete', old.rowid, old.key, old.content);
  INSERT INTO memories_fts(rowid, key, content) VALUES (new.rowid, new.key, new.content); END;
CREATE TABLE embedding_cache (content_hash TEXT PRIMARY KEY, embedding BLOB NOT NULL, created_at TEXT NOT NULL,
  accessed_at TEXT NOT NULL);
"""
_BARE = """
CREATE TABLE memories (id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL,
  category TEXT NOT NULL DEFAULT 'core', {vector} created_at TEXT NOT NULL, updated_at TEXT NOT NULL);
CREATE INDEX idx_memories_category ON memories(category);
CREATE INDEX idx_memories_key ON memories(key);
"""
_WITH_AGENTS = """
CREATE TABLE agents (id TEXT PRIMARY KEY, alias TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL);
CREATE TABLE memories (id TEXT PRIMARY KEY, key TEXT NOT NULL, content TEXT NOT NULL,
  category TEXT NOT NULL DEFAULT 'core', embedding BLOB, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  session_id TEXT, namespace TEXT DEFAULT 'default', importance REAL DEFAULT 0.5, superseded_by TEXT,
  agent_id TEXT NOT NULL REFERENCES agents(id), UNIQUE (agent_id, key));
CREATE INDEX idx_memories_agent_id ON memories(agent_id);
CREATE TABLE schema_version (component TEXT PRIMARY KEY, version INTEGER NOT NULL, applied_at TEXT NOT NULL);
INSERT INTO schema_version VALUES ('memories', 1, '2026-05-20T08:00:00+00:00');
"""
_KINDS = """
ALTER TABLE memories ADD COLUMN kind TEXT;
ALTER TABLE memories ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN tenant_id TEXT;
CREATE TABLE memory_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
_PRINCIPALS = """
ALTER TABLE memories ADD COLUMN principal_id TEXT;
CREATE INDEX idx_memories_principal ON memories(principal_id);
"""
_SESSION = "ALTER TABLE memories ADD COLUMN session_id TEXT;"
_NAMESPACE = """
ALTER TABLE memories ADD COLUMN namespace TEXT DEFAULT 'default';
ALTER TABLE memories ADD COLUMN importance REAL DEFAULT 0.5;
ALTER TABLE memories ADD COLUMN superseded_by TEXT;
"""
_WITH_VECTORS = _BARE.format(vector="embedding BLOB,") + _FTS

BRAIN_DDL = {
    "0.1.0": _BARE.format(vector=""),
    "0.1.1": _WITH_VECTORS,
    "0.1.5": _WITH_VECTORS + _SESSION,
    "0.5.9": _WITH_VECTORS + _SESSION + _NAMESPACE,
    "0.8.0": _WITH_AGENTS + _FTS,
    "0.8.3": _WITH_AGENTS + _FTS + _KINDS,
    "0.8.7": _WITH_AGENTS + _FTS + _KINDS + _PRINCIPALS,
}

CREATED = "2026-08-22T10:11:12.123456789+02:00"
UPDATED = "2026-08-23T09:00:00.000000001+02:00"
_CONFIG_VERSION = {"0.1.0": None, "0.1.1": None, "0.1.5": None, "0.5.9": 2, "0.8.0": 3, "0.8.3": 3, "0.8.7": 3}


def stable(*parts: object) -> str:
    """Return the same UUID for the same parts."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(map(str, parts))))


def packed(*numbers: float) -> bytes:
    """Return a vector as ZeroClaw stores it."""
    return struct.pack(f"<{len(numbers)}f", *numbers)


@dataclass
class Install:
    """One installation. `home` holds config.toml. Its memory database stays in WAL mode, closed."""

    home: Path
    generation: str
    agents: tuple[str, ...] = ("default",)
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def is_early(self) -> bool:
        return self.generation in EARLY_GENERATIONS

    def workspace(self, alias: str = "default") -> Path:
        return self.home / "workspace" if self.is_early else self.home / "agents" / alias / "workspace"

    @property
    def data(self) -> Path:
        return self.workspace() if self.is_early else self.home / "data"

    @property
    def database(self) -> Path:
        return self.data / "memory" / "brain.db"

    @property
    def environment(self) -> dict[str, str]:
        return {"ZEROCLAW_CONFIG_DIR": str(self.home)}

    def connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.database)
        connection.row_factory = sqlite3.Row
        return connection

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Make a change that a capture can see.

        Captures use a clock of the test, which may be after the time of the file. Then no file counts as too young, and
        two changes within one tick of the kernel would look alike.
        """
        before = self.database.stat().st_mtime_ns
        with closing(self.connect()) as connection, connection:
            yield connection
        found = self.database.stat()
        if found.st_mtime_ns <= before:
            os.utime(self.database, ns=(found.st_atime_ns, before + 1))

    def execute(self, statement: str, *parameters: Any) -> None:
        """Commit one change as the runtime does, so that its triggers run."""
        with self._changing() as connection:
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute(statement, parameters)

    def remember(self, key: str, content: str, alias: str = "default", **columns: Any) -> str:
        """Add a memory and return its id. Columns that this generation lacks are left out."""
        with self._changing() as connection:
            known = [row[1] for row in connection.execute("PRAGMA table_info(memories)")]
            row = {"id": stable(alias, key), "key": key, "content": content, "category": "core", "created_at": CREATED}
            row |= {"updated_at": UPDATED} | columns
            if "agent_id" in known:
                found = connection.execute("SELECT id FROM agents WHERE alias = ?", (alias,)).fetchone()
                row["agent_id"] = found[0]
            row = {name: value for name, value in row.items() if name in known}
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO memories ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
            return str(row["id"])

    def rows(self, table: str = "memories", order: str = "1") -> list[dict[str, Any]]:
        with closing(self.connect()) as connection:
            return [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY {order}")]

    def search(self, words: str) -> list[str]:
        """Return the keys of memories that the runtime's own full-text search finds."""
        with closing(self.connect()) as connection:
            found = connection.execute(
                "SELECT m.key FROM memories m JOIN memories_fts f ON m.rowid = f.rowid WHERE memories_fts MATCH ?"
                " ORDER BY 1",
                (words,),
            )
            return [row[0] for row in found]


def make_database(path: Path, generation: str, agents: tuple[str, ...] = ("default",)) -> None:
    """Write an empty memory database of a generation, in WAL mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(BRAIN_DDL[generation])
        if generation not in EARLY_GENERATIONS:
            rows = [(stable("agent", alias), alias, "2026-05-20T08:00:00+00:00") for alias in agents]
            connection.executemany("INSERT INTO agents VALUES (?, ?, ?)", rows)
        connection.commit()


def make_install(folder: Path, generation: str = "0.8.3", *, agents: tuple[str, ...] = ("default",)) -> Install:
    """Write a small installation: configuration, persona files, and an empty memory database."""
    made = Install(folder, generation, agents)
    folder.mkdir(parents=True)
    version = _CONFIG_VERSION[generation]
    lines = [f"schema_version = {version}\n"] if version else []
    if made.is_early:
        lines.append('default_provider = "anthropic"\ndefault_model = "claude-example-1"\n\n')
        lines.append('[memory]\nbackend = "sqlite"\nvector_weight = 0.7\nkeyword_weight = 0.3\n')
    else:
        lines.append(
            '[providers.models.anthropic.default]\nmodel = "claude-example-1"\n\n[memory]\nbackend = "sqlite.default"\n'
        )
        lines += [f'\n[agents.{alias}]\nenabled = true\nmodel_provider = "anthropic.default"\n' for alias in agents]
    (folder / "config.toml").write_text("".join(lines))
    (folder / "config.toml").chmod(0o600)
    (folder / ".secret_key").write_text("5a" * 32)
    (folder / ".secret_key").chmod(0o600)
    for alias in agents:
        workspace = made.workspace(alias)
        workspace.mkdir(parents=True)
        (workspace / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
        (workspace / "IDENTITY.md").write_text(f"# IDENTITY.md\n\n- **Name:** {alias.title()}\n")
        (workspace / "AGENTS.md").write_text("# AGENTS.md\n\nRead before you ask.\n")
        (workspace / "USER.md").write_text("# USER.md\n\n- **Name:** Mira\n- **Timezone:** Europe/Oslo\n")
    make_database(made.database, generation, agents)
    return made
