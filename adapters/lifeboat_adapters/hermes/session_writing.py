"""Merge sessions of an archive into `state.db`: a session that is there stays as it is, a missing one is added with its
messages. The present database is read and never changed: a complete new one is built.

Hermes fills its full-text index by triggers. A new database has only the tables of sessions and messages. When Hermes
opens it, Hermes adds its other tables, columns, triggers and indexes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.database_building import build_database, database_stamp, refuse_damaged, side_files_of
from lifeboat_adapters.database_reading import decode_column_value, read_database
from lifeboat_adapters.guarded_files import resolve_guarded
from lifeboat_adapters.hermes.hermes_sessions import FILE, MESSAGES, SESSIONS, TABLES, path_of_table
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import DatabaseWrite, WriteOrder
from lifeboat_adapters.table_columns import SqliteColumn, fit_row, read_table_columns
from lifeboat_alf.common.json_types import JsonObject

FIX = "hermes sessions repair"
ROW = "row"
NO_TABLE = "state.db has no table for this row"
NO_SESSION = "the session of this message is not in the archive"
TITLE_TAKEN = "the session was restored without its title, because another session on this machine has the same title"
NO_PARENT = (
    "the session was restored without the link to its parent session, because the parent session was not restored"
)

NEW = """
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version VALUES (22);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, session_key TEXT, chat_id TEXT, chat_type TEXT,
  thread_id TEXT, display_name TEXT, origin_json TEXT, expiry_finalized INTEGER DEFAULT 0, model TEXT,
  model_config TEXT, system_prompt TEXT, parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL,
  end_reason TEXT, message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0,
  input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0, cache_read_tokens INTEGER DEFAULT 0,
  cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0, cwd TEXT, git_branch TEXT,
  git_repo_root TEXT, billing_provider TEXT, billing_base_url TEXT, billing_mode TEXT, estimated_cost_usd REAL,
  actual_cost_usd REAL, cost_status TEXT, cost_source TEXT, pricing_version TEXT, title TEXT,
  api_call_count INTEGER DEFAULT 0, handoff_state TEXT, handoff_platform TEXT, handoff_error TEXT,
  compression_failure_cooldown_until REAL, compression_failure_error TEXT,
  compression_fallback_streak INTEGER NOT NULL DEFAULT 0, profile_name TEXT,
  rewind_count INTEGER NOT NULL DEFAULT 0, archived INTEGER NOT NULL DEFAULT 0,
  FOREIGN KEY (parent_session_id) REFERENCES sessions(id)
);
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
  content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, effect_disposition TEXT, timestamp REAL NOT NULL,
  token_count INTEGER, finish_reason TEXT, reasoning TEXT, reasoning_content TEXT, reasoning_details TEXT,
  codex_reasoning_items TEXT, codex_message_items TEXT, platform_message_id TEXT, observed INTEGER DEFAULT 0,
  active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0, api_content TEXT
);
"""
"""The tables of schema 22 (Hermes 0.19)."""


def plan_session_write(installation: Installation, order: WriteOrder) -> Iterator[DatabaseWrite]:
    """Plan the database with the sessions of a state added, if the user asked for sessions. Raises
    RuntimeDatabaseError for a database that cannot be merged into."""
    if not order.choice.sessions or path_of_table(SESSIONS) not in order.tables:
        return
    path = resolve_guarded(installation.workspace / FILE, installation.grounds)
    source = path if path.is_file() and path.stat().st_size else None
    planned = database_stamp(path)
    if source is None:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(NEW)
            found = _plan(connection, order)
    else:
        (found,) = read_database(source, lambda opened: iter([_checked(opened, path, order)]), fix=FIX)

    def write(target: Path) -> None:
        build_database(target, source, planned, NEW, found.make, installation.grounds, FIX)

    beside = side_files_of(path) if path.is_file() else ()
    yield DatabaseWrite(path, bool(found.rows), write, tuple(found.fates), replaces=beside)


def _checked(connection: sqlite3.Connection, path: Path, order: WriteOrder) -> _SessionWrites:
    refuse_damaged(connection, path, FIX)
    return _plan(connection, order)


@dataclass(slots=True)
class _SessionWrites:
    """Rows to insert, each with its table, and the fates of all rows."""

    rows: list[tuple[str, JsonObject]] = field(default_factory=list)
    fates: list[ItemFate] = field(default_factory=list)

    def make(self, connection: sqlite3.Connection) -> None:
        # A session may follow its child.
        connection.execute("PRAGMA defer_foreign_keys=ON")
        for table, row in self.rows:
            names = ", ".join(f'"{name}"' for name in row)
            marks = ", ".join("?" for _ in row)
            connection.execute(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', tuple(row.values()))


def _plan(connection: sqlite3.Connection, order: WriteOrder) -> _SessionWrites:
    found = _SessionWrites()
    known = {table: read_table_columns(connection, table) for table in TABLES}
    if not known[SESSIONS].keys() >= {"id", "title", "parent_session_id"} or not known[MESSAGES].keys() >= {
        "id",
        "session_id",
    }:
        found.fates += [ItemFate(ROW, path_of_table(table), ItemOutcome.OMITTED, NO_TABLE) for table in TABLES]
        return found
    there = {id for (id,) in connection.execute("SELECT id FROM sessions")}
    titles = {title for (title,) in connection.execute("SELECT title FROM sessions WHERE title IS NOT NULL")}
    sessions, messages = (
        [(name, _fitted(line, known[table])) for name, line in _lines(order, table)] for table in TABLES
    )
    # Only rows that fit: a link to another row would make the whole database invalid.
    added = {row["id"] for _, row in sessions if not isinstance(row, str)} - there
    left = set(added)
    for name, row in sessions:
        found.fates.append(_take_session(found, name, row, left, there | added, titles))
    numbers: set[Any] = set()
    for name, row in messages:
        found.fates.append(_take_message(found, name, row, there, added, numbers))
    _number_messages(connection, [row for table, row in found.rows if table == MESSAGES])
    return found


def _number_messages(connection: sqlite3.Connection, messages: list[JsonObject]) -> None:
    """Leave out the numbers of all messages if one is taken: the table then assigns others in the same order."""
    taken = {id for (id,) in connection.execute("SELECT id FROM messages")}
    if not taken.isdisjoint(row["id"] for row in messages):
        for row in messages:
            del row["id"]


def _take_session(
    found: _SessionWrites, name: str, row: JsonObject | str, left: set[Any], known: set[Any], titles: set[Any]
) -> ItemFate:
    """Add a session that is among those `left` to add. `known` are all sessions that there will be."""
    if isinstance(row, str):
        return ItemFate(ROW, name, ItemOutcome.REJECTED, row)
    if row["id"] not in left:
        return ItemFate(ROW, name, ItemOutcome.DEDUPLICATED)
    left.remove(row["id"])
    found.rows.append((SESSIONS, row))
    changes = []
    if row.get("parent_session_id") not in {None, *known}:
        del row["parent_session_id"]
        changes.append(NO_PARENT)
    title = row.get("title")
    if title is not None and title in titles:
        del row["title"]
        changes.append(TITLE_TAKEN)
    titles.add(title)
    outcome = ItemOutcome.TRANSFORMED if changes else ItemOutcome.ACCEPTED
    return ItemFate(ROW, name, outcome, "; ".join(changes))


def _take_message(
    found: _SessionWrites, name: str, row: JsonObject | str, there: set[Any], added: set[Any], numbers: set[Any]
) -> ItemFate:
    if isinstance(row, str):
        return ItemFate(ROW, name, ItemOutcome.REJECTED, row)
    if row.get("session_id") in there or row["id"] in numbers:
        return ItemFate(ROW, name, ItemOutcome.DEDUPLICATED)
    if row.get("session_id") not in added:
        return ItemFate(ROW, name, ItemOutcome.UNRESOLVED, NO_SESSION)
    numbers.add(row["id"])
    found.rows.append((MESSAGES, row))
    return ItemFate(ROW, name, ItemOutcome.ACCEPTED)


def _fitted(line: JsonObject | None, known: dict[str, SqliteColumn]) -> JsonObject | str:
    """Return a row as the table holds it, or why the table cannot."""
    if line is None:
        return "the captured copy of this row cannot be read"
    try:
        row = fit_row({name: decode_column_value(value) for name, value in line.items()}, known)
    except ValueError as reason:
        return str(reason)
    required = [each.name for each in known.values() if each.required and each.default is None]
    lacking = sorted(name for name in {*required, "id"} if row.get(name) is None)
    return f"the captured row has no value for: {', '.join(lacking)}" if lacking else row


def _lines(order: WriteOrder, table: str) -> Iterator[tuple[str, JsonObject | None]]:
    """Yield the rows of a table by their name in the receipt, None for a line that is no row."""
    path = path_of_table(table)
    for number, line in enumerate(order.tables.get(path, b"").split(b"\n"), 1):
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                value = None
            yield f"{path}#{number}", value if isinstance(value, dict) else None
