"""Compute the effective view: which record of a chain of successors is the memory (ALF §3.1.8).

A chain is all records joined by `supersedes`. The last one appended is the memory and hides the others, also when
several claim the same predecessor. A tombstone (status `deleted`) that nothing supersedes ends its whole chain: it is
the chain's record then. Sealed predecessors keep `status: active` in their bytes for ever; only this view hides them.
Any id of a chain names the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records, partitions
from lifeboat_alf.states.agent_state import Partition, Record, State, path_key

_MARK = b'"supersedes"'


class EffectiveMemory(NamedTuple):
    """A memory: the effective record, and the ids of its chain in append order (including its own).

    The record may be archived or deleted; `memory_records.is_visible` says whether the agent has the memory now.
    """

    record: JsonObject
    chain_ids: tuple[str, ...]


def root_of(parents: dict[str, str], record_id: str) -> str:
    """Return the representative of a record's chain (union-find) and shorten the paths to it."""
    root = record_id
    while (parent := parents.get(root, root)) != root:
        root = parent
    while (parent := parents.get(record_id, root)) != root:
        parents[record_id] = root
        record_id = parent
    return root


class SuccessorChains:
    """Successor relations between records. Memory grows with the number of successors, not of records."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}
        self._successors: dict[str, bool] = {}
        self._superseded: set[str] = set()
        self._members: dict[str, tuple[str, ...]] = {}

    @classmethod
    def of(cls, successors: Iterable[JsonObject]) -> SuccessorChains:
        """Build from records in append order. Records without `supersedes` are skipped."""
        chains = cls()
        for record in successors:
            if record.get("supersedes"):
                chains._add(str(record["id"]), str(record["supersedes"]), memory_records.is_deleted(record))
        chains._gather()
        return chains

    def _add(self, record_id: str, supersedes: str, dead: bool) -> None:
        self._successors.pop(record_id, None)
        self._successors[record_id] = dead
        self._superseded.add(supersedes)
        self._parent[root_of(self._parent, record_id)] = root_of(self._parent, supersedes)

    def _gather(self) -> None:
        found: dict[str, list[str]] = {}
        for record_id in (*sorted(self._superseded - self._successors.keys()), *self._successors):
            found.setdefault(root_of(self._parent, record_id), []).append(record_id)
        self._members = {root: tuple(ids) for root, ids in found.items()}

    def chain_of(self, record_id: str) -> tuple[str, ...]:
        """Return all ids of a record's chain in append order; only its own id for a record without a chain."""
        return self._members.get(root_of(self._parent, record_id), (record_id,))

    def winner(self, record_id: str) -> str:
        """Return the id of the effective record in a record's chain."""
        members = [member for member in self.chain_of(record_id) if member in self._successors]
        ended = [member for member in members if self._successors[member] and member not in self._superseded]
        return (ended or members or [record_id])[-1]

    def wins(self, record_id: str) -> bool:
        """Return whether a record is the effective one of its chain."""
        return self.winner(record_id) == record_id


Records = Iterable[JsonObject] | Callable[[], Iterable[JsonObject]]


def iterate_effective(source: Records) -> Iterator[EffectiveMemory]:
    """Yield the effective view of records given in append order.

    `source` may be a function, which is called twice so that only the ids of chains are held; an iterable is read into
    memory.
    """
    read = source if callable(source) else _again(list(source))
    chains = SuccessorChains.of(read())
    for record in read():
        if chains.wins(str(record["id"])):
            yield EffectiveMemory(record, chains.chain_of(str(record["id"])))


def _again(items: list[JsonObject]) -> Callable[[], Iterable[JsonObject]]:
    return lambda: items


def in_append_order(state: State) -> Iterator[Record]:
    """Yield the records of a state, partition after partition by time.

    Paths sort the same way, except in the year of a switch from quarters to months: `2026-11` sorts before `2026-Q3`.
    """
    files = [partition.file for partition in partitions_of(state)]
    if files == sorted(files, key=path_key):
        yield from state.records()
        return
    for file in files:
        yield from state.records(file)


def partitions_of(state: State) -> list[Partition]:
    """Return the partitions of a state by time, from its manifest's head."""
    if state.entry(archive_layout.MANIFEST) is None:
        return []
    return partitions.from_head(json_codec.decode_json(state.body(archive_layout.MANIFEST)))


def chains_of(state: State) -> SuccessorChains:
    """Return the chains of a state. Only lines that may hold a successor are decoded."""
    return SuccessorChains.of(
        memory_records.parse_record(record.line) for record in in_append_order(state) if _MARK in record.line
    )


def effective_records(state: State, chains: SuccessorChains | None = None) -> Iterator[EffectiveMemory]:
    """Yield the effective view of a state. Passing known `chains` saves the first pass."""
    known = chains or chains_of(state)
    for record in in_append_order(state):
        if known.wins(record.id):
            yield EffectiveMemory(memory_records.parse_record(record.line), known.chain_of(record.id))


def visible_records(state: State) -> Iterator[EffectiveMemory]:
    """Yield the memories the agent has now: effective, and not deleted, superseded or archived."""
    return (item for item in effective_records(state) if memory_records.is_visible(item.record))
