"""A state as it reads once redactions were applied to it: for states that were made before."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from lifeboat_alf import bundle_redactions
from lifeboat_alf.redactions import Redaction, Redactions
from lifeboat_alf.state import BodyAbsent, Entry, GoneRecord, Leaf, Record, Sequence, State


class RedactedState:
    """A `State`: `base` with `redactions` applied, those that it knows among them. Nothing is copied; leaves, metas and
    so the digest stay. Bodies that are neither what their leaf commits to nor what a redaction left raise
    RedactionInvalid when they are read."""

    def __init__(self, base: State, redactions: Iterable[Redaction]) -> None:
        self._base = base
        self._known = base.redactions.joined(redactions)

    @property
    def sequence(self) -> Sequence:
        return self._base.sequence

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return map(self._entry, self._base.entries(prefix))

    def entry(self, path: str) -> Entry | None:
        found = self._base.entry(path)
        return None if found is None else self._entry(found)

    def _entry(self, entry: Entry) -> Entry:
        if self._known.naming(entry.leaf.digest) is None:
            return entry
        try:
            size = len(self._settled(entry))
        except BodyAbsent:
            size = entry.size
        return entry._replace(leaf=Leaf(entry.leaf.digest), size=size, sha256=None)

    def body(self, path: str) -> bytes:
        entry = self._base.entry(path)
        if entry is None or self._known.naming(entry.leaf.digest) is None:
            return self._base.body(path)
        return self._settled(entry)

    def _settled(self, entry: Entry) -> bytes:
        return self._known.settled(entry.leaf, self._base.body(entry.path)) or b""

    def records(self, partition: str | None = None) -> Iterator[Record]:
        for record in self._base.records(partition):
            if (settled := self._record(record)) is not None:
                yield settled

    def record(self, record_id: str) -> Record | None:
        found = self._base.record(record_id)
        return None if found is None else self._record(found)

    def _record(self, record: Record) -> Record | None:
        if self._known.naming(record.leaf.digest) is None:
            return record
        line = self._known.settled(record.leaf, record.line)
        return None if line is None else record._replace(leaf=Leaf(record.leaf.digest), line=line)

    def gone(self) -> Iterator[GoneRecord]:
        now = (
            GoneRecord(record.id, record.partition, record.position, Leaf(record.leaf.digest))
            for record in self._base.records()
            if self._known.is_gone(record.leaf.digest)
        )
        return heapq.merge(self._base.gone(), now, key=bundle_redactions.place)

    @property
    def redactions(self) -> Redactions:
        return self._known
