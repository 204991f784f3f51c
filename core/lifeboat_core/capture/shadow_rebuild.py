"""Rebuild the shadow from the memories of a state, when the caches that describe the rows were lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lifeboat_adapters.contract import DatabaseSupport
from lifeboat_adapters.memory_stores import MemoryStore
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.memory import embeddings, memory_records
from lifeboat_alf.states.agent_state import Record, State
from lifeboat_core.capture.row_cuts import MARK
from lifeboat_core.capture.row_reading import to_column_value
from lifeboat_core.capture.row_shadow import CAME, GONE, HELD, ShadowLine
from lifeboat_core.state.state_db import StateDb

DECISION = "rows"
"""The vault's decision that names the store whose rows were captured: {"runtime", "name", "records"}. `records` are ids
of memories that rows hold although the records do not say so, because they came from another runtime."""


def is_marked(record: JsonObject, runtime: str) -> bool:
    """Return whether a record says which row of a runtime it is."""
    part = as_object(record.get("raw_source_format")).get(runtime)
    return isinstance(part, dict) and "row" in part


@dataclass(slots=True)
class ShadowRebuild:
    """`known` is the vault's decision. Only if it is about this store, a row that is missing was there before."""

    state: State
    runtime: str
    databases: DatabaseSupport
    store: MemoryStore
    db: StateDb
    known: JsonObject
    _kinds: dict[Any, int] = field(default_factory=dict)
    _former: dict[str, str] = field(default_factory=dict)

    def lines(self) -> Iterator[ShadowLine]:
        """Yield a line for each memory that no file of the runtime lists. If two are the same row, the one that still
        exists wins."""
        self._former = dict(self.db.connection.execute("select id, supersedes from successor"))
        chained = self._former.keys() | set(self._former.values())
        listed = self.db.listed(archive_layout.raw_prefix(self.runtime))
        lengths = self._lengths()
        held = frozenset(self.known.get("records", ()) if self._is_of_store() else ())
        for item in self.state.records():
            if item.id in chained and self.db.winner(item.id) != item.id:
                continue
            chain = self._chain(item.id)
            if listed.isdisjoint(chain):
                line = self._line(item, chain, lengths, held)
                if line.kind <= self._kinds.setdefault(line.row, line.kind):
                    self._kinds[line.row] = line.kind
                    yield line

    def _is_of_store(self) -> bool:
        return (self.known.get("runtime"), self.known.get("name")) == (self.runtime, self.store.name)

    def _lengths(self) -> dict[str, int]:
        """Return the sizes in bytes of the state's vectors of the store's model, by record."""
        model = self.store.model
        if model is None:
            return {}
        try:
            indexes = embeddings.StateVectors(self.state).indexes
        except LifeboatError:
            return {}
        return {
            record: group.dimensions * embeddings.FLOAT_BYTES
            for groups in indexes.values()
            for group in groups
            if (group.model, group.dimensions) == (model.model, model.dimensions)
            for record in group.records
        }

    def _chain(self, record_id: str) -> list[str]:
        """Return the ids of a chain, from its end to its beginning."""
        chain = [record_id]
        while (former := self._former.get(chain[-1])) is not None and former not in chain:
            chain.append(former)
        return chain

    def _line(self, item: Record, chain: list[str], lengths: dict[str, int], held: frozenset[str]) -> ShadowLine:
        record = memory_records.parse_record(item.line)
        is_dead = memory_records.is_deleted(record) or memory_records.is_missing(record)
        if record.get("content") == memory_records.TOMBSTONE and len(chain) > 1:
            ended = self.state.record(chain[1])
            record = record if ended is None else memory_records.parse_record(ended.line)
        row = self.databases.row_of(record, chain[-1])
        marked = is_marked(record, self.runtime)
        was_held = self._is_of_store() and (marked or not held.isdisjoint(chain))
        values = tuple(to_column_value(row.get(name)) for name in self.store.columns)
        return ShadowLine(
            row=values[self.store.columns.index(self.store.id)],
            record=item.id,
            kind=GONE if is_dead else HELD if was_held else CAME,
            key=to_column_value(row.get(self.store.key)),
            whole=MARK not in item.line.decode(),
            vector=next((lengths[one] for one in chain if one in lengths), None),
            marked=marked,
            values=values,
        )
