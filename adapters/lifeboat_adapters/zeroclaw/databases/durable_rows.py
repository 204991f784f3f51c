"""Read durable rows of ZeroClaw's databases except the memories. Each database is read in one transaction.

All agents of an installation share its databases. Rows that name an agent are that agent's. Rows without a name belong
to the first agent, which is called `default` unless the user renamed it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lifeboat_adapters.contract import Installation, RuntimeRow
from lifeboat_adapters.database_reading import as_json, columns_of, problem_of_table, read_database, row_key_text
from lifeboat_adapters.errors import DatabaseAbsent, RuntimeDatabaseError
from lifeboat_adapters.guarded_files import GuardedFolders, resolve_guarded
from lifeboat_adapters.small_files import read_small, sort_newest_first
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_folders, zeroclaw_paths
from lifeboat_adapters.zeroclaw.databases import brain_database
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason

Where = tuple[str, tuple[str | None, ...]]

CRON, KNOWLEDGE, SESSIONS = "cron/jobs.db", "knowledge.db", "sessions/sessions.db"
STRANDED = "stranded"
"""Marks a job in a database that ZeroClaw does not read any more, because its own upgrade moved the job there."""

_ALL: Where = ("1", ())
_NONE: Where = ("0", ())
_OF_RUNS = ("locked_at", "last_run", "last_status", "last_output")
_METADATA, _SESSION = "session_metadata", "session_key"
_OF_TURNS = ("state", "turn_id", "turn_started_at")


@dataclass(frozen=True, slots=True)
class ZeroClawSources:
    """The databases of an agent, None for those that do not exist. `is_first` says that rows without an owner are this
    agent's. Below `grounds` no link to a database is followed."""

    brain: Path | None
    knowledge: Path | None
    cron: Path | None
    stranded: Path | None
    sessions: Path | None
    transcripts: tuple[Path, ...]
    is_first: bool
    grounds: GuardedFolders

    def files(self) -> list[Path]:
        every = (self.brain, self.knowledge, self.cron, self.stranded, self.sessions, *self.transcripts)
        return [path for path in every if path is not None]


def zeroclaw_sources_of(installation: Installation) -> ZeroClawSources:
    values = zeroclaw_folders.config_values_of(installation)
    data = zeroclaw_folders.data_folder(installation)
    grounds = installation.grounds
    return ZeroClawSources(
        brain=_there(data / zeroclaw_paths.BRAIN, grounds),
        knowledge=_there(_knowledge(installation, values), grounds),
        cron=_there(data / CRON, grounds),
        stranded=_there(installation.workspace / CRON, grounds)
        if installation.layout == zeroclaw_paths.CURRENT
        else None,
        sessions=_there(data / SESSIONS, grounds),
        transcripts=tuple(sorted((data / "sessions").glob("*.jsonl"))),
        is_first=installation.native_id == zeroclaw_folders.first_alias(values),
        grounds=grounds,
    )


def read_zeroclaw_rows(installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[RuntimeRow]:
    """Yield every durable row of one agent, by file and key. Stranded jobs are always included, because they run
    nowhere.

    Raises RuntimeDatabaseError when a database cannot be read completely now, DatabaseAbsent when that of its memories
    is missing, RuntimeConfigError when the owner of rows is unknown.
    """
    zeroclaw_folders.read_config(installation)
    found = zeroclaw_sources_of(installation)
    if found.brain is not None:
        yield from brain_database.read_brain(
            found.brain, lambda opened: _of_brain(opened, installation.native_id), installation.grounds
        )
    elif zeroclaw_folders.keeps_rows(installation):
        raise DatabaseAbsent(f"{brain_database.brain_path_of(installation)} does not exist", fix=brain_database.FIX)
    if found.knowledge is not None and found.is_first:
        yield from _read(found.knowledge, _of_knowledge, installation.grounds)
    if cron or found.stranded is not None:
        yield from (row for row in read_jobs(installation, found) if cron or STRANDED in row.values)
    if transcripts:
        yield from _of_sessions(installation.native_id, found)


def find_zeroclaw_row_problem(installation: Installation, path: str, data: bytes) -> str:
    """Implement `DatabaseSupport.unreadable_rows`. `read_zeroclaw_rows` reports the database of the memories. A
    stranded job whose database is missing was put back or given up."""
    data_folder, table = zeroclaw_folders.data_folder(installation), PurePosixPath(path).stem
    if path.startswith(zeroclaw_paths.KNOWLEDGE):
        return problem_of_table(
            _knowledge(installation, zeroclaw_folders.config_values_of(installation)), table, installation.grounds
        )
    if path == zeroclaw_paths.CRON_JOBS:
        scheduled = any(STRANDED not in _object(line) for line in data.decode("utf-8", "replace").splitlines())
        return problem_of_table(data_folder / CRON, table, installation.grounds) if scheduled else ""
    if path.startswith(f"{zeroclaw_paths.SESSIONS}files/"):
        folder = data_folder / "sessions"
        return "" if folder.is_dir() else f"{folder} does not exist"
    if not path.startswith(zeroclaw_paths.SESSIONS):
        return ""
    return problem_of_table(data_folder / SESSIONS, table, installation.grounds)


def read_jobs(installation: Installation, found: ZeroClawSources) -> Iterator[RuntimeRow]:
    """Yield scheduled jobs that are not part of the configuration. Stranded jobs are marked, unless they
    were put back."""
    alias, known = installation.native_id, set()
    if found.cron is not None:
        for row in _read(found.cron, lambda opened: _of_cron(opened, alias, is_first=found.is_first), found.grounds):
            known.add(row.key)
            yield row
    if found.stranded is not None:
        for row in _read(found.stranded, lambda opened: _of_cron(opened, alias, is_first=True), found.grounds):
            if row.key not in known:
                yield RuntimeRow(row.path, row.key, {**row.values, STRANDED: True})


def _read(
    path: Path, read: Callable[[sqlite3.Connection], Iterator[RuntimeRow]], grounds: GuardedFolders
) -> Iterator[RuntimeRow]:
    return read_database(path, read, fix="zeroclaw doctor", workspace=grounds)


def _there(path: Path, grounds: GuardedFolders) -> Path | None:
    return resolve_guarded(path, grounds) if os.path.isfile(path) else None


def _knowledge(installation: Installation, values: JsonObject) -> Path:
    """Return the path of the knowledge graph: as configured, otherwise in the home, otherwise in a workspace without a
    home."""
    home = installation.state_dir or installation.workspace
    named = zeroclaw_config.get_nested_text(values, "knowledge", "db_path")
    return home / zeroclaw_folders.expand_user_path(named, home.parent) if named else home / KNOWLEDGE


def _of_brain(connection: sqlite3.Connection, alias: str) -> Iterator[RuntimeRow]:
    yield from _table(connection, f"{zeroclaw_paths.BRAIN_ROWS}agents.jsonl", "agents", ("alias = ?", (alias,)))
    for name in ("memory_meta", "schema_version"):
        yield from _table(connection, f"{zeroclaw_paths.BRAIN_ROWS}{name}.jsonl", name, _ALL)


def _of_knowledge(connection: sqlite3.Connection) -> Iterator[RuntimeRow]:
    for name in ("nodes", "edges"):
        yield from _table(connection, f"{zeroclaw_paths.KNOWLEDGE}{name}.jsonl", name, _ALL)


def _of_cron(connection: sqlite3.Connection, alias: str, *, is_first: bool) -> Iterator[RuntimeRow]:
    columns, _ = columns_of(connection, "cron_jobs")
    where, parameters = _of_agent(columns, "agent_alias", alias, is_first=is_first)
    if "source" in columns:
        where = f"({where}) AND coalesce(source, 'imperative') <> 'declarative'"
    yield from _table(connection, zeroclaw_paths.CRON_JOBS, "cron_jobs", (where, parameters), left_out=_OF_RUNS)


def _of_sessions(alias: str, found: ZeroClawSources) -> Iterator[RuntimeRow]:
    if found.sessions is not None:
        yield from _read(
            found.sessions, lambda opened: _of_transcripts(opened, alias, is_first=found.is_first), found.grounds
        )
    if found.is_first:
        for path in sort_newest_first(found.transcripts):
            yield from _of_file(path, found.grounds)


def _of_transcripts(connection: sqlite3.Connection, alias: str, *, is_first: bool) -> Iterator[RuntimeRow]:
    columns, _ = columns_of(connection, _METADATA)
    where, parameters = _of_agent(columns, "agent_alias", alias, is_first=is_first)
    if _SESSION in columns:
        own = f"session_key IN (SELECT session_key FROM session_metadata WHERE {where})"
        nameless = " OR session_key NOT IN (SELECT session_key FROM session_metadata)" if is_first else ""
        chosen: Where = (own + nameless, parameters)
    else:
        chosen = _ALL if is_first else _NONE
    last: dict[str | None, int] = {}
    tables: dict[str, Where] = {_METADATA: (where, parameters), "sessions": chosen}
    for name in list(tables):
        columns, _ = columns_of(connection, name)
        if _SESSION not in columns:
            # Rows that do not name their session are part of no conversation.
            yield from _session_table(connection, name, tables.pop(name))
            continue
        # The ids of messages grow, so the greatest one tells which session is the newest.
        newest = "max(id)" if "id" in columns else "0"
        query = f"SELECT {_SESSION}, {newest} FROM {name} WHERE {tables[name][0]} GROUP BY {_SESSION}"
        for key, number in connection.execute(query, tables[name][1]):
            last[key] = number if isinstance(number, int) else 0
    for key in sorted(last, key=lambda key: (last[key], str(key)), reverse=True):
        for name in tables:
            yield from _session_table(connection, name, (f"{_SESSION} IS ?", (key,)), conversation=str(key))


def _session_table(
    connection: sqlite3.Connection, name: str, chosen: Where, *, conversation: str = ""
) -> Iterator[RuntimeRow]:
    path, left_out = f"{zeroclaw_paths.SESSIONS}{name}.jsonl", _OF_TURNS if name == _METADATA else ()
    return _table(connection, path, name, chosen, left_out=left_out, conversation=conversation)


def _of_agent(columns: list[str], column: str, alias: str, *, is_first: bool) -> Where:
    """Yield the rows of one agent from a table that may not name owners."""
    if column not in columns:
        return _ALL if is_first else _NONE
    return (f"{column} = ?" + (f" OR coalesce({column}, '') = ''" if is_first else ""), (alias,))


def _of_file(path: Path, grounds: GuardedFolders) -> Iterator[RuntimeRow]:
    """Yield a transcript of early builds, by line."""
    try:
        lines = read_small(path, grounds).decode("utf-8", "replace").splitlines()
    except OSError as error:
        raise RuntimeDatabaseError(f"{path}: {refusal_reason(error)}") from error
    for number, line in enumerate(lines):
        archived = f"{zeroclaw_paths.SESSIONS}files/{path.name}"
        yield RuntimeRow(archived, row_key_text((number,)), _object(line), path.name)


def _object(line: str) -> JsonObject:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"line": line}


def _table(
    connection: sqlite3.Connection,
    path: str,
    name: str,
    chosen: Where,
    *,
    left_out: tuple[str, ...] = (),
    conversation: str = "",
) -> Iterator[RuntimeRow]:
    """Yield the chosen rows of a table by key, none when the table does not exist."""
    columns, keys = columns_of(connection, name)
    if not columns:
        return
    order = ", ".join(f'"{key}"' for key in keys) or "rowid"
    where, parameters = chosen
    named = ", ".join(f'"{column}"' for column in columns)
    query = f'SELECT {order}, {named} FROM "{name}" WHERE {where} ORDER BY {order}'
    count = max(len(keys), 1)
    for values in connection.execute(query, parameters):
        row = dict(zip(columns, values[count:], strict=True))
        kept = {column: as_json(value) for column, value in row.items() if column not in left_out}
        yield RuntimeRow(path, row_key_text(values[:count]), kept, conversation)
