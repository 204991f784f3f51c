"""A state of a remote as it reads after purges that still wait there."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.states.agent_state import BodyAbsent, Entry, GoneRecord, Leaf, Record, Sequence, State, path_key


class RedactedRemoteState:
    """A `State` of which named leaves hold what `known` redactions left of them. Digests stay the same.

    A redaction that came with the state and is known counts as it is known: it may have been signed again.
    """

    def __init__(self, state: State, known: Redactions) -> None:
        self._state = state
        self._known = known
        self.redactions = Redactions({each.id: each for each in (*state.redactions, *known)}.values())

    @property
    def sequence(self) -> Sequence:
        return self._state.sequence

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return (self._entry(entry) for entry in self._state.entries(prefix))

    def entry(self, path: str) -> Entry | None:
        found = self._state.entry(path)
        return None if found is None else self._entry(found)

    def _entry(self, entry: Entry) -> Entry:
        if not self._is_named(entry.leaf):
            return entry
        bare = entry._replace(leaf=Leaf(entry.leaf.digest), sha256=None)
        try:
            body = self._settled(entry)
        except BodyAbsent:
            return bare
        return bare._replace(size=len(body))

    def body(self, path: str) -> bytes:
        """Raises KeyError, BodyAbsent, RedactionInvalid."""
        entry = self._state.entry(path)
        if entry is None or not self._is_named(entry.leaf):
            return self._state.body(path)
        return self._settled(entry)

    def _settled(self, entry: Entry) -> bytes:
        return self.redactions.settled(entry.leaf, self._state.body(entry.path)) or b""

    def records(self, partition: str | None = None) -> Iterator[Record]:
        for record in self._state.records(partition):
            found = self._record(record)
            if found is not None:
                yield found

    def record(self, record_id: str) -> Record | None:
        found = self._state.record(record_id)
        return None if found is None else self._record(found)

    def _record(self, record: Record) -> Record | None:
        """Return a record, None for one that is gone."""
        if not self._is_named(record.leaf):
            return record
        line = self.redactions.settled(record.leaf, record.line)
        return None if line is None else record._replace(leaf=Leaf(record.leaf.digest), line=line)

    def gone(self) -> Iterator[GoneRecord]:
        fresh = (
            GoneRecord(record.id, record.partition, record.position, Leaf(record.leaf.digest))
            for record in self._state.records()
            if self._is_named(record.leaf) and self._record(record) is None
        )
        return heapq.merge(self._state.gone(), fresh, key=lambda gone: (path_key(gone.partition), gone.position))

    def _is_named(self, leaf: Leaf) -> bool:
        return bool(self._known.all_naming(leaf.digest))
