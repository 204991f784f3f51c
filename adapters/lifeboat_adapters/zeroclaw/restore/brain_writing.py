"""Plan and write `brain.db` for a restore: merge the rows of one agent, and leave everything else untouched. The
table's own triggers update the full-text index."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from lifeboat_adapters import database_building
from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import DatabaseWrite, VectorModel, WriteOrder
from lifeboat_adapters.persona.derivation_files import iter_table_rows
from lifeboat_adapters.table_columns import SqliteColumn, read_table_columns
from lifeboat_adapters.zeroclaw import zeroclaw_folders, zeroclaw_paths
from lifeboat_adapters.zeroclaw.databases import brain_database
from lifeboat_adapters.zeroclaw.restore import brain_rows, memory_vectors, table_definitions
from lifeboat_adapters.zeroclaw.restore.brain_rows import (
    BrainRowDecisions,
    BrainRowWrite,
    ExistingBrainRow,
    WantedBrainRow,
)
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory.embeddings import StateVectors

SNAPSHOT = "MEMORY_SNAPSHOT.md"
"""A file from which ZeroClaw makes memories whenever it finds no database beside it. It never holds all of them."""
_NEW_COLUMNS = "the database belongs to a release of ZeroClaw that is too new for this Lifeboat"
_MIGRATE = "zeroclaw memory stats"


@dataclass(frozen=True, slots=True)
class BrainDatabase:
    """The present database. `there` are the agent's rows by id, `others` all other ids, `model` the model of its
    vectors."""

    columns: dict[str, SqliteColumn]
    there: dict[str, ExistingBrainRow]
    others: frozenset[str]
    model: VectorModel | None
    tables: frozenset[str]

    @property
    def has_vectors(self) -> bool:
        return brain_database.VECTOR in self.columns

    @property
    def has_owners(self) -> bool:
        return brain_database.OWNER in self.columns


def plan_brain_write(installation: Installation, order: WriteOrder) -> DatabaseWrite:
    """Plan what a restore does to the memories of an agent.

    Raises RuntimeDatabaseError for an existing database that cannot be merged into.
    """
    path = brain_database.brain_path_of(installation)
    source = path if path.is_file() else None
    planned = database_building.database_stamp(path)
    found = _read(path, installation) if source is not None else _fresh(installation)
    decided = brain_rows.decide_brain_rows(order, found.there, found.others, found.columns, installation.native_id)
    if source is None and not decided.puts and not _has_snapshot(installation, order):
        return DatabaseWrite(path, False, _nothing, fates=tuple(decided.fates), withheld=tuple(decided.withheld))
    model = memory_vectors.model_for(installation, order, found.model) if found.has_vectors else None
    change = _BrainChange(installation, order, found, decided, model, source is None)
    warnings = (memory_vectors.soon_pruned(installation, order, decided), _altered(decided.altered))

    def write(target: Path) -> None:
        tables, workspace = table_definitions.brain_tables(installation.layout), installation.workspace
        database_building.build_database(target, source, planned, tables, change.make, workspace, brain_database.FIX)

    return DatabaseWrite(
        path=path,
        changes=source is None or bool(decided.puts or decided.gone),
        write=write,
        fates=(*decided.fates, *_fates_of_tables(order, found), *memory_vectors.vector_fates(order, model)),
        replaces=database_building.side_files_of(path) if source is not None else (),
        held=decided.held,
        withheld=tuple(decided.withheld),
        warnings=tuple(each for each in warnings if each),
        counts=_counts(decided, found),
    )


def _counts(decided: BrainRowDecisions, found: BrainDatabase) -> dict[str, int]:
    """Return the numbers of the agent's rows to add, update, keep and remove."""
    added = sum(put.number is None for put in decided.puts.values())
    updated, removed = len(decided.puts) - added, len(decided.gone)
    return {"add": added, "update": updated, "keep": len(found.there) - updated - removed, "remove": removed}


def _altered(count: int) -> str:
    if not count:
        return ""
    what = "memory" if count == 1 else "memories"
    return (
        f"{count} {what} changed in this database after the deletion in the archive, so the restore kept "
        f"{'it' if count == 1 else 'them'}"
    )


def _nothing(path: Path) -> None:
    """Write nothing, because there is no database to make."""


def _has_snapshot(installation: Installation, order: WriteOrder) -> bool:
    in_workspace = zeroclaw_folders.data_folder(installation) == installation.workspace
    restored = in_workspace and order.state.entry(zeroclaw_paths.RAW + SNAPSHOT) is not None
    return restored or (zeroclaw_folders.data_folder(installation) / SNAPSHOT).is_file()


# What is there ------------------------------------------------------------------------------------------------------


def _read(path: Path, installation: Installation) -> BrainDatabase:
    read = brain_database.read_brain(
        path, lambda opened: iter([_checked(opened, path, installation)]), installation.grounds
    )
    (found,) = read
    return found


def _checked(connection: sqlite3.Connection, path: Path, installation: Installation) -> BrainDatabase:
    database_building.refuse_damaged(connection, path, brain_database.FIX)
    found = _look(connection, path, zeroclaw_folders.aliases_of(installation))
    version = _version(connection) if "schema_version" in found.tables else 0
    known = {*brain_rows.COMPARED, "key", brain_database.VECTOR, brain_database.OWNER}
    later = [name for name, one in found.columns.items() if one.required and one.default is None and name not in known]
    if version > table_definitions.MEMORIES_VERSION or later:
        raise RuntimeDatabaseError(f"{path} was not changed: {_NEW_COLUMNS}", fix="lifeboat doctor")
    is_old = installation.layout == zeroclaw_paths.CURRENT and not found.has_owners
    if is_old and installation.native_id != zeroclaw_paths.DEFAULT_ALIAS:
        what = f"{path} does not support several agents yet: start ZeroClaw once, so that it upgrades the database"
        raise RuntimeDatabaseError(what, fix=_MIGRATE)
    return found


def _version(connection: sqlite3.Connection) -> int:
    said = connection.execute("SELECT max(version) FROM schema_version WHERE component = 'memories'").fetchone()
    return said[0] if said and isinstance(said[0], int) else 0


def _fresh(installation: Installation) -> BrainDatabase:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(table_definitions.brain_tables(installation.layout))
        return _look(connection, brain_database.brain_path_of(installation), zeroclaw_folders.aliases_of(installation))


def _look(connection: sqlite3.Connection, path: Path, aliases: tuple[str, ...]) -> BrainDatabase:
    table = brain_database.memory_table_of(connection, path, aliases)
    there: dict[str, ExistingBrainRow] = {}
    named = ", ".join(f'"{name}"' for name in table.columns)
    query = f'SELECT rowid, {named} FROM "{brain_database.TABLE}" WHERE {table.where}'
    for number, *values in connection.execute(query, table.parameters):
        row = dict(zip(table.columns, values, strict=True))
        marks = brain_rows.digest_compared_columns(row), brain_rows.text_mark(row)
        there[str(row["id"])] = ExistingBrainRow(number, row["key"], *marks, row["updated_at"])
    query = f'SELECT id FROM "{brain_database.TABLE}" WHERE ({table.where}) IS NOT 1'
    others = frozenset(str(id) for (id,) in connection.execute(query, table.parameters))
    tables = frozenset(name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
    return BrainDatabase(read_table_columns(connection, brain_database.TABLE), there, others, table.model, tables)


# What is written ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _BrainChange:
    """All changes of the database, in one transaction."""

    installation: Installation
    order: WriteOrder
    found: BrainDatabase
    decided: BrainRowDecisions
    model: VectorModel | None
    is_new: bool

    def make(self, connection: sqlite3.Connection) -> None:
        if "schema_version" in self.found.tables:
            row = ("memories", table_definitions.MEMORIES_VERSION, self.order.now)
            connection.execute("INSERT OR IGNORE INTO schema_version VALUES (?, ?, ?)", row)
        self._make_room(connection)
        if self.is_new and self.found.has_owners:
            self._know_default(connection)
        if self.decided.puts:
            self._put_all(connection)
            if self.model is not None:
                memory_vectors.note_model(connection, self.model)

    def _make_room(self, connection: sqlite3.Connection) -> None:
        """Remove rows and free keys that change hands before the first row is written."""
        gone = ((number,) for number in self.decided.gone)
        connection.executemany(f'DELETE FROM "{brain_database.TABLE}" WHERE rowid = ?', gone)
        keys = {row.number: row.key for row in self.found.there.values()}
        moved = [put for put in self.decided.puts.values() if put.number is not None and keys[put.number] != put.key]
        aside = ((f"\x00{put.number}\x00{put.id}", put.number) for put in moved)
        connection.executemany(f'UPDATE "{brain_database.TABLE}" SET key = ? WHERE rowid = ?', aside)

    def _put_all(self, connection: sqlite3.Connection) -> None:
        owner = self._owner(connection) if self.found.has_owners else None
        held = StateVectors(self.order.state) if self.model is not None else None
        for item in brain_rows.list_wanted_rows(self.order):
            put = self.decided.puts.get(item.id)
            if put is not None:
                _write(connection, put, self._row(item, put, held), owner)

    def _row(self, item: WantedBrainRow, put: BrainRowWrite, held: StateVectors | None) -> JsonObject:
        row = {**brain_rows.fill_row_defaults(item.row, self.found.columns), "id": put.id, "key": put.key}
        if not self.found.has_vectors or (put.keeps_vector and put.number is not None):
            return row
        return {**row, brain_database.VECTOR: memory_vectors.find_vector(held, item, self.model, self.order.state)}

    def _know_default(self, connection: sqlite3.Connection) -> None:
        """Create ZeroClaw's own agent. ZeroClaw creates it together with the table only, and stores nothing
        without it."""
        id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.order.state.sequence.agent_id}/{zeroclaw_paths.DEFAULT_ALIAS}"))
        if self.installation.native_id != zeroclaw_paths.DEFAULT_ALIAS:
            row = (id, zeroclaw_paths.DEFAULT_ALIAS, self.order.now)
            connection.execute("INSERT INTO agents (id, alias, created_at) VALUES (?, ?, ?)", row)
        else:
            self._owner(connection)

    def _owner(self, connection: sqlite3.Connection) -> str:
        """Return the agent's id in this database: the present one, otherwise the former one if it is free."""
        alias = self.installation.native_id
        known = brain_database.find_agent_id(connection, alias)
        if known is not None:
            return known
        former = next(iter_table_rows(self.order.tables.get(f"{zeroclaw_paths.BRAIN_ROWS}agents.jsonl")), {})
        id, created = former.get("id"), former.get("created_at")
        taken = connection.execute("SELECT 1 FROM agents WHERE id = ?", (str(id),)).fetchone()
        if not isinstance(id, str) or not id or taken:
            id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.order.state.sequence.agent_id}/{alias}"))
        row = (id, alias, created if isinstance(created, str) else self.order.now)
        connection.execute("INSERT INTO agents (id, alias, created_at) VALUES (?, ?, ?)", row)
        return id


def _write(connection: sqlite3.Connection, put: BrainRowWrite, row: JsonObject, owner: str | None) -> None:
    if put.number is not None:
        sets = ", ".join(f'"{name}" = ?' for name in row)
        connection.execute(f'UPDATE "{brain_database.TABLE}" SET {sets} WHERE rowid = ?', (*row.values(), put.number))
        return
    whole = row if owner is None else {**row, brain_database.OWNER: owner}
    names, marks = ", ".join(f'"{name}"' for name in whole), ", ".join("?" * len(whole))
    connection.execute(f'INSERT INTO "{brain_database.TABLE}" ({names}) VALUES ({marks})', tuple(whole.values()))


def _fates_of_tables(order: WriteOrder, found: BrainDatabase) -> Iterator[ItemFate]:
    """Yield the fates of rows about owners and about the shape of the database. The database itself already
    holds both."""
    for name in ("agents", "schema_version", "memory_meta"):
        path = f"{zeroclaw_paths.BRAIN_ROWS}{name}.jsonl"
        if path in order.tables and name in found.tables:
            yield ItemFate("row", path, ItemOutcome.TRANSFORMED, "the memory was converted to the form of the database")
