"""View an existing state with redactions applied."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from lifeboat_alf.redaction.redactions import Redaction, Redactions
from lifeboat_alf.states.agent_state import BodyAbsent, Entry, GoneRecord, Leaf, Record, State, StateView, record_place


class RedactedState(StateView):
    """A `State`: `base` with `redactions` applied. Nothing is copied, and leaves, metas and the digest stay.

    Reading a body that matches neither its leaf nor a redaction raises RedactionInvalid.
    """

    def __init__(self, base: State, redactions: Iterable[Redaction]) -> None:
        super().__init__(base)
        self._known = base.redactions.applied(redactions)
        self._certain = self._known.without_waiting()

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return map(self._entry, self._state.entries(prefix))

    def entry(self, path: str) -> Entry | None:
        found = self._state.entry(path)
        return None if found is None else self._entry(found)

    def _entry(self, entry: Entry) -> Entry:
        if not self._is_named(entry.leaf):
            return entry
        try:
            leaf, body = self._known.arrived(entry.leaf, self._state.body(entry.path))
        except BodyAbsent:
            return entry._replace(leaf=Leaf(entry.leaf.digest), sha256=None)
        return entry if leaf.salt else entry._replace(leaf=leaf, size=len(body or b""), sha256=None)

    def _is_named(self, leaf: Leaf) -> bool:
        return self._certain.naming(leaf.digest) is not None

    def body(self, path: str) -> bytes:
        entry, body = self._state.entry(path), self._state.body(path)
        if entry is None or not self._is_named(entry.leaf):
            return body
        return self._known.arrived(entry.leaf, body)[1] or b""

    def records(self, partition: str | None = None) -> Iterator[Record]:
        for record in self._state.records(partition):
            if (settled := self._record(record)) is not None:
                yield settled

    def record(self, record_id: str) -> Record | None:
        found = self._state.record(record_id)
        return None if found is None else self._record(found)

    def _record(self, record: Record) -> Record | None:
        if not self._is_named(record.leaf):
            return record
        leaf, line = self._known.arrived(record.leaf, record.line)
        return None if line is None else record._replace(leaf=leaf, line=line)

    def gone(self) -> Iterator[GoneRecord]:
        now = (
            GoneRecord(record.id, record.partition, record.position, Leaf(record.leaf.digest))
            for record in self._state.records()
            if self._is_named(record.leaf) and self._record(record) is None
        )
        return heapq.merge(self._state.gone(), now, key=record_place)

    @property
    def redactions(self) -> Redactions:
        return self._known
