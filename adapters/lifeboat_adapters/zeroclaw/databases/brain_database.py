"""Locate and read `brain.db`: its path, the owner of its rows, and its columns. Nothing is written, and nothing is left
beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.database_reading import Found, columns_of, read_database
from lifeboat_adapters.errors import DatabaseAbsent, RuntimeDatabaseError
from lifeboat_adapters.guarded_files import Guarded, resolve_guarded
from lifeboat_adapters.memory_stores import MemoryTable, VectorModel
from lifeboat_adapters.zeroclaw import zeroclaw_folders, zeroclaw_paths

TABLE = "memories"
VECTOR, OWNER = "embedding", "agent_id"
FIX = "zeroclaw memory stats"
"""The command that opens the database and closes it properly."""

_REQUIRED = ("id", "key", "content", "category", "created_at", "updated_at")


def brain_path_of(installation: Installation) -> Path:
    return resolve_guarded(zeroclaw_folders.data_folder(installation) / zeroclaw_paths.BRAIN, installation.grounds)


def memory_store(installation: Installation) -> MemoryTable | None:
    """Return the memories of one agent, None when it keeps none as rows. Rows from before another backend was chosen
    are included.

    Raises RuntimeDatabaseError for a database that cannot be read now, DatabaseAbsent where there should be one.
    """
    path = brain_path_of(installation)
    if not path.is_file():
        if zeroclaw_folders.keeps_rows(installation):
            raise DatabaseAbsent(f"{path} does not exist", fix=FIX)
        return None
    aliases = zeroclaw_folders.aliases_of(installation)
    grounds = installation.grounds
    (found,) = read_brain(path, lambda opened: iter([memory_table_of(opened, path, aliases)]), grounds)
    return replace(found, workspace=grounds)


def read_brain(path: Path, read: Callable[[sqlite3.Connection], Iterator[Found]], grounds: Guarded) -> Iterator[Found]:
    """Yield what `read` reads of the database, in one transaction. Raises RuntimeDatabaseError, also for an empty
    database."""
    try:
        if path.stat().st_size == 0:
            raise RuntimeDatabaseError(f"{path} is empty (0 bytes)", fix=FIX)
    except OSError as error:
        raise RuntimeDatabaseError(f"{path}: {error.strerror}", fix=FIX) from error
    return read_database(path, read, fix=FIX, workspace=grounds)


def memory_table_of(connection: sqlite3.Connection, path: Path, aliases: tuple[str, ...]) -> MemoryTable:
    """Return the memories of an agent in an open database. Raises RuntimeDatabaseError when it has no such table."""
    columns, _ = columns_of(connection, TABLE)
    missing = [name for name in _REQUIRED if name not in columns]
    if not columns or missing:
        what = f"no column {', '.join(missing)}" if columns else f"no table {TABLE}"
        raise RuntimeDatabaseError(f"{path} has {what}", fix=FIX)
    where, parameters = owned_rows_condition(connection, aliases) if OWNER in columns else ("1", ())
    return MemoryTable(
        database=path,
        name=zeroclaw_paths.BRAIN,
        table=TABLE,
        columns=tuple(name for name in columns if name not in (VECTOR, OWNER)),
        vector=VECTOR if VECTOR in columns else None,
        where=where,
        parameters=parameters,
        model=_model(connection) if VECTOR in columns else None,
    )


def owned_rows_condition(connection: sqlite3.Connection, aliases: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the condition that selects an agent's rows, and its parameters. Rows without an owner are the default
    agent's, as in ZeroClaw's own migration."""
    ids = tuple(id for alias in aliases if (id := find_agent_id(connection, alias)) is not None)
    conditions = [f"{OWNER} = ?"] * len(ids) + [f"{OWNER} IS NULL"] * (zeroclaw_paths.DEFAULT_ALIAS in aliases)
    return (f"({' OR '.join(conditions)})" if conditions else "0", ids)


def find_agent_id(connection: sqlite3.Connection, alias: str) -> str | None:
    """Return the id of an agent in its rows, None when it has no rows yet. Raises RuntimeDatabaseError when the id is
    unknown."""
    if not columns_of(connection, "agents")[0]:
        raise RuntimeDatabaseError(
            "the database assigns memories to agents, but its table of agents is missing", fix=FIX
        )
    found = connection.execute("SELECT id FROM agents WHERE alias = ?", (alias,)).fetchone()
    return None if found is None else str(found[0])


def _model(connection: sqlite3.Connection) -> VectorModel | None:
    """Return the model of the vectors, which is known since v0.8.3."""
    if not {"key", "value"} <= set(columns_of(connection, "memory_meta")[0]):
        return None
    meta = dict(connection.execute("SELECT key, value FROM memory_meta"))
    provider, model = meta.get("embedding_provider"), meta.get("embedding_model")
    try:
        dimensions = int(meta.get("embedding_dimensions") or 0)
    except (TypeError, ValueError):
        return None
    if not (isinstance(provider, str) and isinstance(model, str) and provider and model) or dimensions <= 0:
        return None
    return VectorModel(f"{provider}/{model}", dimensions)
