"""Which files of a log hold, or are patches against, what a purge names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import BinaryIO, NamedTuple

from lifeboat_alf import layout
from lifeboat_alf.delta_reader import DeltaReader
from lifeboat_alf.state import Entry, GoneRecord, Record, State
from lifeboat_daemon.remotes.contract import Place
from lifeboat_daemon.remotes.sealed.head import Row
from lifeboat_daemon.remotes.sealed.states import Layers, check_state, damaged


class Read(NamedTuple):
    """One file of a log: what it makes, and of a delta what it goes on top of and what it carries. Open until the next
    one is asked for."""

    row: Row
    state: State
    below: State | None = None
    delta: DeltaReader | None = None


def walk(rows: Sequence[Row], fetch: Callable[[Row], BinaryIO], unnamed: Callable[[], BinaryIO]) -> Iterator[Read]:
    """Every file of a run of rows that begins with a snapshot, in order. Raises RemoteDamaged."""
    with Layers(unnamed) as layers, damaged():
        for row in rows:
            if row.is_snapshot:
                read = Read(row, layers.begin(fetch(row)))
            else:
                below, made, delta = layers.put(fetch(row))
                read = Read(row, made, below, delta)
            check_state(read.state, row)
            yield read


def is_placed(row: Row, places: Iterable[Place]) -> bool:
    """Whether a file has to do with leaves that stand in these places: a snapshot of a state in which one stands, a
    delta over whose span one comes or goes."""
    on = row.on
    if on is None:
        return any(place.holds(row.number) for place in places)
    return any(_between(place.first, on, row.number) or _between(place.last, on, row.number) for place in places)


def _between(number: int | None, on: int, to: int) -> bool:
    return number is not None and on < number <= to


def mentions(read: Read, leaves: Collection[bytes]) -> bool:
    """Whether a file has to do with leaves."""
    return next(mentioned(read, leaves), None) is not None


def mentioned(read: Read, leaves: Collection[bytes]) -> Iterator[bytes]:
    """Those of some leaves that a file has to do with, some of them more than once."""
    if read.delta is None or read.below is None:
        yield from (entry.leaf.digest for entry in read.state.entries() if _is_of(entry, leaves))
        yield from (record.leaf.digest for record in read.state.records() if _is_of(record, leaves))
        yield from (gone.leaf.digest for gone in read.state.gone() if _is_of(gone, leaves))
        return
    for state in (read.below, read.state):
        entries = (state.entry(path) for path in _paths(read.delta))
        yield from (entry.leaf.digest for entry in entries if entry is not None and _is_of(entry, leaves))
        records = (state.record(line.id) for line in read.delta.records())
        yield from (record.leaf.digest for record in records if record is not None and _is_of(record, leaves))
    before = {gone.leaf.digest for gone in read.below.gone()}
    now = (gone.leaf.digest for gone in read.state.gone() if _is_of(gone, leaves))
    yield from (leaf for leaf in now if leaf not in before)


def carries(delta: DeltaReader, below: State, state: State, leaves: Collection[bytes]) -> bool:
    """Whether a delta brings, or is a patch against, what leaves commit to; `state` may be one that has lost it."""
    entries = [each.entry(path) for path in _paths(delta) for each in (below, state)]
    if any(entry is not None and _is_of(entry, leaves) for entry in entries):
        return True
    records = (state.record(line.id) for line in delta.records())
    return any(record is None or _is_of(record, leaves) for record in records)


def has_old_bytes(state: State, leaves: Collection[bytes]) -> bool:
    """Whether an item of a state still is what one of the leaves commits to."""
    return any(_is_old(entry, leaves) for entry in state.entries()) or any(
        _is_old(record, leaves) for record in state.records()
    )


def old_bytes(read: Read, leaves: Collection[bytes]) -> int:
    """How many items of a file still are, or tell the hash of, what leaves commit to."""
    if read.delta is None or read.below is None:
        count = sum(_is_old(entry, leaves) for entry in read.state.entries())
        return count + sum(_is_old(record, leaves) for record in read.state.records())
    count = sum(_is_old(read.state.entry(path), leaves) for path in _paths(read.delta))
    count += sum(_is_old(read.state.record(line.id), leaves) for line in read.delta.records())
    hashed = (read.below.entry(item.path) for item in read.delta.items if item.base_sha256 is not None)
    return count + sum(entry is not None and _is_of(entry, leaves) for entry in hashed)


def _paths(delta: DeltaReader) -> list[str]:
    head = [] if delta.head is None else [layout.MANIFEST]
    return [*head, *(item.path for item in delta.items)]


def _is_of(item: Entry | Record | GoneRecord, leaves: Collection[bytes]) -> bool:
    return item.leaf.digest in leaves


def _is_old(item: Entry | Record | None, leaves: Collection[bytes]) -> bool:
    return item is not None and bool(item.leaf.salt) and _is_of(item, leaves)
