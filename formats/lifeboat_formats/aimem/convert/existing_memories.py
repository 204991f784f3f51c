"""Looks up the existing memories of a state by the names of a bundle."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_shapes import as_list
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.memory.effective_view import SuccessorChains, chains_of, effective_records
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.aimem import aimem_mapping
from lifeboat_formats.aimem.convert import chunks, identity_texts
from lifeboat_formats.aimem.convert.bundle_options import ExistingMemories, StoredChunk
from lifeboat_formats.aimem.convert.chunks import BundleNaming
from lifeboat_formats.aimem.wire import checksum, urn

_MARK = f'"{aimem_mapping.NAME}"'.encode()
_RELATED = (b'"related_records"', b'"supersedes"')
_MOST_NAMESPACES = 4
"""Number of namespaces that are searched. A bundle may use any number, and each costs a pass over the memories."""


class _ImportedNames(NamedTuple):
    """Current records that came in bundles, by their names there, and digests of producers and of tenants with their
    producer."""

    names: dict[str, str]
    tenants: set[bytes]


class StateMemories(ExistingMemories):
    """The memories of a state, found by the name that a bundle gave them and by their id under any namespace. A
    superseded record counts as its successor."""

    def __init__(self, state: State, namespace: str, erased: Callable[[str], bool]) -> None:
        self._state = state
        self._namespaces = [namespace] if namespace else []
        self._is_open = not namespace
        self._erased = erased
        self._known_entities: dict[BundleNaming | None, set[str]] = {}
        self._last_linked: tuple[str, dict[BundleNaming | None, set[str]]] = ("", {})
        self._identity: dict[BundleNaming, dict[str, JsonObject]] = {}

    def find(self, name: str) -> StoredChunk | None:
        found = self._record(name)
        if found is None:
            return self._identity_text(name)
        record, chain = found
        chunk = chunks.chunk_of(record, name, "", pure=True)
        gone, versions = memory_records.is_deleted(record), self._versions(str(record["id"]), chain)
        return StoredChunk(str(record["id"]), record, chunk, chain, is_gone=gone, versions=versions)

    def has_edge(self, source: str, target: str, edge_type: str) -> bool:
        from_id, to_id = self._winner(source), self._winner(target)
        return from_id is not None and to_id is not None and _print_of(from_id, to_id, edge_type) in self._edges

    def has_entity(self, name: str) -> bool:
        return name in self._entities(self._naming(name))

    def has_link(self, chunk: str, entity: str) -> bool:
        winner = self._winner(chunk)
        return winner is not None and entity in self._linked(winner, self._naming(entity))

    def is_erased(self, name: str) -> bool:
        return self._erased(name)

    def is_other_tenant(self, producer: str, tenant_id: str) -> bool:
        known = self._came.tenants
        return _print_of(producer) in known and _print_of(producer, tenant_id) not in known

    def orphans(self) -> Iterator[JsonObject]:
        """Yield the entities that no memory names."""
        return read_orphans(self._state)

    # How --------------------------------------------------------------------------------------------------------

    def _record(self, name: str) -> tuple[JsonObject, tuple[str, ...]] | None:
        record_id = self._winner(name)
        found = None if record_id is None else self._state.record(record_id)
        if found is None or record_id is None:
            return None
        return memory_records.parse_record(found.line), self._chains.chain_of(record_id)

    def _winner(self, name: str) -> str | None:
        """Return the id of the current record for a name."""
        known = self._came.names.get(name)
        if known is not None:
            return known
        parts = urn.parse_urn(name)
        if parts is None or self._state.record(parts.local) is None:
            return None
        return self._chains.winner(parts.local)

    def _versions(self, record_id: str, chain: tuple[str, ...]) -> frozenset[str]:
        """Return the content hashes of the earlier records of a chain."""
        earlier = (self._body(one) for one in chain if one != record_id)
        return frozenset(checksum.hash_content(str(record["content"])) for record in earlier if record is not None)

    def _body(self, record_id: str) -> JsonObject | None:
        found = self._state.record(record_id)
        return None if found is None else memory_records.parse_record(found.line)

    @cached_property
    def _edges(self) -> set[bytes]:
        """Digests of all existing edges between current records. Edges are looked up often, so all are computed at
        once."""
        found = set()
        for record in self._state.records():
            if any(mark in record.line for mark in _RELATED):
                owner = self._chains.winner(record.id)
                for edge in chunks.edges_of(memory_records.parse_record(record.line)):
                    other = self._chains.winner(edge.other)
                    ends = (other, owner) if edge.is_swapped else (owner, other)
                    found.add(_print_of(*ends, edge.edge["edge_type"]))
        return found

    def _linked(self, winner: str, naming: BundleNaming | None) -> set[str]:
        """Return the entities that a memory and its earlier versions name. The last memory is cached, because its links
        are looked up one after the other."""
        if self._last_linked[0] != winner:
            self._last_linked = (winner, {})
        known = self._last_linked[1]
        if naming not in known:
            bodies = (self._body(record_id) for record_id in self._chains.chain_of(winner))
            known[naming] = {name for body in bodies if body is not None for name in self._names_of(body, naming)}
        return known[naming]

    def _naming(self, name: str) -> BundleNaming | None:
        """Return the naming under which a name may be ours, or None if it can only be a name from a bundle."""
        parts = urn.parse_urn(name)
        if parts is None:
            return None
        if self._is_open and parts.producer not in self._namespaces and len(self._namespaces) < _MOST_NAMESPACES:
            self._namespaces.append(parts.producer)
        return BundleNaming(parts.producer) if parts.producer in self._namespaces else None

    def _names_of(self, record: JsonObject, naming: BundleNaming | None) -> Iterator[str]:
        for linked in chunks.entities_of(record, naming) if naming is not None else ():
            yield linked.entity["id"]
        for entity in as_list(record.get("entities")):
            said = chunks.bundle_literal_of(entity).get("id") if isinstance(entity, dict) else None
            if isinstance(said, str):
                yield said

    @cached_property
    def _chains(self) -> SuccessorChains:
        return chains_of(self._state)

    @cached_property
    def _came(self) -> _ImportedNames:
        """The records that came in bundles. Of several records with one name, one that is not deleted is preferred,
        then the first."""
        found: dict[str, str] = {}
        gone: dict[str, str] = {}
        tenants: set[bytes] = set()
        for record in self._state.records():
            if _MARK in record.line and self._chains.wins(record.id):
                body = memory_records.parse_record(record.line)
                own = chunks.bundle_literal_of(body)
                said, producer = own.get("id"), str(own.get("producer", ""))
                if isinstance(said, str):
                    (gone if memory_records.is_deleted(body) else found).setdefault(said, record.id)
                if producer and own.get("tenant_id"):
                    tenants |= {_print_of(producer), _print_of(producer, str(own["tenant_id"]))}
        # Memories that are not deleted take precedence.
        return _ImportedNames({**gone, **found}, tenants)

    def _entities(self, naming: BundleNaming | None) -> set[str]:
        if naming not in self._known_entities:
            found = set()
            for entity in read_orphans(self._state):
                found |= {str(entity["id"])} if naming is None else {str(entity["id"]), naming.orphan(entity)}
            for item in effective_records(self._state, self._chains):
                found.update(self._names_of(item.record, naming))
            self._known_entities[naming] = found
        return self._known_entities[naming]

    def _identity_text(self, name: str) -> StoredChunk | None:
        """Return the identity text with a name."""
        naming = self._naming(name)
        if naming is None or ":identity-" not in name:
            return None
        if naming not in self._identity:
            made = identity_texts.chunks_of(self._state, naming.namespace)
            self._identity[naming] = {chunk["id"]: chunk for chunk in made}
        found = self._identity[naming].get(name)
        return None if found is None else StoredChunk("", {}, found)


def _print_of(*names: str) -> bytes:
    return hashlib.blake2b("\0".join(names).encode(), digest_size=16).digest()


def index_state(
    state: State, *, namespace: str = "", erased: Callable[[str], bool] = lambda _: False
) -> ExistingMemories:
    """Index a state for an import. `namespace` is the one it is exported under, "" if unknown; `erased` tells names
    that must not return."""
    return StateMemories(state, namespace, erased)


ORPHANS = "raw/aimem/entities.jsonl"
"""The raw file of entities that no memory names, one per line, in the form of a bundle."""


def read_orphans(state: State) -> Iterator[JsonObject]:
    """Yield the entities of a state that no memory names. Undecodable lines are skipped."""
    entry = state.entry(ORPHANS)
    if entry is None:
        return
    try:
        body = state.body(ORPHANS)
    except KeyError:
        return
    for line in body.splitlines():
        try:
            found = json_codec.decode_json(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and isinstance(found.get("id"), str):
            yield found
