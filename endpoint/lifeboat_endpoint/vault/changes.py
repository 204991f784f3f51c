"""What lies between two kept sequences, in either direction, by two queries per table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lifeboat_alf import records
from lifeboat_alf.state import Changes, EntryChange, Operation, Record, RecordChange, Sequence, path_key
from lifeboat_endpoint.store.protocols import MetadataStore, Row
from lifeboat_endpoint.vault import statements as sql
from lifeboat_endpoint.vault.objects import Objects
from lifeboat_endpoint.vault.state import entry_of, is_held, object_of, record_of


def between(metadata: MetadataStore, objects: Objects, base: Sequence, new: Sequence) -> Changes:
    """Everything that leads from `base` to `new`. Bodies are read when asked for.

    Equal to `lifeboat_alf.diff.diff` of the two states, without reading them.
    """
    with metadata.snapshot():
        entries = _entry_changes(metadata, objects, base.number, new.number)
        changed, removed = _record_changes(metadata, objects, base.number, new.number)
    return Changes(base, new, entries, changed, removed)


def _alive_at_one(metadata: MetadataStore, ended: str, begun: str, base: int, new: int) -> tuple[list[Row], list[Row]]:
    """(rows alive at `base` only, rows alive at `new` only)."""
    low, high = min(base, new), max(base, new)
    at_low = list(metadata.rows(ended, (low, high, low)))
    at_high = list(metadata.rows(begun, (low, high, high)))
    return (at_low, at_high) if base == low else (at_high, at_low)


# Entries ------------------------------------------------------------------------------------------------------------


def _entry_changes(metadata: MetadataStore, objects: Objects, base: int, new: int) -> list[EntryChange]:
    before, after = _alive_at_one(metadata, sql.ENTRIES_ENDED, sql.ENTRIES_BEGUN, base, new)
    old = {row[0]: row for row in objects.columns.entries(before)}
    fresh = {row[0]: row for row in objects.columns.entries(after)}
    changes = [_entry_change(objects, path, old.get(path), fresh.get(path)) for path in {**old, **fresh}]
    return sorted((change for change in changes if change is not None), key=lambda change: path_key(change.path))


def _entry_change(objects: Objects, path: str, old: Row | None, new: Row | None) -> EntryChange | None:
    base = None if old is None else entry_of(old)
    entry = None if new is None else entry_of(new)
    if base is not None and entry is not None and (base.meta, base.leaf) == (entry.meta, entry.leaf):
        return None
    same_bytes = base is not None and entry is not None and base.leaf == entry.leaf
    body = None if same_bytes else _reader(objects, new)
    return EntryChange(path, entry, body, base, _reader(objects, old))


def _reader(objects: Objects, row: Row | None) -> Callable[[], bytes] | None:
    if row is None or not is_held(row):
        return None
    return partial(objects.read, object_of(row))


# Records ------------------------------------------------------------------------------------------------------------


def _record_changes(
    metadata: MetadataStore, objects: Objects, base: int, new: int
) -> tuple[list[RecordChange], list[str]]:
    """Changes in the order of a delta, and the ids that `new` lacks (the way back, before they were created)."""
    rows = _alive_at_one(metadata, sql.RECORDS_ENDED, sql.RECORDS_BEGUN, base, new)
    before, after = (objects.columns.records(each) for each in rows)
    old = {record.id: record for record in sorted((record_of(row, objects) for row in before), key=_place)}
    fresh = {record.id: record for record in sorted((record_of(row, objects) for row in after), key=_place)}
    pairs = [(old[number], record) for number, record in fresh.items() if number in old]
    changed = [RecordChange(_operation(one, two), two) for one, two in pairs if one.leaf != two.leaf]
    appended = [RecordChange(_appending(record), record) for number, record in fresh.items() if number not in old]
    return [*changed, *appended], [number for number in old if number not in fresh]


def _place(record: Record) -> tuple[bytes, int]:
    return path_key(record.partition), record.position


_DELETED = b"deleted"


def _operation(old: Record, new: Record) -> Operation:
    """In place: `delete` for a record that dies by this change, `update` for every other one."""
    return "delete" if _is_dead(new) and not _is_dead(old) else "update"


def _appending(new: Record) -> Operation:
    """Appended: `delete` for a tombstone, `create` for every other one."""
    return "delete" if _is_dead(new) and bool(records.parse(new.line).get("supersedes")) else "create"


def _is_dead(record: Record) -> bool:
    """Only a line that holds the word is decoded."""
    return _DELETED in record.line and records.is_deleted(records.parse(record.line))
