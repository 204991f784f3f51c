"""The part of a restore drill about databases: make what a restore would write for a new installation of the runtime,
and compare it row by row with the state.

Rows with cuts are compared cut, so that no secret is needed and none is written. A mismatch is named by its id.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from lifeboat_adapters.contract import Adapter, DatabaseSupport
from lifeboat_adapters.database_reading import as_json, columns_of, read_database
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.guarded_files import Guarded
from lifeboat_adapters.item_fates import ItemOutcome
from lifeboat_adapters.memory_stores import DatabaseWrite, MemoryTable, RowChoice, WriteOrder
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import effective_view, memory_records
from lifeboat_alf.states import entry_metas
from lifeboat_core.capture.row_reading import to_column_value
from lifeboat_core.home.context import Context
from lifeboat_core.restore.database_plan import TablesByPath, is_table
from lifeboat_core.restore.wanted_contents import WantedContents
from lifeboat_vault.vault.state_inventory import ProvenState

MEMORY, ROW = "memory", "row"


class RowComparison(NamedTuple):
    """`rows` were compared; `mismatches` are sentences."""

    rows: int
    mismatches: list[str]


def compare_databases(
    context: Context, state: ProvenState, contents: WantedContents, adapter: Adapter, folder: Path
) -> RowComparison:
    """Make the databases of a state in a new folder, and compare them.

    Raises RuntimeDatabaseError for one that cannot be made or read; OSError when the system stopped it.
    """
    workspace = folder / "workspace"
    placement, databases, credentials = adapter.placement, adapter.databases, adapter.credentials
    home = placement.home_around(workspace) if placement is not None else None
    if placement is None or home is None or databases is None:
        return RowComparison(0, [])
    rows = (
        row
        for row in contents.rows
        if is_table(row) and not (credentials is not None and credentials.is_store(row.path))
    )
    tables = TablesByPath(lambda row: state.body(row.path), rows)
    order = WriteOrder(state, tables=tables, choice=RowChoice(cron=True, sessions=True), now=context.now())
    installation = placement.install_into(home, workspace, state, {}, folder, "")
    writes = databases.plan_writes(installation, order)
    for write in writes:
        _make(context, write)
    made = [write for write in writes if write.changes]
    found = [_compared_tables(tables, made), _refused(writes)]
    if any(write.held for write in writes):
        store = databases.memory_store(installation)
        if isinstance(store, MemoryTable):
            found.append(_compared_memories(state, databases, store, writes))
    return RowComparison(sum(each.rows for each in found), [said for each in found for said in each.mismatches])


def _make(context: Context, write: DatabaseWrite) -> None:
    if not write.changes:
        return
    context.files.make_folders(write.path.parent, 0o700)
    try:
        write.write(write.path)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:  # this says nothing about the copy
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(write.path)) from error
        raise RuntimeDatabaseError(f"{write.path.name} cannot be created: {error}") from error


def _refused(writes: Iterable[DatabaseWrite]) -> RowComparison:
    """Report databases of a runtime whose content cannot be compared: a new one contains what the runtime wrote."""
    fates = (fate for write in writes for fate in write.fates)
    refused = [fate for fate in fates if fate.kind in (MEMORY, ROW) and fate.outcome is ItemOutcome.REJECTED]
    return RowComparison(0, [f"{fate.kind} {fate.name}: {fate.reason}" for fate in refused])


# Comparing ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _ExpectedRows:
    """Rows that have to be in a table, each as a digest of the columns it has: a table has more columns, and fills
    those that a row lacks."""

    columns: tuple[str, ...]
    _digests: dict[str, bytes] = field(default_factory=dict)
    _sets: set[tuple[str, ...]] = field(default_factory=set)

    def add(self, name: str, row: Mapping[str, Any]) -> None:
        chosen = tuple(column for column in self.columns if row.get(column) is not None)
        self._sets.add(chosen)
        self._digests[name] = _digest(chosen, row)

    @property
    def names(self) -> set[str]:
        return set(self._digests)

    def missing(self, rows: Iterable[Mapping[str, Any]]) -> list[str]:
        """Return the names of expected rows that are not among these rows."""
        found = {_digest(chosen, row) for row in rows for chosen in self._sets}
        return sorted(name for name, digest in self._digests.items() if digest not in found)


def _digest(chosen: tuple[str, ...], row: Mapping[str, Any]) -> bytes:
    values = [_plain(row.get(column)) for column in chosen]
    text = json.dumps([chosen, values], sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _plain(value: Any) -> Any:
    """Return a value independent of its column's type: a number in a text column is text."""
    value = as_json(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(int(value)) if isinstance(value, bool) else value if isinstance(value, dict) else str(value)


def _rows(
    path: Path,
    table: str,
    columns: tuple[str, ...],
    where: str = "1",
    given: tuple[str, ...] = (),
    workspace: Guarded = None,
) -> Iterator[JsonObject]:
    def read(connection: sqlite3.Connection) -> Iterator[JsonObject]:
        named = ", ".join(f'"{column}"' for column in columns)
        for values in connection.execute(f'SELECT {named} FROM "{table}" WHERE {where}', given):
            yield dict(zip(columns, values, strict=True))

    return read_database(path, read, workspace=workspace)


# Memories -----------------------------------------------------------------------------------------------------------


def _compared_memories(
    state: ProvenState, databases: DatabaseSupport, store: MemoryTable, writes: Iterable[DatabaseWrite]
) -> RowComparison:
    held = {record_id for write in writes for record_id in write.held}
    told = {fate.name: fate for write in writes for fate in write.fates if fate.kind == MEMORY}
    in_files = {
        each for entry in state.entries(archive_layout.RAW) for each in entry.meta.get(entry_metas.RECORDS) or ()
    }
    as_it_is = _ExpectedRows(store.columns)
    renamed = _ExpectedRows(tuple(name for name in store.columns if name not in (store.id, store.key)))
    wrong = []
    for item in effective_view.effective_records(state):
        name = str(item.record["id"])
        if name in held:
            row = {
                column: to_column_value(value)
                for column, value in databases.row_of(item.record, item.chain_ids[0]).items()
            }
            as_it_is.add(name, row)
            if name in told and told[name].outcome is ItemOutcome.TRANSFORMED:
                renamed.add(name, row)
        elif name not in told and _was_row(item, store) and in_files.isdisjoint(item.chain_ids):
            wrong.append(f"the memory {name} is in no database")
    missing = set(as_it_is.missing(_memory_rows(store)))
    if renamed.names & missing:
        missing -= renamed.names - set(renamed.missing(_memory_rows(store)))
    wrong += [f"the database row of the memory {name} differs from the captured state" for name in sorted(missing)]
    return RowComparison(len(as_it_is.names), wrong)


def _was_row(item: effective_view.EffectiveMemory, store: MemoryTable) -> bool:
    return memory_records.is_visible(item.record) and memory_records.origin_file(item.record) == store.name


def _memory_rows(store: MemoryTable) -> Iterator[JsonObject]:
    return _rows(store.database, store.table, store.columns, store.where, store.parameters, store.workspace)


# Other tables -------------------------------------------------------------------------------------------------------


def _compared_tables(tables: Mapping[str, bytes], writes: Iterable[DatabaseWrite]) -> RowComparison:
    """Compare the rows that a write keeps unchanged. A table of an archive has its name in the database."""
    count, wrong = 0, []
    for write in writes:
        accepted = {fate.name for fate in write.fates if fate.kind == ROW and fate.outcome is ItemOutcome.ACCEPTED}
        for path in sorted({name.rpartition("#")[0] for name in accepted} & tables.keys()):
            expected = _expected(write.path, path, tables[path], accepted)
            missing = expected.missing(_rows(write.path, _table_of(path), expected.columns))
            count += len(expected.names)
            wrong += [f"the row {name} differs from the captured state" for name in missing]
    return RowComparison(count, wrong)


def _expected(database: Path, path: str, data: bytes, accepted: set[str]) -> _ExpectedRows:
    (columns,) = read_database(database, lambda opened: iter([columns_of(opened, _table_of(path))[0]]))
    expected = _ExpectedRows(tuple(columns))
    for number, line in enumerate(data.split(b"\n"), 1):
        name = f"{path}#{number}"
        if name in accepted:
            expected.add(name, {column: to_column_value(value) for column, value in json.loads(line).items()})
    return expected


def _table_of(path: str) -> str:
    return PurePosixPath(path).stem
