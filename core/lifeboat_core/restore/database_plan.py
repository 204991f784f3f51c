"""Plan what a restore does to the runtime's databases: the adapter plans each one, it is built in a working folder, and
then moved in like a file. The log of the old database is moved aside with it."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_adapters.contract import DatabaseSupport, Installation
from lifeboat_adapters.credential_types import CredentialDelivery
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.guarded_files import resolve_guarded
from lifeboat_adapters.memory_stores import DatabaseWrite, ServerWrite, WriteOrder
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason
from lifeboat_alf.memory.effective_view import effective_records
from lifeboat_alf.states.agent_state import State
from lifeboat_core.restore import restore_target
from lifeboat_core.restore.file_decisions import PlanItem, RestoreAction
from lifeboat_core.restore.journal_moves import is_inside
from lifeboat_core.restore.restore_journal import stat_path
from lifeboat_core.restore.state_dir_plan import PlanningContext, find_state_dir_root
from lifeboat_core.restore.wanted_contents import DATABASE, DATABASES, WantedFile

OTHERS = stat.S_IRWXG | stat.S_IRWXO
CUT_MEMORIES = "/memories.jsonl"
"""Ending of the table with memories that have cuts: one line each, with the id of the row first and every column that
holds a secret."""


@dataclass(frozen=True, slots=True)
class DatabasePlan:
    """`writes` are the selected databases with the fates of their rows, `items` the same as files, `server` what is put
    into a server."""

    items: list[PlanItem] = field(default_factory=list)
    writes: list[DatabaseWrite] = field(default_factory=list)
    server: ServerWrite | None = None


def plan_databases(around: PlanningContext, workspace: Path, newest: State | None) -> DatabasePlan:
    """Plan the databases. `newest` is the newest captured state of the agent if memories deleted since have to be
    removed, else None.

    Raises RuntimeDatabaseError.
    """
    installation, databases = around.installation, around.adapter.databases
    if installation is None or databases is None:
        return DatabasePlan()
    tables = [row for row in around.contents.rows if not around.is_store(row.path)]
    order = _order(around, databases, tables, newest)
    writes = databases.plan_writes(installation, order)
    server = None if around.options.path_globs else databases.plan_server_write(installation, order)
    chosen = [write for write in writes if _is_wanted(around, write, workspace)]
    items = [item for write in chosen for item in _items(around, installation, write, workspace)]
    if chosen:
        items += _left_out(around, tables)
    return DatabasePlan(items, chosen, server)


def plan_sessions(around: PlanningContext) -> list[CredentialDelivery]:
    """Return the deliveries of sessions through the runtime's own command, if the user asked for them. Raises
    RuntimeDatabaseError."""
    databases = around.adapter.databases
    if around.installation is None or databases is None or not around.options.rows.sessions:
        return []
    asked = (row for row in around.contents.rows if is_table(row) and around.options.wants(row.name))
    tables = {
        row.path: around.whole(row) for row in asked if not around.is_store(row.path) and not _barred(around, row)
    }
    return databases.session_deliveries(around.installation, tables)


def _order(
    around: PlanningContext, databases: DatabaseSupport, tables: list[WantedFile], newest: State | None
) -> WriteOrder:
    cut: set[str] = set()
    texts: dict[str, JsonObject] = {}
    for table in tables:
        if not is_table(table):
            filled, left = _memories(around, databases, table)
            texts |= filled
            cut |= left
    return WriteOrder(
        state=around.state,
        before=newest,
        exact=newest is not None,
        tables=TablesByPath(around.whole, (each for each in tables if is_table(each) and not _barred(around, each))),
        texts=texts,
        cut=frozenset(cut),
        choice=around.options.rows,
        paths=around.options.paths,
        now=around.context.now(),
    )


class TablesByPath(Mapping[str, bytes]):
    """Tables by archive path. Each is read (by `whole`) when it is accessed."""

    def __init__(self, whole: Callable[[WantedFile], bytes], tables: Iterable[WantedFile]) -> None:
        self._whole = whole
        self._tables = {table.path: table for table in tables}

    def __getitem__(self, path: str) -> bytes:
        return self._whole(self._tables[path])

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def is_table(row: WantedFile) -> bool:
    """Return whether rows are those of a table, not memories with cuts."""
    return not row.name.endswith(CUT_MEMORIES)


def _memories(
    around: PlanningContext, databases: DatabaseSupport, table: WantedFile
) -> tuple[dict[str, JsonObject], set[str]]:
    """Return the columns of memories with cuts that can be complete again, and the ids of the others.

    A memory that was edited since (in another runtime) is not what was cut and stays as edited. A runtime without rows
    has none.
    """
    try:
        records = _records_of(around, databases, _lines(around.body(table)))
    except RuntimeDatabaseError:
        return {}, set()
    if _barred(around, table):
        return {}, set(records.values())
    whole = _lines(around.whole(table))
    return {record: whole[place] for place, record in records.items() if place in whole}, set()


def _records_of(around: PlanningContext, databases: DatabaseSupport, lines: Mapping[int, JsonObject]) -> dict[int, str]:
    """Return the record that each line was cut from, if the row of the record still says what the line says."""
    wanted: dict[str, list[int]] = {}
    for place, line in lines.items():
        wanted.setdefault(str(next(iter(line.values()), None)), []).append(place)
    found: dict[int, str] = {}
    for item in effective_records(around.state) if wanted else ():
        row = databases.row_of(item.record, item.chain_ids[0])
        for place in {place for value in row.values() if isinstance(value, str) for place in wanted.get(value, ())}:
            if lines[place].items() <= row.items():
                found[place] = str(item.record["id"])
    return found


def _lines(data: bytes) -> dict[int, JsonObject]:
    """Return columns by line number, without invalid lines."""
    found: dict[int, JsonObject] = {}
    for place, line in enumerate(data.splitlines()):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and all(isinstance(value, str | int | float | None) for value in row.values()):
            found[place] = row
    return found


def _barred(around: PlanningContext, table: WantedFile) -> Reason | None:
    """Return why a table cannot be complete, None when it can."""
    return around.barred(table) if table.cuts else None


def _left_out(around: PlanningContext, tables: Iterable[WantedFile]) -> Iterator[PlanItem]:
    for table in tables:
        reason = _barred(around, table)
        if reason:
            yield PlanItem(table.name, RestoreAction.SKIP, Path(), table, reason=reason)


def _is_wanted(around: PlanningContext, write: DatabaseWrite, workspace: Path) -> bool:
    """Return whether the user selected a database, by its name or by that of the folder of its rows."""
    options, path = around.options, _resolved(write.path, workspace)
    name = path.relative_to(workspace).as_posix() if is_inside(path, workspace) else path.name
    rows = (f"{DATABASES}{part}/memories.jsonl" for part in (path.stem, path.parent.name))
    return options.wants(name) or any(options.wants(row) for row in rows)


def _items(
    around: PlanningContext, installation: Installation, write: DatabaseWrite, workspace: Path
) -> Iterator[PlanItem]:
    files, path = around.context.files, _resolved(write.path, workspace)
    root = _root(around, installation, path, workspace)
    prefix = archive_layout.home_prefix(around.adapter.runtime) + DATABASES
    name, seen = path.relative_to(root).as_posix(), stat_path(files, path)
    is_open = seen is not None and bool(files.lstat(path).st_mode & OTHERS)
    meta = {} if is_open else {"private": True}
    wanted = WantedFile(name, f"{prefix}{write.path.stem}", DATABASE, meta, make=write.write)
    if not write.changes:
        yield PlanItem(name, RestoreAction.SAME, root, wanted, seen)
        return
    yield PlanItem(name, RestoreAction.CREATE if seen is None else RestoreAction.OVERWRITE, root, wanted, seen)
    for each in write.replaces:
        beside = _resolved(each, workspace)
        found = stat_path(files, beside)
        if found is not None:
            yield PlanItem(beside.relative_to(root).as_posix(), RestoreAction.REMOVE, root, seen=found, companion=True)


def _root(around: PlanningContext, installation: Installation, path: Path, workspace: Path) -> Path:
    """Return the folder of the plan that a database lies in."""
    home = find_state_dir_root(around.adapter, installation)
    folders = [workspace, *([] if home is None else [restore_target.resolve_target(home.folder)])]
    return next((folder for folder in folders if is_inside(path, folder)), path.parent)


def _resolved(path: Path, workspace: Path) -> Path:
    """Return the real path of a file, which may itself be a link. A link inside the workspace must not lead
    elsewhere."""
    return resolve_guarded(path.parent, workspace) / path.name
