"""Compute the changes between two kept sequences, in either direction, with two queries per table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from lifeboat_alf.archive import artifact_index
from lifeboat_alf.memory import memory_records
from lifeboat_alf.redaction.redactions import NONE, Redactions
from lifeboat_alf.states.agent_state import (
    EntryChange,
    GoneRecord,
    Operation,
    Record,
    RecordChange,
    Sequence,
    StateChanges,
    path_key,
    record_place,
)
from lifeboat_vault.bodies.body_objects import ObjectReader
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.store.store_protocols import MetadataStore, Row
from lifeboat_vault.vault.vault_state import (
    entry_from_row,
    has_line,
    has_stored_bytes,
    object_id_from_row,
    purged_record_from_row,
    record_from_row,
)


def changes_between(
    metadata: MetadataStore, objects: ObjectReader, base: Sequence, new: Sequence, redactions: Redactions = NONE
) -> StateChanges:
    """Return the changes from `base` to `new`. Bodies are read on demand. `redactions` are those of the vault.

    Equal to `lifeboat_alf.deltas.state_diff.diff_states` of the two states, without reading them.
    """
    with metadata.snapshot():
        entries = _entry_changes(metadata, objects, base.number, new.number)
        changed, removed, gone = _record_changes(metadata, objects, base.number, new.number)
    return StateChanges(base, new, entries, changed, removed, gone, redactions)


def _alive_at_one(metadata: MetadataStore, ended: str, begun: str, base: int, new: int) -> tuple[list[Row], list[Row]]:
    """Return (rows alive at `base` only, rows alive at `new` only)."""
    low, high = min(base, new), max(base, new)
    at_low = list(metadata.rows(ended, (low, high, low)))
    at_high = list(metadata.rows(begun, (low, high, high)))
    return (at_low, at_high) if base == low else (at_high, at_low)


# Entries ------------------------------------------------------------------------------------------------------------


def _entry_changes(metadata: MetadataStore, objects: ObjectReader, base: int, new: int) -> list[EntryChange]:
    before, after = _alive_at_one(metadata, sql.ENTRIES_ENDED, sql.ENTRIES_BEGUN, base, new)
    old = {row[0]: row for row in objects.columns.entries(before)}
    fresh = {row[0]: row for row in objects.columns.entries(after)}
    changes = [_entry_change(objects, path, old.get(path), fresh.get(path)) for path in {**old, **fresh}]
    return sorted((change for change in changes if change is not None), key=lambda change: path_key(change.path))


def _entry_change(objects: ObjectReader, path: str, old: Row | None, new: Row | None) -> EntryChange | None:
    base = None if old is None else entry_from_row(old)
    entry = None if new is None else entry_from_row(new)
    base_body = _reader(objects, old)
    same_bytes = base is not None and entry is not None and base.leaf.digest == entry.leaf.digest
    if base is not None and entry is not None and same_bytes and base.meta == entry.meta:
        return None
    carried = base is not None and artifact_index.is_carried(base, held=base_body is not None)
    return EntryChange(path, entry, None if same_bytes and carried else _reader(objects, new), base, base_body)


def _reader(objects: ObjectReader, row: Row | None) -> Callable[[], bytes] | None:
    if row is None or not has_stored_bytes(row):
        return None
    return partial(objects.read, object_id_from_row(row))


# Records ------------------------------------------------------------------------------------------------------------


def _record_changes(
    metadata: MetadataStore, objects: ObjectReader, base: int, new: int
) -> tuple[list[RecordChange], list[str], list[GoneRecord]]:
    """Return the changes in delta order, the ids missing in `new` (backwards: not yet created), and the gone records
    that differ in `new`."""
    rows = _alive_at_one(metadata, sql.RECORDS_ENDED, sql.RECORDS_BEGUN, base, new)
    before, after = (sorted(_records(objects, each), key=record_place) for each in rows)
    old, fresh = ({each.id: each for each in side} for side in (before, after))
    differing = [each for each in after if each.id not in old or old[each.id].leaf.digest != each.leaf.digest]
    changed = [_record_change(old[each.id], each) for each in differing if each.id in old and isinstance(each, Record)]
    appended = [_record_change(None, each) for each in differing if each.id not in old and isinstance(each, Record)]
    gone = [each for each in differing if isinstance(each, GoneRecord)]
    return [*changed, *appended], [each.id for each in before if each.id not in fresh], gone


def _records(objects: ObjectReader, rows: list[Row]) -> Iterator[Record | GoneRecord]:
    """Convert rows in the shape of `vault_statements.RECORDS_BEGUN`."""
    held = [row for row in rows if has_line(row)]
    yield from (record_from_row(row, objects) for row in objects.columns.records(held))
    yield from (purged_record_from_row(row, objects.columns) for row in rows if not has_line(row))


def record_pairs(
    metadata: MetadataStore, objects: ObjectReader, base: int, new: int
) -> list[tuple[Record | None, Record | None]]:
    """Return the line of each record at `base` and at `new` where both differ; None where it has none. Purged lines are
    left out."""
    with metadata.snapshot():
        rows = _alive_at_one(metadata, sql.RECORDS_ENDED, sql.RECORDS_BEGUN, base, new)
        old, fresh = ({each.id: each for each in _held_records(objects, side)} for side in rows)
    pairs = ((old.get(record_id), fresh.get(record_id)) for record_id in {**old, **fresh})
    return [(one, other) for one, other in pairs if one is None or other is None or one.line != other.line]


def _held_records(objects: ObjectReader, rows: list[Row]) -> Iterator[Record]:
    held = [row for row in rows if has_line(row)]
    return (record_from_row(row, objects) for row in objects.columns.records(held))


def _record_change(old: Record | GoneRecord | None, new: Record) -> RecordChange:
    if old is None:
        return RecordChange(_appending(new), new)
    return RecordChange(_operation(old, new), new)


_DELETED = b"deleted"


def _operation(old: Record | GoneRecord, new: Record) -> Operation:
    """Return the operation for a change in place: `delete` for a record that this change deletes, else `update`."""
    died_before = isinstance(old, Record) and _is_dead(old)
    return "delete" if _is_dead(new) and not died_before else "update"


def _appending(new: Record) -> Operation:
    """Return the operation for an appended record: `delete` for a tombstone, else `create`."""
    return "delete" if _is_dead(new) and bool(memory_records.parse_record(new.line).get("supersedes")) else "create"


def _is_dead(record: Record) -> bool:
    """Return whether a record is deleted. Only lines that contain the word are decoded."""
    return _DELETED in record.line and memory_records.is_deleted(memory_records.parse_record(record.line))
