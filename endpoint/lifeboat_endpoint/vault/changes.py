"""What lies between two kept sequences, in either direction, by two queries per table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from lifeboat_alf.records import TOMBSTONE
from lifeboat_alf.state import Changes, EntryChange, Operation, Record, RecordChange, Sequence, path_key
from lifeboat_endpoint.store.protocols import MetadataStore, Row
from lifeboat_endpoint.vault import statements as sql
from lifeboat_endpoint.vault.objects import Objects
from lifeboat_endpoint.vault.state import entry_of, is_held, object_of, record_of


def between(metadata: MetadataStore, objects: Objects, base: Sequence, new: Sequence) -> Changes:
    """Everything that leads from `base` to `new`. Bodies are read when asked for.

    On the way back (`new` is the older one) a record that `new` does not have yet is a `delete` with its line as it
    stands in `base`: shown in a diff, not expressible in a delta.
    """
    with metadata.snapshot():
        entries = _entry_changes(metadata, objects, base.number, new.number)
        records = _record_changes(metadata, objects, base.number, new.number)
    return Changes(base, new, entries, records)


def _alive_at_one(metadata: MetadataStore, ended: str, begun: str, base: int, new: int) -> tuple[list[Row], list[Row]]:
    """(rows alive at `base` only, rows alive at `new` only)."""
    low, high = min(base, new), max(base, new)
    at_low = list(metadata.rows(ended, (low, high, low)))
    at_high = list(metadata.rows(begun, (low, high, high)))
    return (at_low, at_high) if base == low else (at_high, at_low)


# Entries ------------------------------------------------------------------------------------------------------------


def _entry_changes(metadata: MetadataStore, objects: Objects, base: int, new: int) -> list[EntryChange]:
    before, after = _alive_at_one(metadata, sql.ENTRIES_ENDED, sql.ENTRIES_BEGUN, base, new)
    old = {row[0]: row for row in before}
    fresh = {row[0]: row for row in after}
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


def _record_changes(metadata: MetadataStore, objects: Objects, base: int, new: int) -> list[RecordChange]:
    before, after = _alive_at_one(metadata, sql.RECORDS_ENDED, sql.RECORDS_BEGUN, base, new)
    old = {row[0]: record_of(row, objects) for row in before}
    fresh = [record_of(row, objects) for row in after]
    changed = [RecordChange(_operation(record, True), record) for record in fresh if _differs(record, old)]
    vanished = [RecordChange("delete", record) for record in _not_in(old, fresh)]
    appended = [RecordChange(_operation(record, False), record) for record in fresh if record.id not in old]
    return sorted(changed + vanished, key=_place) + sorted(appended, key=_place)


def _differs(record: Record, old: dict[str, Record]) -> bool:
    return record.id in old and old[record.id].leaf != record.leaf


def _not_in(old: dict[str, Record], fresh: list[Record]) -> Iterable[Record]:
    kept = {record.id for record in fresh}
    return (record for record in old.values() if record.id not in kept)


def _place(change: RecordChange) -> tuple[bytes, int]:
    return change.record.partition.encode(), change.record.position


class _Fate(msgspec.Struct):
    status: object = None
    content: object = None
    supersedes: object = None


_fate = msgspec.json.Decoder(_Fate)


def _operation(record: Record, in_place: bool) -> Operation:
    """The word of a delta for a record: in place `update`, or `delete` when the line says deleted; appended
    `create`, or `delete` for a tombstone."""
    try:
        fate = _fate.decode(record.line)
    except msgspec.MsgspecError:
        fate = _Fate()
    if in_place:
        return "delete" if fate.status == "deleted" else "update"
    tombstone = fate.status == "deleted" and fate.content == TOMBSTONE and bool(fate.supersedes)
    return "delete" if tombstone else "create"
