"""Compute the changes between two states by walking both in parallel. Memory grows with the changes and with ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from heapq import merge
from typing import Any, TypeVar

from lifeboat_alf.archive import artifact_index
from lifeboat_alf.memory import memory_records
from lifeboat_alf.states.agent_state import (
    ABSENT_LEAF,
    BodyAbsent,
    Entry,
    EntryChange,
    GoneRecord,
    Operation,
    Record,
    RecordChange,
    State,
    StateChanges,
    path_key,
    record_place,
)

Thing = TypeVar("Thing")
_DELETED = b'"deleted"'


def diff_states(a: State, b: State) -> StateChanges:
    """Return the changes from `a` to `b`. Bodies are read later from the states, which must stay open until then."""
    changed, appended, removed, gone = _records(a, b)
    entries = list(_entries(a, b))
    return StateChanges(a.sequence, b.sequence, entries, [*changed, *appended], removed, gone, b.redactions)


def _entries(a: State, b: State) -> Iterator[EntryChange]:
    for old, new in _side_by_side(a.entries(), b.entries(), lambda entry: path_key(entry.path)):
        if new is None and old is not None:
            yield EntryChange(old.path, None, None, old, _reader(a, old))
        elif new is not None and old != new:
            yield _entry_change(a, b, old, new)


def _entry_change(a: State, b: State, old: Entry | None, new: Entry) -> EntryChange:
    base_body = _reader(a, old) if old is not None else None
    carried = old is not None and artifact_index.is_carried(old, held=base_body is not None)
    same = old is not None and old.leaf == new.leaf
    return EntryChange(new.path, new, None if same and carried else _reader(b, new), old, base_body)


def _reader(state: State, entry: Entry) -> Callable[[], bytes] | None:
    """Return a function that reads an entry's bytes; None when they are not held. Only entries whose bytes may be
    absent are tried."""
    if entry.leaf.digest == ABSENT_LEAF or artifact_index.is_referenced(entry.meta):
        try:
            state.body(entry.path)
        except BodyAbsent:
            return None
    return partial(state.body, entry.path)


_Changed = tuple[list[RecordChange], list[RecordChange], list[str], list[GoneRecord]]


def _records(a: State, b: State) -> _Changed:
    """Return the records changed in place, appended, removed and gone.

    A record that moved is removed and appended. A record whose missing line came back is changed in place.
    """
    in_place: list[RecordChange] = []
    appended: list[RecordChange] = []
    removed: list[str] = []
    gone: list[GoneRecord] = []
    for old, new in _side_by_side(_placed(a), _placed(b), record_place):
        same = old is not None and new is not None and old.id == new.id
        if same and old == new:
            continue
        if old is not None and not same:
            removed.append(old.id)
        if isinstance(new, GoneRecord):
            gone.append(new)
        elif new is not None:
            (in_place if same else appended).append(RecordChange(_operation(old if same else None, new), new))
    return in_place, appended, removed, gone


def _placed(state: State) -> Iterator[Record | GoneRecord]:
    """Yield the records of a state by place, including those without a line."""
    if not state.redactions:
        return state.records()
    streams: tuple[Iterator[Record | GoneRecord], ...] = (state.records(), state.gone())
    return merge(*streams, key=record_place)


def _operation(old: Record | GoneRecord | None, new: Record) -> Operation:
    """Return the operation on the record at this place; None for an appended record."""
    if old is None:
        return _appending(new)
    return _changing(old, new) if isinstance(old, Record) else "update"


def _changing(old: Record, new: Record) -> Operation:
    """Return `delete` for a record that this change deletes, else `update`, also for one that was deleted before."""
    dead = _DELETED in new.line and memory_records.is_deleted(memory_records.parse_record(new.line))
    return "delete" if dead and not memory_records.is_deleted(memory_records.parse_record(old.line)) else "update"


def _appending(new: Record) -> Operation:
    """Return `delete` for a tombstone and `create` for any other appended record."""
    if _DELETED not in new.line:
        return "create"
    record = memory_records.parse_record(new.line)
    return "delete" if memory_records.is_deleted(record) and record.get("supersedes") else "create"


def _side_by_side(
    first: Iterator[Thing], second: Iterator[Thing], key: Callable[[Thing], Any]
) -> Iterator[tuple[Thing | None, Thing | None]]:
    """Merge two sorted streams into pairs with equal keys; None where one has no match."""
    old, new = next(first, None), next(second, None)
    while old is not None or new is not None:
        if old is None or (new is not None and key(new) < key(old)):
            yield None, new
            new = next(second, None)
        elif new is None or key(old) < key(new):
            yield old, None
            old = next(first, None)
        else:
            yield old, new
            old, new = next(first, None), next(second, None)
