"""Copy of tenants, tokens, notes and the audit: once while tokens may change, and again while nothing can change."""

from __future__ import annotations

import json
from datetime import datetime
from typing import NamedTuple

from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_endpoint.endpoint import OBJECTS, SIGNING
from lifeboat_endpoint.engines.move_markers import MoveMarkers
from lifeboat_endpoint.engines.shared_statements import ENDPOINT, SET_ENDPOINT
from lifeboat_endpoint.migration import table_copy
from lifeboat_endpoint.migration.table_copy import AUDIT, CONTROL, CopiedTable
from lifeboat_endpoint.tenancy import control_statements as sql
from lifeboat_vault import errors
from lifeboat_vault.rows import audit_chain
from lifeboat_vault.store.store_protocols import MetadataStore, Row

MARK = "carried "
"""Prefix of the notes that say what was copied, and since when nothing changed."""
_MARKS = f"select name, value from note where name like '{MARK}%'"
_DROP_MARKS = f"delete from note where name like '{MARK}%'"
_OWN = f"name like '{MARK}%' or name in ('{SIGNING}', '{OBJECTS}')"
"""Notes that only the target has."""
_NOTES = f"select name, value from note where not ({_OWN})"
_DROP_NOTES = f"delete from note where not ({_OWN})"
_CREATED = "select created_at from control"
_SET_CREATED = "update control set created_at = ?"
_AUDIT_FROM = f"select {', '.join(AUDIT.columns)} from audit where number > ? order by number"
_MOVED = "endpoint.moved"


class MigrationMarks:
    """What was copied and compared since the endpoint stopped accepting changes, so that it is not done twice."""

    def __init__(self, rows: MetadataStore, since: datetime) -> None:
        self._value = json.dumps(since.isoformat())
        self._known = {name for name, value in rows.rows(_MARKS) if value == self._value}

    def has(self, what: str) -> bool:
        return MARK + what in self._known

    def set(self, rows: MetadataStore, what: str) -> None:
        with rows.transaction():
            rows.execute(sql.DROP_NOTE, (MARK + what,))
            rows.execute(sql.ADD_NOTE, (MARK + what, self._value))


def finish_control(
    source: MetadataStore, target: MetadataStore, endpoint_id: str, markers: MoveMarkers, now: datetime
) -> None:
    """Copy the tables of control twice, then end the old endpoint and allow the new one to be served.

    The second run is short, and the source is locked during it. Repeating it is not an error. Raises VaultDamaged if
    copies differ.
    """
    with source.snapshot(), target.transaction():
        if _is_finished(target, endpoint_id):
            return
        _carry(source, target)
    reach_crash_point(CrashPoint.ENDPOINT_MIGRATE_CONTROL)
    with source.transaction(), target.transaction():
        if _is_finished(target, endpoint_id):
            return
        _carry(source, target)
        _check_same(source, target)
        number = audit_chain.chain_ends(target)[1]
        audit_chain.append_row(target, now, _MOVED, "", {"rows": number})
        target.execute(_DROP_MARKS)
        target.execute(SET_ENDPOINT, (endpoint_id,))
        reach_crash_point(CrashPoint.ENDPOINT_MIGRATE_LEAVING)
        markers.finish()
        reach_crash_point(CrashPoint.ENDPOINT_MIGRATE_LEFT)
    reach_crash_point(CrashPoint.ENDPOINT_MIGRATE_DONE)


def _is_finished(target: MetadataStore, endpoint_id: str) -> bool:
    """Return whether the final transaction was committed, perhaps by an attempt that never got the answer."""
    return target.row(ENDPOINT) == (endpoint_id,)


def _carry(source: MetadataStore, target: MetadataStore) -> None:
    created = source.row(_CREATED)
    target.execute(_SET_CREATED, created or ("",))
    tenants, tokens = (_changes(source, target, table) for table in CONTROL)
    target.execute_many("delete from token where id = ?", tokens.dropped)
    target.execute_many("delete from tenant where id = ?", tenants.dropped)
    for table, changes in zip(CONTROL, (tenants, tokens), strict=True):
        target.execute_many(_upsert(table), changes.added)
    target.execute(_DROP_NOTES)
    target.execute_many(sql.ADD_NOTE, source.rows(_NOTES))
    _carry_audit(source, target)


class _TableChanges(NamedTuple):
    """Rows to insert or update, and ids of rows to delete."""

    added: list[Row]
    dropped: list[tuple[str]]


def _changes(source: MetadataStore, target: MetadataStore, table: CopiedTable) -> _TableChanges:
    """Compare a table by id, which is its first column."""
    chosen = f"select {', '.join(table.columns)} from {table.name}"
    wanted = {row[0]: tuple(row) for row in source.rows(chosen)}
    found = {row[0]: tuple(row) for row in target.rows(chosen)}
    added = [row for key, row in wanted.items() if found.get(key) != row]
    return _TableChanges(added, [(key,) for key in found if key not in wanted])


def _upsert(table: CopiedTable) -> str:
    sets = ", ".join(f"{name} = excluded.{name}" for name in table.columns[1:])
    return f"{table_copy.build_insert(table)} on conflict (id) do update set {sets}"


def _carry_audit(source: MetadataStore, target: MetadataStore) -> None:
    """Copy the rows after the newest copied one; all of them if the source was trimmed or rewritten meanwhile."""
    first, last, digest = audit_chain.chain_ends(target)
    kept = source.row("select hash from audit where number = ?", (last,))
    # The source was trimmed or rewritten, so the copies no longer follow from each other.
    if last and (kept is None or bytes(kept[0]).hex() != digest or audit_chain.chain_ends(source)[0] != first):
        target.execute("delete from audit")
        last = 0
    target.execute_many(table_copy.build_insert(AUDIT), source.rows(_AUDIT_FROM, (last,)))


def _check_same(source: MetadataStore, target: MetadataStore) -> None:
    for table in (*CONTROL, AUDIT):
        if table_copy.fingerprint_table(source, table) != table_copy.fingerprint_table(target, table):
            raise errors.VaultDamaged(f"the copy of the table {table.name} of the endpoint differs from the original")
