"""Which files of a log contain, or are patches against, what a purge names."""

from __future__ import annotations

import bisect
import contextlib
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import BinaryIO, NamedTuple

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.leaf_rows import LeafRows
from lifeboat_alf.deltas.delta_reader import DeltaReader
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states.agent_state import BodyAbsent, Entry, GoneRecord, Record, State, path_key
from lifeboat_core.remotes.contract import LeafPlace
from lifeboat_core.remotes.sealed.log_head import LogRow
from lifeboat_core.remotes.sealed.log_states import LayeredStates, check_state, raise_as_damaged
from lifeboat_vault.errors import RemoteDamaged


class ReadLogFile(NamedTuple):
    """One file of a log: the state that it makes, and for a delta its base and its content. Open until the next one is
    asked for."""

    row: LogRow
    state: State
    below: State | None = None
    delta: DeltaReader | None = None


def walk_log_files(
    rows: Sequence[LogRow], fetch: Callable[[LogRow], BinaryIO], unnamed: Callable[[], BinaryIO]
) -> Iterator[ReadLogFile]:
    """Yield every file of a run of rows that begins with a snapshot, in order. Raises RemoteDamaged."""
    with LayeredStates(unnamed) as layers, raise_as_damaged():
        for row in rows:
            if row.is_snapshot:
                read = ReadLogFile(row, layers.begin(fetch(row)))
            else:
                below, made, delta = layers.put(fetch(row))
                read = ReadLogFile(row, made, below, delta)
            check_state(read.state, row)
            yield read


def walk_with_states(
    rows: Sequence[LogRow], fetch: Callable[[LogRow], BinaryIO], state_of: Callable[[int], State]
) -> Iterator[ReadLogFile]:
    """Yield the same for rows whose states are here too (`state_of`, by number): no delta has to be applied. Raises
    RemoteDamaged."""
    with raise_as_damaged():
        for row in rows:
            with fetch(row) as file:
                if row.on is None:
                    with SnapshotReader(file) as snapshot:
                        check_state(snapshot, row)
                        yield ReadLogFile(row, snapshot)
                else:
                    with DeltaReader(file) as delta:
                        made, below = state_of(row.number), state_of(row.on)
                        if (delta.sequence.number, delta.sequence.digest) != (row.number, made.sequence.digest):
                            raise RemoteDamaged(f"the file for sequence {row.number} contains another sequence")
                        yield ReadLogFile(row, made, below, delta)


class PlacedLeaves:
    """Leaves by where they stand: they tell which files contain them without reading a file."""

    def __init__(self, places: Iterable[LeafPlace]) -> None:
        self._places = list(places)
        self._turns = sorted({turn for place in self._places for turn in (place.first, place.last) if turn is not None})

    def concerns(self, row: LogRow) -> bool:
        """Return whether a snapshot is of a state with one of the leaves, or one appears or disappears within a
        delta."""
        if row.on is None:
            return any(place.holds(row.number) for place in self._places)
        after = bisect.bisect_right(self._turns, row.on)
        return after < len(self._turns) and self._turns[after] <= row.number


def has_mention(read: ReadLogFile, leaves: Collection[bytes]) -> bool:
    """Return whether a file contains or mentions one of the leaves."""
    return next(find_mentioned(read, leaves), None) is not None


def find_mentioned(read: ReadLogFile, leaves: Collection[bytes]) -> Iterator[bytes]:
    """Yield the leaves that a file contains or mentions, some of them more than once."""
    if read.delta is None or read.below is None:
        yield from _standing(read.state, leaves)
        return
    for state in (read.below, read.state):
        entries = (state.entry(path) for path in _paths(read.delta))
        yield from (entry.leaf.digest for entry in entries if entry is not None and _is_of(entry, leaves))
        records = (state.record(line.id) for line in read.delta.records())
        yield from (record.leaf.digest for record in records if record is not None and _is_of(record, leaves))
    before = {gone.leaf.digest for gone in read.below.gone()}
    now = (gone.leaf.digest for gone in read.state.gone() if _is_of(gone, leaves))
    yield from (leaf for leaf in now if leaf not in before)


def has_any_leaf(state: State, leaves: Collection[bytes]) -> bool:
    """Return whether a state has any of the leaves, even if a part of it was purged."""
    return next(_standing(state, leaves), None) is not None


def has_named_bytes(delta: DeltaReader, below: State, state: State, leaves: Collection[bytes]) -> bool:
    """Return whether a delta carries, or is a patch against, what leaves commit to; `state` may have lost it."""
    entries = [each.entry(path) for path in _paths(delta) for each in (below, state)]
    if any(entry is not None and _is_of(entry, leaves) for entry in entries):
        return True
    records = (state.record(line.id) for line in delta.records())
    return any(record is None or _is_of(record, leaves) for record in records)


def count_old_items(read: ReadLogFile, leaves: Collection[bytes]) -> int:
    """Return how many items of a file still are what leaves commit to, or tell its hash or salt."""
    if read.delta is None or read.below is None:
        count = sum(_is_of(entry, leaves) and bool(entry.leaf.salt) for entry in read.state.entries())
        return count + sum(_is_of(record, leaves) and bool(record.leaf.salt) for record in read.state.records())
    count = sum(salted for leaf, salted in _brought(read.delta, read.state) if leaf is None or leaf in leaves)
    for item in read.delta.items:
        count += _tells(read.below, item.path, item.base_sha256, leaves)
        count += _tells(read.state, item.path, item.sha256, leaves)
    return count


def _brought(delta: DeltaReader, state: State) -> Iterator[tuple[bytes | None, bool]]:
    """Yield the items of a delta as the file contains them, regardless of the resulting state: the leaf (None: a line
    without a record), and whether its salt is there. The rows stand in the order of the items."""
    table = LeafRows(delta.read(archive_layout.LEAVES))
    salted = (bool(table[number][0]) for number in range(len(table)))
    kept = {item.path for item in delta.items if item.keeps_leaf or item.operation == "remove"}
    for path in sorted(set(_paths(delta)) - kept, key=path_key):
        entry = state.entry(path)
        yield entry.leaf.digest if entry else None, next(salted)
    for line in delta.records():
        record = state.record(line.id)
        yield record.leaf.digest if record else None, next(salted)


def _tells(state: State, path: str, sha256: str | None, leaves: Collection[bytes]) -> bool:
    """Return whether a hash is of bytes that leaves commit to, and not of those that stand there now."""
    entry = state.entry(path)
    if sha256 is None or entry is None or not _is_of(entry, leaves):
        return False
    with contextlib.suppress(BodyAbsent):
        return hashlib.sha256(state.body(path)).hexdigest() != sha256
    return True


def _standing(state: State, leaves: Collection[bytes]) -> Iterator[bytes]:
    yield from (entry.leaf.digest for entry in state.entries() if _is_of(entry, leaves))
    yield from (record.leaf.digest for record in state.records() if _is_of(record, leaves))
    yield from (gone.leaf.digest for gone in state.gone() if _is_of(gone, leaves))


def _paths(delta: DeltaReader) -> list[str]:
    head = [] if delta.head is None else [archive_layout.MANIFEST]
    return [*head, *(item.path for item in delta.items)]


def _is_of(item: Entry | Record | GoneRecord, leaves: Collection[bytes]) -> bool:
    return item.leaf.digest in leaves
