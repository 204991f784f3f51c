"""Read sessions and messages of Hermes as rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from lifeboat_adapters.contract import Installation, RuntimeRow
from lifeboat_adapters.database_reading import as_json, columns_of, problem_of_table, read_database, row_key_text

FILE = "state.db"
FOLDER = "raw/hermes-home/db/state/"
TABLES = ("sessions", "messages")
_LEFT_OUT = frozenset({"system_prompt", "cwd", "git_repo_root", "origin_json"})
"""Columns with paths of this machine. The prompt is made again for each session."""


def read_sessions(installation: Installation) -> Iterator[RuntimeRow]:
    """Yield every session and message, by table and key. Raises RuntimeDatabaseError."""
    path = installation.workspace / FILE
    if path.is_file():
        yield from read_database(path, _rows, workspace=installation.grounds)


def find_session_problem(workspace: Path, table: str) -> str:
    """Return why the database has no information about the rows of a table, "" when it has."""
    return problem_of_table(workspace / FILE, table, workspace)


def _rows(connection: sqlite3.Connection) -> Iterator[RuntimeRow]:
    for table in TABLES:
        columns, key = columns_of(connection, table)
        kept = [column for column in columns if column not in _LEFT_OUT]
        if not kept or not key:
            continue
        named = ", ".join(f'"{column}"' for column in kept)
        order = ", ".join(f'"{column}"' for column in key)
        for values in connection.execute(f'SELECT {named} FROM "{table}" ORDER BY {order}'):
            row = dict(zip(kept, map(as_json, values), strict=True))
            yield RuntimeRow(f"{FOLDER}{table}.jsonl", row_key_text(tuple(row[column] for column in key)), row)
