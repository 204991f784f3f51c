"""Selects the memories of a state that go into a bundle, and the model of their vectors: the first of two passes of an
export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_shapes import as_list
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import ArchiveError
from lifeboat_alf.memory import memory_records
from lifeboat_alf.memory.effective_view import SuccessorChains, chains_of, in_append_order
from lifeboat_alf.memory.embeddings import StateVectors, has_inline
from lifeboat_alf.memory.record_shapes import keep_fitting_fields
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.aimem import aimem_mapping
from lifeboat_formats.aimem.convert import chunks
from lifeboat_formats.aimem.convert.bundle_options import ProducerOptions
from lifeboat_formats.aimem.wire import instants
from lifeboat_formats.aimem.wire.bundle_model import DNA_ONLY, DNA_TYPES, OPEN_CONTENT, SINCE

_RELATED = b'"related_records"'


@dataclass(frozen=True, slots=True)
class VectorKind:
    """The model whose vectors go into a bundle."""

    model: str
    dimensions: int


@dataclass(slots=True)
class MemorySelection:
    """The selection for a bundle. `included` are record ids, `long` those that must be split into parts; `fates` are
    for memories and vectors that are left out."""

    chains: SuccessorChains
    included: set[str] = field(default_factory=set)
    long: set[str] = field(default_factory=set)
    vectors: VectorKind | None = None
    fates: list[ItemFate] = field(default_factory=list)

    def end_of(self, record_id: str) -> str | None:
        """Return the included record for an id: the record itself, else the current one of its chain, else None."""
        if record_id in self.included:
            return record_id
        winner = self.chains.winner(record_id)
        return winner if winner in self.included else None


def select_memories(state: State, options: ProducerOptions) -> MemorySelection:
    """Select the contents of a bundle. It reads every memory once and keeps only ids."""
    chosen = MemorySelection(chains_of(state))
    edges: dict[str, list[str]] = {}
    left: dict[str, str] = {}
    follows = options.closure and options.scope == SINCE
    for record in in_append_order(state):
        body = keep_fitting_fields(memory_records.parse_record(record.line))
        why = _why_not(state, body, chosen.chains, options)
        if why is None:
            _include(chosen, body)
        elif why:
            left[record.id] = why
        # Edges of left-out memories are kept too: the closure may include these memories later.
        if follows and _RELATED in record.line:
            edges[record.id] = [edge.other for edge in chunks.edges_of(body)]
    if follows:
        _close(state, chosen, edges, left)
    chosen.fates += [ItemFate("memory", name, ItemOutcome.OMITTED, why) for name, why in left.items()]
    _choose_vectors(state, chosen, options)
    return chosen


def mark_superseded(record: JsonObject, chains: SuccessorChains) -> JsonObject:
    """Return a record with status `superseded` if another record superseded it."""
    superseded = not chains.wins(str(record["id"])) and memory_records.read_record_status(record) == "active"
    return {**record, "status": "superseded"} if superseded else record


_OUT_OF_SCOPE = {
    DNA_ONLY: "the memory is neither pinned nor of a protected type, and the scope is DNA_ONLY",
    SINCE: "the memory is older than the time given with --since",
}


def _why_not(state: State, record: JsonObject, chains: SuccessorChains, options: ProducerOptions) -> str | None:
    """Return why a memory is left out, None if it is included, "" if no fate is needed because it was deleted."""
    body = mark_superseded(record, chains)
    if _is_ended(state, body, chains) or (options.only is not None and record["id"] not in options.only):
        return ""
    if not isinstance(record.get("content"), str) or not record["content"]:
        return "the text of this memory is empty"
    try:
        moment = instants.parse_nanoseconds(chunks.creation_time_of(record))
    except (ValueError, KeyError, TypeError):
        return "a bundle cannot represent the time of this memory"
    status = memory_records.read_record_status(body)
    if status != "active" and not options.include_history:
        return f"the memory is {status}; use --include-history to export it"
    if options.scope == DNA_ONLY and not _is_protected(record):
        return _OUT_OF_SCOPE[DNA_ONLY]
    if options.scope == SINCE and moment < instants.parse_nanoseconds(str(options.since)):
        return _OUT_OF_SCOPE[SINCE]
    return None


def _is_protected(record: JsonObject) -> bool:
    return memory_records.is_pinned(record) or aimem_mapping.type_of(record) in DNA_TYPES


def _is_ended(state: State, record: JsonObject, chains: SuccessorChains) -> bool:
    """Return whether a memory was deleted, or is an earlier version of a deleted one."""
    winner = chains.winner(str(record["id"]))
    last = state.record(winner) if winner != record["id"] else None
    return memory_records.is_deleted(record if last is None else memory_records.parse_record(last.line))


def _include(chosen: MemorySelection, record: JsonObject) -> None:
    chosen.included.add(str(record["id"]))
    if len(record["content"]) > OPEN_CONTENT:
        chosen.long.add(str(record["id"]))


def _close(state: State, chosen: MemorySelection, edges: dict[str, list[str]], left: dict[str, str]) -> None:
    """Include the targets of the bundle's edges, and transitively their targets."""
    waiting = [other for name in chosen.included for other in edges.get(name, ())]
    while waiting:
        name = waiting.pop()
        for found in (name, chosen.chains.winner(name)):
            record = state.record(found) if left.get(found) == _OUT_OF_SCOPE[SINCE] else None
            if record is not None:
                del left[found]
                _include(chosen, keep_fitting_fields(memory_records.parse_record(record.line)))
                waiting.extend(edges.get(found, ()))


# Vectors ------------------------------------------------------------------------------------------------------------


def _choose_vectors(state: State, chosen: MemorySelection, options: ProducerOptions) -> None:
    found: Counter[VectorKind] = Counter()
    for record_id, kind in _vector_kinds(state):
        if record_id in chosen.included:
            found[kind] += 1
    if options.embeddings:
        fitting = [kind for kind in found if options.model in ("", kind.model, aimem_mapping.model_name_of(kind.model))]
        chosen.vectors = max(fitting, key=lambda kind: (found[kind], kind.model, kind.dimensions), default=None)
    for kind, count in sorted(found.items(), key=lambda item: (item[0].model, item[0].dimensions)):
        if kind != chosen.vectors:
            reason = (
                "a bundle contains vectors of one model only"
                if options.embeddings
                else "vectors are exported only with --include-embeddings"
            )
            name = f"{kind.model} ({kind.dimensions})"
            vectors = "1 vector" if count == 1 else f"{count} vectors"
            chosen.fates.append(ItemFate("vector", name, ItemOutcome.OMITTED, f"{vectors}: {reason}"))


def _vector_kinds(state: State) -> Iterator[tuple[str, VectorKind]]:
    try:
        groups = [group for groups in StateVectors(state).indexes.values() for group in groups]
    except ArchiveError:
        groups = []
    for group in groups:
        for record_id in group.records:
            yield record_id, VectorKind(group.model, group.dimensions)
    for record in state.records():
        if has_inline(record.line):
            for item in as_list(json_codec.decode_json(record.line).get("embeddings")):
                if isinstance(item, dict) and type(item.get("dimensions")) is int and item["dimensions"] > 0:
                    yield record.id, VectorKind(str(item.get("model")), item["dimensions"])
