"""A state as it reads once redactions are applied to it, whoever keeps its bytes."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from lifeboat_alf.redactions import Redactions
from lifeboat_alf.state import BodyAbsent, Entry, GoneRecord, Leaf, Record, Sequence, State, path_key


class Redacted:
    """A `State`: `state` under the redactions that are `known`. What it had applied already stays as it is. Raises
    RedactionInvalid where a redaction does not fit the bytes."""

    def __init__(self, state: State, known: Redactions) -> None:
        self._state = state
        self._known = Redactions([*known, *state.redactions])

    @property
    def sequence(self) -> Sequence:
        return self._state.sequence

    @property
    def redactions(self) -> Redactions:
        return self._known

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return (self._entry(entry) for entry in self._state.entries(prefix))

    def entry(self, path: str) -> Entry | None:
        found = self._state.entry(path)
        return None if found is None else self._entry(found)

    def body(self, path: str) -> bytes:
        body, entry = self._state.body(path), self._state.entry(path)
        if entry is None or not self._is_named(entry.leaf):
            return body
        return self._known.settled(entry.leaf, body) or b""

    def records(self, partition: str | None = None) -> Iterator[Record]:
        return (self._record(record) for record in self._state.records(partition) if not self._is_gone(record.leaf))

    def record(self, record_id: str) -> Record | None:
        found = self._state.record(record_id)
        return None if found is None or self._is_gone(found.leaf) else self._record(found)

    def gone(self) -> Iterator[GoneRecord]:
        going = (
            GoneRecord(record.id, record.partition, record.position, Leaf(record.leaf.digest))
            for record in self._state.records()
            if self._is_gone(record.leaf)
        )
        return heapq.merge(self._state.gone(), going, key=lambda gone: (path_key(gone.partition), gone.position))

    def _is_named(self, leaf: Leaf) -> bool:
        return bool(self._known.all_naming(leaf.digest))

    def _is_gone(self, leaf: Leaf) -> bool:
        return self._known.is_gone(leaf.digest)

    def _entry(self, entry: Entry) -> Entry:
        if not self._is_named(entry.leaf):
            return entry
        try:
            size = len(self.body(entry.path))
        except BodyAbsent:
            size = self._size(entry)
        return Entry(entry.path, entry.meta, Leaf(entry.leaf.digest), size, None)

    def _size(self, entry: Entry) -> int:
        """Of bytes that are not held in the state."""
        if not entry.leaf.salt:
            return entry.size
        standing = self._known.replacement(entry.leaf.digest)
        return 0 if standing is None else entry.size + sum(len(each.insert) - each.length for each in standing.edits)

    def _record(self, record: Record) -> Record:
        if not self._is_named(record.leaf):
            return record
        line = self._known.settled(record.leaf, record.line)
        return record if line is None else record._replace(leaf=Leaf(record.leaf.digest), line=line)
