"""Restore scheduled jobs, transcripts and the knowledge graph of an archive into ZeroClaw's databases.

Jobs and transcripts are restored only on request, because a job on two machines runs twice. Existing rows are never
removed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lifeboat_adapters import database_building
from lifeboat_adapters.contract import Installation
from lifeboat_adapters.database_reading import decode_column_value
from lifeboat_adapters.guarded_files import resolve_guarded
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import DatabaseWrite, WriteOrder
from lifeboat_adapters.table_columns import (
    RowDoesNotFit,
    SqliteColumn,
    fit_row,
    read_table_columns,
    row_digest,
)
from lifeboat_adapters.zeroclaw import zeroclaw_folders, zeroclaw_paths
from lifeboat_adapters.zeroclaw.databases import brain_database, durable_rows
from lifeboat_adapters.zeroclaw.restore import table_definitions
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject

Values = tuple[Any, ...]

ROW = "row"
DIFFERENT = "the row in the database is equally new or newer, so it was kept"
NO_TABLE = "the database has no table for this row"
NO_NODE = "this row links two nodes of the knowledge graph, but one of the nodes does not exist"
OF_ANOTHER = "another agent on this machine already has this row"
OWNER = "agent_alias"


@dataclass(frozen=True, slots=True)
class ZeroClawTable:
    """A table and the archive path of its rows. `key` are the columns that identify a row. `number` is a column that
    only orders rows and is assigned again when it is taken. `changed` shows which of two rows is newer."""

    name: str
    path: str
    key: tuple[str, ...]
    number: str = ""
    changed: str = ""


CRON = (ZeroClawTable("cron_jobs", zeroclaw_paths.CRON_JOBS, ("id",)),)
SESSIONS = (
    ZeroClawTable(
        "session_metadata",
        f"{zeroclaw_paths.SESSIONS}session_metadata.jsonl",
        ("session_key",),
        changed="last_activity",
    ),
    ZeroClawTable(
        "sessions",
        f"{zeroclaw_paths.SESSIONS}sessions.jsonl",
        ("session_key", "role", "content", "created_at"),
        number="id",
    ),
)
KNOWLEDGE = (
    ZeroClawTable("nodes", f"{zeroclaw_paths.KNOWLEDGE}nodes.jsonl", ("id",), changed="updated_at"),
    ZeroClawTable("edges", f"{zeroclaw_paths.KNOWLEDGE}edges.jsonl", ("from_id", "to_id", "relation")),
)


def plan_other_tables(installation: Installation, order: WriteOrder) -> Iterator[DatabaseWrite]:
    """Plan the writes of the other databases. Raises RuntimeDatabaseError."""
    data, home = zeroclaw_folders.data_folder(installation), installation.state_dir or installation.workspace
    knowledge = durable_rows.zeroclaw_sources_of(installation).knowledge or home / durable_rows.KNOWLEDGE
    if order.choice.cron:
        yield from _plan(installation, order, data / durable_rows.CRON, table_definitions.CRON, CRON)
    if order.choice.sessions:
        yield from _plan(installation, order, data / durable_rows.SESSIONS, table_definitions.SESSIONS, SESSIONS)
    yield from _plan(installation, order, knowledge, table_definitions.KNOWLEDGE, KNOWLEDGE)


def _plan(
    installation: Installation, order: WriteOrder, path: Path, new: str, every: tuple[ZeroClawTable, ...]
) -> Iterator[DatabaseWrite]:
    wanted = tuple(table for table in every if table.path in order.tables)
    if not wanted:
        return
    path = resolve_guarded(path, installation.grounds)
    source = path if path.is_file() else None
    planned = database_building.database_stamp(path)
    merge = _MergeOrder(installation, order, wanted)
    if source is None:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(new)
            found = merge.plan(connection)
    else:
        (found,) = brain_database.read_brain(
            path, lambda opened: iter([_checked(opened, path, merge)]), installation.grounds
        )

    def write(target: Path) -> None:
        database_building.build_database(
            target, source, planned, new, found.make, installation.grounds, brain_database.FIX
        )

    yield DatabaseWrite(
        path=path,
        changes=bool(found.puts),
        write=write,
        fates=tuple(found.fates),
        replaces=database_building.side_files_of(path) if source is not None else (),
    )


def _checked(connection: sqlite3.Connection, path: Path, merge: _MergeOrder) -> _TableWrites:
    database_building.refuse_damaged(connection, path, brain_database.FIX)
    return merge.plan(connection)


@dataclass(frozen=True, slots=True)
class _TableWrites:
    """The statements to execute, with their values for each row, and the fates of the rows."""

    puts: list[tuple[str, Values]]
    fates: list[ItemFate]

    def make(self, connection: sqlite3.Connection) -> None:
        for statement, values in self.puts:
            connection.execute(statement, values)


@dataclass(frozen=True, slots=True)
class _MergeOrder:
    """What has to be merged for which agent."""

    installation: Installation
    order: WriteOrder
    every: tuple[ZeroClawTable, ...]

    def plan(self, connection: sqlite3.Connection) -> _TableWrites:
        found = _TableWrites([], [])
        nodes: set[Any] = set()
        foreign = _sessions_of_others(connection, self.installation.native_id)
        for table in self.every:
            known = read_table_columns(connection, table.name)
            if not known.keys() >= set(table.key):
                found.fates.append(ItemFate(ROW, table.path, ItemOutcome.OMITTED, NO_TABLE))
                continue
            if table.name == "edges":
                nodes |= {id for (id,) in connection.execute("SELECT id FROM nodes")}
            merging = _TableMerge(table, known, self.order.exact, _rows(connection, table, known), nodes, foreign)
            for line, values in _lines(self.order.tables[table.path]):
                fate = merging.take(None if values is None else self._own(values, table, known), found.puts)
                found.fates.append(replace(fate, name=f"{table.path}#{line}"))
        return found

    def _own(self, row: JsonObject, table: ZeroClawTable, known: Mapping[str, SqliteColumn]) -> JsonObject:
        """Return a row as this agent's, which may have another name here. A job that never ran is due now."""
        own = {name: value for name, value in row.items() if name != durable_rows.STRANDED}
        if OWNER in known:
            own[OWNER] = self.installation.native_id
        if table in CRON:
            own["next_run"] = own.get("next_run") or self.order.now
        return own


@dataclass(frozen=True, slots=True)
class _TableMerge:
    """The merge of one table. `there` are its rows by their key. `nodes` are the nodes that edges may join, including
    those that are added. `foreign` are the sessions of other agents here, to which nothing is added."""

    table: ZeroClawTable
    columns: Mapping[str, SqliteColumn]
    exact: bool
    there: dict[bytes, JsonObject]
    nodes: set[Any]
    foreign: frozenset[Any]

    def take(self, line: JsonObject | None, puts: list[tuple[str, Values]]) -> ItemFate:
        try:
            row = self._fitted(line)
        except ValueError as reason:
            return ItemFate(ROW, "", ItemOutcome.REJECTED, str(reason))
        if self.table.name == "edges" and not {row["from_id"], row["to_id"]} <= self.nodes:
            return ItemFate(ROW, "", ItemOutcome.UNRESOLVED, NO_NODE)
        if self.table in SESSIONS and row["session_key"] in self.foreign:
            return ItemFate(ROW, "", ItemOutcome.REJECTED, OF_ANOTHER)
        if self.table.name == "nodes":
            self.nodes.add(row["id"])
        return self._merge(row, puts)

    def _fitted(self, line: JsonObject | None) -> JsonObject:
        if line is None:
            raise RowDoesNotFit("the captured copy of this row cannot be read")
        row = fit_row({name: decode_column_value(value) for name, value in line.items()}, self.columns)
        required = [each.name for each in self.columns.values() if each.required and each.default is None]
        lacking = sorted(name for name in {*required, *self.table.key} - {self.table.number} if row.get(name) is None)
        if lacking:
            raise RowDoesNotFit(f"the captured row has no value for: {', '.join(lacking)}")
        return row

    def _merge(self, row: JsonObject, puts: list[tuple[str, Values]]) -> ItemFate:
        key = _key(row, self.table)
        old = self.there.get(key)
        if old is None:
            self.there[key] = {} if self.table.number else row
            puts.append(_insert(self.table, row))
            return ItemFate(ROW, "", ItemOutcome.ACCEPTED)
        if self.table.number or all(old.get(name) == value for name, value in row.items()):
            return ItemFate(ROW, "", ItemOutcome.DEDUPLICATED)
        if old.get(OWNER) and old[OWNER] != row.get(OWNER):
            return ItemFate(ROW, "", ItemOutcome.REJECTED, OF_ANOTHER)
        if not self.exact and not _is_later(row.get(self.table.changed), old.get(self.table.changed)):
            return ItemFate(ROW, "", ItemOutcome.REJECTED, DIFFERENT, "newer_here")
        puts.append(_update(self.table, row))
        return ItemFate(ROW, "", ItemOutcome.ACCEPTED)


def _sessions_of_others(connection: sqlite3.Connection, alias: str) -> frozenset[Any]:
    if not read_table_columns(connection, "session_metadata").keys() >= {"session_key", OWNER}:
        return frozenset()
    query = f"SELECT session_key FROM session_metadata WHERE coalesce({OWNER}, '') NOT IN ('', ?)"
    return frozenset(key for (key,) in connection.execute(query, (alias,)))


def _insert(table: ZeroClawTable, row: JsonObject) -> tuple[str, Values]:
    """Return the statement that inserts a row. A number that is taken is left out, so that the table assigns one."""
    place = f'CASE WHEN EXISTS (SELECT 1 FROM "{table.name}" WHERE "{table.number}" = ?1) THEN NULL ELSE ?1 END'
    ordered = dict(sorted(row.items(), key=lambda item: item[0] != table.number))
    marks = [place if name == table.number else f"?{number}" for number, name in enumerate(ordered, 1)]
    names = ", ".join(f'"{name}"' for name in ordered)
    return f'INSERT INTO "{table.name}" ({names}) SELECT {", ".join(marks)}', tuple(ordered.values())


def _update(table: ZeroClawTable, row: JsonObject) -> tuple[str, Values]:
    sets = ", ".join(f'"{name}" = ?' for name in row)
    where = " AND ".join(f'"{name}" = ?' for name in table.key)
    return f'UPDATE "{table.name}" SET {sets} WHERE {where}', (*row.values(), *(row[name] for name in table.key))


def _rows(
    connection: sqlite3.Connection, table: ZeroClawTable, known: Mapping[str, SqliteColumn]
) -> dict[bytes, JsonObject]:
    """Yield the present rows. For messages only the keys are read: there may be very many, and each one either exists
    or not."""
    named = ", ".join(f'"{name}"' for name in known)
    query = f'SELECT {named} FROM "{table.name}"'
    every = (dict(zip(known, values, strict=True)) for values in connection.execute(query))
    return {_key(row, table): {} if table.number else row for row in every}


def _key(row: JsonObject, table: ZeroClawTable) -> bytes:
    return row_digest(row.get(name) for name in table.key)


def _is_later(time: Any, than: Any) -> bool:
    try:
        return times.parse_time(str(time)) > times.parse_time(str(than))
    except (ValueError, OverflowError):
        return False


def _lines(data: bytes) -> Iterator[tuple[int, JsonObject | None]]:
    """Yield the rows of a table with the numbers of their lines, None for a line that is no row."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                value = None
            yield number, value if isinstance(value, dict) else None
