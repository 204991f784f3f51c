"""Restore databases of the agent itself in a workspace together with their logs.

SQLite reads a log into any database beside it. A log is therefore moved aside with its database, and a file
with the right bytes is still another state if its log has more.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from lifeboat_adapters.stable_reads import sqlite_files
from lifeboat_adapters.stable_reads.file_reading import OverLimit, Unstable
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import State
from lifeboat_core.capture.file_capture import LARGEST
from lifeboat_core.home.context import Context
from lifeboat_core.restore.file_decisions import DecisionRules, PlanItem, RestoreAction
from lifeboat_core.restore.restore_journal import stat_path
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_core.restore.wanted_contents import FILE
from lifeboat_core.texts.readable_json import make_printable

_TOUCHED = (RestoreAction.OVERWRITE, RestoreAction.REMOVE, RestoreAction.SAME)


def add_database_logs(context: Context, items: Iterable[PlanItem], rules: DecisionRules) -> list[PlanItem]:
    """Return the items of a plan for one folder, with the files beside each database that has to be replaced. Raises
    OSError."""
    decided = list(items)
    named = {item.name for item in decided}
    found: list[PlanItem] = []
    for item in decided:
        beside = [*_side_files(context, item)] if _is_database(context, item) else []
        beside = [each for each in beside if each.name not in named]
        if beside:
            item = replace(_decided(context, item, rules), is_database=True)
        found.append(item)
        found += beside if item.action is not RestoreAction.SAME else []
    return found


def is_damaged_database(body: bytes) -> bool:
    """Return whether a file is a database that SQLite cannot read."""
    return body.startswith(sqlite_files.HEADER) and sqlite_files.find_damage_in(body) is not None


def describe_purge_damage(state: State, items: Iterable[PlanItem]) -> Iterator[str]:
    """Yield a sentence for each written database that SQLite cannot read because of a redaction."""
    for item in items:
        entry = None if item.wanted is None or item.wanted.has_gap else item.wanted.entry
        if (
            item.action not in (RestoreAction.CREATE, RestoreAction.OVERWRITE)
            or entry is None
            or not entry_metas.is_file(entry.meta)
        ):
            continue
        if entry.sha256 is None and is_damaged_database(state.body(entry.path)):  # a redaction removes this digest
            name = make_printable(item.name)
            yield f"{name}: SQLite reports this database as damaged, because a purge removed content from it"


def _is_database(context: Context, item: PlanItem) -> bool:
    """Return whether a database is at a place. A log that was left behind alone counts, because SQLite would read it
    into the new database."""
    if item.action is RestoreAction.CREATE:
        return sqlite_files.has_log(context.files, item.root / item.name)
    if item.action not in _TOUCHED or item.seen is None or not stat.S_ISREG(item.seen.kind):
        return False
    return sqlite_files.is_database(context.files, item.root / item.name)


def _side_files(context: Context, item: PlanItem) -> Iterator[PlanItem]:
    for end in sqlite_files.SIDE_FILES:
        name = f"{item.name}{end}"
        seen = stat_path(context.files, item.root / name)
        if seen is not None and stat.S_ISREG(seen.kind):
            yield PlanItem(name, RestoreAction.REMOVE, item.root, seen=seen, companion=True)


def _decided(context: Context, item: PlanItem, rules: DecisionRules) -> PlanItem:
    """Decide about a database by its bytes together with those of its log."""
    if item.action in (RestoreAction.CREATE, RestoreAction.REMOVE) or item.wanted is None or item.wanted.kind != FILE:
        return item
    data = _read(context, item.root / item.name)
    if data is None or not rules.equal(item.wanted, data):
        return replace(item, action=RestoreAction.OVERWRITE, old_time=None)
    return replace(item, action=RestoreAction.SAME)


def _read(context: Context, path: Path) -> bytes | None:
    """Return the state of a database; None when it cannot be read now, so that it is replaced."""
    try:
        with make_scratch_folder(context, "database") as folder:
            return sqlite_files.read_database(context.files, path, LARGEST, folder).data
    except (OSError, OverLimit, Unstable):
        return None
