"""`brain.db` as a restore leaves it: the rows of one agent merged into what is there, everything else untouched. The
table's own triggers keep the full text."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.memory_stores import DatabaseWrite, VectorModel, WriteOrder
from lifeboat_adapters.persona.documents import rows_of
from lifeboat_adapters.receipts import Fate, Outcome
from lifeboat_adapters.zeroclaw import host, paths
from lifeboat_adapters.zeroclaw.databases import brain
from lifeboat_adapters.zeroclaw.restore import brain_rows, database_files, ddl, vectors
from lifeboat_adapters.zeroclaw.restore.brain_rows import Decisions, Put, There, Wanted
from lifeboat_adapters.zeroclaw.restore.columns import Column, columns
from lifeboat_alf.embeddings import Vectors
from lifeboat_alf.json_types import JsonObject

SNAPSHOT = "MEMORY_SNAPSHOT.md"
"""ZeroClaw makes memories of it whenever it finds no database beside it, and they are never all of them."""
_NEW_COLUMNS = "the database belongs to a later ZeroClaw than Lifeboat knows"
_MIGRATE = "zeroclaw memory stats"


@dataclass(frozen=True, slots=True)
class Brain:
    """The database as it is: `there` are the agent's rows by id, `others` all other ids, `model` what its vectors are
    of."""

    columns: dict[str, Column]
    there: dict[str, There]
    others: frozenset[str]
    model: VectorModel | None
    tables: frozenset[str]

    @property
    def has_vectors(self) -> bool:
        return brain.VECTOR in self.columns

    @property
    def has_owners(self) -> bool:
        return brain.OWNER in self.columns


def plan(installation: Installation, order: WriteOrder) -> DatabaseWrite:
    """What a restore does to the memories of an agent.

    Raises RuntimeDatabaseError for a database that is there and cannot be merged into.
    """
    path = brain.path_of(installation)
    source = path if path.is_file() else None
    planned = database_files.stamp(path)
    found = _read(path, installation) if source is not None else _fresh(installation)
    decided = brain_rows.decide(order, found.there, found.others, found.columns, installation.native_id)
    if source is None and not decided.puts and not _has_snapshot(installation, order):
        return DatabaseWrite(path, False, _nothing, fates=tuple(decided.fates), withheld=tuple(decided.withheld))
    model = vectors.model_for(installation, order, found.model) if found.has_vectors else None
    change = _Change(installation, order, found, decided, model, source is None)
    warnings = (vectors.soon_pruned(installation, order, decided), _altered(decided.altered))

    def write(target: Path) -> None:
        tables, workspace = ddl.brain(installation.layout), installation.workspace
        database_files.make(target, source, planned, tables, change.make, workspace)

    return DatabaseWrite(
        path=path,
        changes=source is None or bool(decided.puts or decided.gone),
        write=write,
        fates=(*decided.fates, *_fates_of_tables(order, found), *vectors.fates(order, model)),
        replaces=database_files.beside(path) if source is not None else (),
        held=decided.held,
        withheld=tuple(decided.withheld),
        warnings=tuple(each for each in warnings if each),
        counts=_counts(decided, found),
    )


def _counts(decided: Decisions, found: Brain) -> dict[str, int]:
    """What becomes of the agent's rows."""
    added = sum(put.number is None for put in decided.puts.values())
    updated, removed = len(decided.puts) - added, len(decided.gone)
    return {"add": added, "update": updated, "keep": len(found.there) - updated - removed, "remove": removed}


def _altered(count: int) -> str:
    if not count:
        return ""
    what = "memory that was" if count == 1 else "memories that were"
    return f"{count} {what} deleted in the archive changed here since, and {'stays' if count == 1 else 'stay'}"


def _nothing(path: Path) -> None:
    """There is no database to make."""


def _has_snapshot(installation: Installation, order: WriteOrder) -> bool:
    in_workspace = host.data_folder(installation) == installation.workspace
    restored = in_workspace and order.state.entry(paths.RAW + SNAPSHOT) is not None
    return restored or (host.data_folder(installation) / SNAPSHOT).is_file()


# What is there ------------------------------------------------------------------------------------------------------


def _read(path: Path, installation: Installation) -> Brain:
    read = brain.read_brain(path, lambda opened: iter([_checked(opened, path, installation)]), installation.grounds)
    (found,) = read
    return found


def _checked(connection: sqlite3.Connection, path: Path, installation: Installation) -> Brain:
    database_files.check(connection, path)
    found = _look(connection, path, host.aliases_of(installation))
    version = _version(connection) if "schema_version" in found.tables else 0
    known = {*brain_rows.COMPARED, "key", brain.VECTOR, brain.OWNER}
    later = [name for name, one in found.columns.items() if one.required and one.default is None and name not in known]
    if version > ddl.MEMORIES_VERSION or later:
        raise RuntimeDatabaseError(f"{path}: {_NEW_COLUMNS}; it stays as it is", fix="lifeboat doctor")
    is_old = installation.layout == paths.CURRENT and not found.has_owners
    if is_old and installation.native_id != paths.DEFAULT_ALIAS:
        what = f"{path} was not brought up to date yet: start ZeroClaw once, so that it knows several agents"
        raise RuntimeDatabaseError(what, fix=_MIGRATE)
    return found


def _version(connection: sqlite3.Connection) -> int:
    said = connection.execute("SELECT max(version) FROM schema_version WHERE component = 'memories'").fetchone()
    return said[0] if said and isinstance(said[0], int) else 0


def _fresh(installation: Installation) -> Brain:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(ddl.brain(installation.layout))
        return _look(connection, brain.path_of(installation), host.aliases_of(installation))


def _look(connection: sqlite3.Connection, path: Path, aliases: tuple[str, ...]) -> Brain:
    table = brain.table_of(connection, path, aliases)
    there: dict[str, There] = {}
    named = ", ".join(f'"{name}"' for name in table.columns)
    query = f'SELECT rowid, {named} FROM "{brain.TABLE}" WHERE {table.where}'
    for number, *values in connection.execute(query, table.parameters):
        row = dict(zip(table.columns, values, strict=True))
        marks = brain_rows.mark_of(row), brain_rows.text_mark(row)
        there[str(row["id"])] = There(number, row["key"], *marks, row["updated_at"])
    query = f'SELECT id FROM "{brain.TABLE}" WHERE ({table.where}) IS NOT 1'
    others = frozenset(str(id) for (id,) in connection.execute(query, table.parameters))
    tables = frozenset(name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
    return Brain(columns(connection, brain.TABLE), there, others, table.model, tables)


# What is written ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Change:
    """All that changes in the database, in one transaction."""

    installation: Installation
    order: WriteOrder
    found: Brain
    decided: Decisions
    model: VectorModel | None
    is_new: bool

    def make(self, connection: sqlite3.Connection) -> None:
        if "schema_version" in self.found.tables:
            row = ("memories", ddl.MEMORIES_VERSION, self.order.now)
            connection.execute("INSERT OR IGNORE INTO schema_version VALUES (?, ?, ?)", row)
        self._make_room(connection)
        if self.is_new and self.found.has_owners:
            self._know_default(connection)
        if self.decided.puts:
            self._put_all(connection)
            if self.model is not None:
                vectors.note_model(connection, self.model)

    def _make_room(self, connection: sqlite3.Connection) -> None:
        """Rows that go, and keys that change hands, are out of the way before the first row is written."""
        gone = ((number,) for number in self.decided.gone)
        connection.executemany(f'DELETE FROM "{brain.TABLE}" WHERE rowid = ?', gone)
        keys = {row.number: row.key for row in self.found.there.values()}
        moved = [put for put in self.decided.puts.values() if put.number is not None and keys[put.number] != put.key]
        aside = ((f"\x00{put.number}\x00{put.id}", put.number) for put in moved)
        connection.executemany(f'UPDATE "{brain.TABLE}" SET key = ? WHERE rowid = ?', aside)

    def _put_all(self, connection: sqlite3.Connection) -> None:
        owner = self._owner(connection) if self.found.has_owners else None
        held = Vectors(self.order.state) if self.model is not None else None
        for item in brain_rows.wanted(self.order):
            put = self.decided.puts.get(item.id)
            if put is not None:
                _write(connection, put, self._row(item, put, held), owner)

    def _row(self, item: Wanted, put: Put, held: Vectors | None) -> JsonObject:
        row = {**brain_rows.as_kept(item.row, self.found.columns), "id": put.id, "key": put.key}
        if not self.found.has_vectors or (put.keeps_vector and put.number is not None):
            return row
        return {**row, brain.VECTOR: vectors.of(held, item, self.model, self.order.state)}

    def _know_default(self, connection: sqlite3.Connection) -> None:
        """ZeroClaw makes its own agent with the table, never later, and stores nothing without it."""
        id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.order.state.sequence.agent_id}/{paths.DEFAULT_ALIAS}"))
        if self.installation.native_id != paths.DEFAULT_ALIAS:
            row = (id, paths.DEFAULT_ALIAS, self.order.now)
            connection.execute("INSERT INTO agents (id, alias, created_at) VALUES (?, ?, ?)", row)
        else:
            self._owner(connection)

    def _owner(self, connection: sqlite3.Connection) -> str:
        """The agent's id in this database; it is the one that it had where nobody has that."""
        alias = self.installation.native_id
        known = brain.agent_id(connection, alias)
        if known is not None:
            return known
        former = next(rows_of(self.order.tables.get(f"{paths.BRAIN_ROWS}agents.jsonl")), {})
        id, created = former.get("id"), former.get("created_at")
        taken = connection.execute("SELECT 1 FROM agents WHERE id = ?", (str(id),)).fetchone()
        if not isinstance(id, str) or not id or taken:
            id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.order.state.sequence.agent_id}/{alias}"))
        row = (id, alias, created if isinstance(created, str) else self.order.now)
        connection.execute("INSERT INTO agents (id, alias, created_at) VALUES (?, ?, ?)", row)
        return id


def _write(connection: sqlite3.Connection, put: Put, row: JsonObject, owner: str | None) -> None:
    if put.number is not None:
        sets = ", ".join(f'"{name}" = ?' for name in row)
        connection.execute(f'UPDATE "{brain.TABLE}" SET {sets} WHERE rowid = ?', (*row.values(), put.number))
        return
    whole = row if owner is None else {**row, brain.OWNER: owner}
    names, marks = ", ".join(f'"{name}"' for name in whole), ", ".join("?" * len(whole))
    connection.execute(f'INSERT INTO "{brain.TABLE}" ({names}) VALUES ({marks})', tuple(whole.values()))


def _fates_of_tables(order: WriteOrder, found: Brain) -> Iterator[Fate]:
    """Rows that say whose memories they are, and how the database is made: the database says so itself."""
    for name in ("agents", "schema_version", "memory_meta"):
        path = f"{paths.BRAIN_ROWS}{name}.jsonl"
        if path in order.tables and name in found.tables:
            yield Fate("row", path, Outcome.TRANSFORMED, "the database says it in its own way")
