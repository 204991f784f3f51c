"""Items of states, for planning a purge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from lifeboat_alf.purging.purge_items import PurgeItem
from lifeboat_alf.states.agent_state import Record, State


def items_of(*states: State) -> Callable[[], Iterable[PurgeItem]]:
    """Return a function that iterates over the items of these states, for `plan_cuts`."""
    return lambda: (item for state in states for item in _items(state))


def _items(state: State) -> Iterator[PurgeItem]:
    for entry in state.entries():
        yield PurgeItem(entry.leaf, partial(state.body, entry.path), path=entry.path, meta=entry.meta)
    for record in state.records():
        yield PurgeItem(record.leaf, partial(_line, record), record_id=record.id, partition=record.partition)


def _line(record: Record) -> bytes:
    return record.line
