"""Read sessions and messages of Hermes as rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import Installation, RuntimeRow
from lifeboat_adapters.database_reading import as_json, columns_of, problem_of_table, read_database, row_key_text

FILE = "state.db"
FOLDER = "raw/hermes-home/db/state/"
SESSIONS, MESSAGES = "sessions", "messages"
TABLES = (SESSIONS, MESSAGES)
_LEFT_OUT = frozenset(
    {
        *("system_prompt", "cwd", "git_repo_root", "origin_json"),
        *("session_key", "expiry_finalized", "handoff_state", "handoff_platform", "handoff_error", "rewind_count"),
        *("compression_failure_cooldown_until", "compression_failure_error", "compression_fallback_streak"),
    }
)
"""Columns with paths of this machine, and the state of a live channel, which Hermes' own import leaves out, too. The
prompt is made again for each session."""


def read_sessions(installation: Installation) -> Iterator[RuntimeRow]:
    """Yield each session with its messages, the newest first. Raises RuntimeDatabaseError."""
    path = installation.workspace / FILE
    if path.is_file():
        yield from read_database(path, _rows, workspace=installation.grounds)


def find_session_problem(workspace: Path, table: str) -> str:
    """Return why the database has no information about the rows of a table, "" when it has."""
    return problem_of_table(workspace / FILE, table, workspace)


def path_of_table(table: str) -> str:
    """Return the archive path of the rows of a table."""
    return f"{FOLDER}{table}.jsonl"


def _rows(connection: sqlite3.Connection) -> Iterator[RuntimeRow]:
    known = {table: columns_of(connection, table)[0] for table in TABLES}
    if not all(known.values()):
        return
    for (id,) in connection.execute("SELECT id FROM sessions ORDER BY started_at DESC, id DESC").fetchall():
        for table, column in ((SESSIONS, "id"), (MESSAGES, "session_id")):
            kept = [name for name in known[table] if name not in _LEFT_OUT]
            named = ", ".join(f'"{name}"' for name in kept)
            for values in connection.execute(f'SELECT {named} FROM "{table}" WHERE "{column}" = ? ORDER BY id', (id,)):
                row: dict[str, Any] = dict(zip(kept, map(as_json, values), strict=True))
                yield RuntimeRow(path_of_table(table), row_key_text((row["id"],)), row, conversation=str(id))
