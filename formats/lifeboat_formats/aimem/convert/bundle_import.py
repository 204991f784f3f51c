"""Imports a bundle into existing memories: decides what is new, what is newer and what is refused (AIMEM §2.9, §5.4).

Nothing is written here: a plan states what to write. An existing chunk changes nothing unless it is newer. A chunk that
differs without being newer is refused alone. A newer one replaces a memory, which the history keeps; a protected memory
(§5.1) is only replaced if the user allows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.common.json_shapes import as_list
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records as alf_records
from lifeboat_formats.aimem import aimem_mapping
from lifeboat_formats.aimem.convert import chunk_records
from lifeboat_formats.aimem.convert.bundle_options import ConsumerOptions, ExistingMemories, ImportPlan, StoredChunk
from lifeboat_formats.aimem.convert.existing_memories import ORPHANS
from lifeboat_formats.aimem.convert.link_index import LinkIndex
from lifeboat_formats.aimem.wire import instants, urn
from lifeboat_formats.aimem.wire.bundle_model import AimemBundle, is_dna
from lifeboat_formats.aimem.wire.checksum import hash_content
from lifeboat_formats.interchange import change_marks
from lifeboat_formats.interchange.contract import FormatNotice

_SECOND = 10**9
_LISTED = 10_000
"""Number of refused chunks that a summary names. It counts all of them."""

CONFLICT, STALE, FIELDS, PROTECTED, ERASED = (
    "idempotency_conflict",
    "stale_chunk",
    "field_conflict",
    "dna_protected",
    "erased",
)
_REASONS = {
    CONFLICT: "a memory with the same name and time, but with other content, already exists",
    STALE: "the existing memory is newer",
    FIELDS: "tags, zone, type or pin differ from the existing memory, but the imported memory is not newer",
    PROTECTED: "the existing memory is protected, and the import may not change protected memories",
    ERASED: "the memory was purged from this agent, so it is not imported again",
}
_UNTAKEN = "the memory that this item belongs to was not imported"
TENANT = "tenant_changed"
_ANY_PRODUCER = "x"
"""A placeholder: whether an id was erased does not depend on its producer."""
_UPDATED = ("content", "memory_type", "category", "tags", "status", aimem_mapping.NAME)
"""Record fields that a newer chunk changes."""


@dataclass(slots=True)
class BundleImport:
    """The import of one bundle. `inserts` yields the new records; all other results are complete afterwards."""

    bundle: AimemBundle
    links: LinkIndex
    existing: ExistingMemories
    options: ConsumerOptions
    file: str = ""
    updates: dict[str, JsonObject] = field(default_factory=dict)
    fates: list[ItemFate] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    refused: list[JsonObject] = field(default_factory=list)
    _ids_here: dict[str, str] = field(default_factory=dict)

    def inserts(self) -> Iterator[JsonObject]:
        """Yield the new records without `agent_id`, in the order of their chunks."""
        origin = chunk_records.BundleOrigin.of(self.bundle, self.file)
        self.fates.extend(self.bundle.rejected)
        for part in self.bundle.chunks:
            chunk = self.links.joined(part)
            if chunk is None:
                self._fate(
                    "memory",
                    part["id"],
                    ItemOutcome.TRANSFORMED,
                    "this part was joined with the other parts of a long memory",
                )
                continue
            made = self._decide(chunk, origin)
            if made is not None:
                yield made
        self._finish()

    # Chunks -----------------------------------------------------------------------------------------------------

    def _decide(self, chunk: JsonObject, origin: chunk_records.BundleOrigin) -> JsonObject | None:
        name = chunk["id"]
        if self._is_erased(name):
            self._refuse(chunk, ERASED)
            self._drop_links(name)
            return None
        stored = self.existing.find(name)
        if stored is None or stored.is_gone:
            return self._insert(chunk, origin, stored)
        code = self._conflict(chunk, stored)
        if code:
            self._refuse(chunk, code)
            self._drop_links(name, stored)
            return None
        if self._is_newer(chunk, stored):
            self._update(chunk, stored, origin)
        else:
            self.counts["chunks_skipped_idempotent"] += 1
            self._fate("memory", name, ItemOutcome.DEDUPLICATED, "the agent already has this memory")
        self._extend(chunk, stored)
        return None

    def _insert(
        self, chunk: JsonObject, origin: chunk_records.BundleOrigin, gone: StoredChunk | None
    ) -> JsonObject | None:
        name = chunk["id"]
        record_id = self.links.record_id(name) or chunk_records.find_chunk_record_id(chunk, self.options.namespace)
        # A deleted memory returns under a new id, because its old id is deleted for good.
        if gone is not None:
            again = f"aimem\0{name}\0{gone.record_id}"
            record_id = ids.derive_id(instants.parse_milliseconds(chunk["created_at"]), again)
            if self._is_erased(urn.of_record(_ANY_PRODUCER, record_id)):
                self._refuse(chunk, ERASED)
                self._drop_links(name)
                return None
        record = chunk_records.convert_chunk(chunk, origin, record_id, embeddings=self.options.embeddings)
        self.counts["chunks_inserted"] += 1
        is_changed = record["content"] != chunk["content"]
        self._fate("memory", name, ItemOutcome.TRANSFORMED if is_changed else ItemOutcome.ACCEPTED)
        if chunk.get("embedding") is not None and not self.options.embeddings:
            self.counts["embeddings_left_out"] += 1
        self._take_links(record, name, None)
        return record

    def _conflict(self, chunk: JsonObject, stored: StoredChunk) -> str:
        """Return why a chunk must not change the stored one, or "" if it changes nothing or may change it."""
        is_same, is_alike = _hash(chunk) == stored.chunk["content_hash"], _fields(chunk) == _fields(stored.chunk)
        passed = _nanoseconds(chunk) - _nanoseconds(stored.chunk)
        # An earlier version of the memory is already part of its history.
        if passed <= 0 and _hash(chunk) in stored.versions:
            return ""
        # Equal contents within a second are the same chunk: some systems truncate fractions.
        if is_same and (abs(passed) < _SECOND or passed < 0):
            return "" if is_alike or passed <= -_SECOND else FIELDS
        if passed == 0:
            return CONFLICT
        if passed < 0:
            return STALE
        if is_same and is_alike:
            return ""
        is_kept = bool(stored.record_id) and not self.options.allow_dna_update and _is_protected(stored)
        return PROTECTED if is_kept or not stored.record_id else ""

    def _is_newer(self, chunk: JsonObject, stored: StoredChunk) -> bool:
        """Return whether a chunk without conflicts changes the stored one."""
        passed = _nanoseconds(chunk) - _nanoseconds(stored.chunk)
        is_same, is_alike = _hash(chunk) == stored.chunk["content_hash"], _fields(chunk) == _fields(stored.chunk)
        return passed > 0 and not (is_same and (is_alike or passed < _SECOND))

    def _update(self, chunk: JsonObject, stored: StoredChunk, origin: chunk_records.BundleOrigin) -> None:
        record = chunk_records.convert_chunk(chunk, origin, stored.record_id, embeddings=False)
        fields: JsonObject = {name: record.get(name) for name in _UPDATED}
        merged = {name: value for name, value in {**stored.record, **fields}.items() if value is not None}
        fields[aimem_mapping.NAME] = change_marks.mark_record(merged, aimem_mapping.NAME, record[aimem_mapping.NAME])[
            aimem_mapping.NAME
        ]
        self.updates.setdefault(stored.record_id, {}).update(fields)
        self.counts["chunks_updated"] += 1
        self._fate(
            "memory",
            chunk["id"],
            ItemOutcome.TRANSFORMED,
            "the imported memory is newer and replaced the existing one",
            "updated",
        )

    def _refuse(self, chunk: JsonObject, code: str) -> None:
        self.counts["chunks_rejected"] += 1
        if len(self.refused) < _LISTED:
            self.refused.append({"id": chunk["id"], "code": code, "reason": _REASONS[code]})
        self._fate("memory", chunk["id"], ItemOutcome.REJECTED, _REASONS[code], code)

    def _is_erased(self, name: str) -> bool:
        return not self.options.allow_resurrect and self.existing.is_erased(name)

    # Edges and links --------------------------------------------------------------------------------------------

    def _extend(self, chunk: JsonObject, stored: StoredChunk) -> None:
        """Add the new edges and links of an existing memory."""
        name = chunk["id"]
        if not stored.record_id:
            self._drop_links(name)
            return
        now = {**stored.record, **self.updates.get(stored.record_id, {})}
        made: JsonObject = {key: list(as_list(now.get(key))) for key in ("related_records", "entities")}
        before = {key: len(value) for key, value in made.items()}
        self._take_links(made, name, stored)
        grown = {key: value for key, value in made.items() if len(value) > before[key]}
        if grown:
            self.updates.setdefault(stored.record_id, {}).update(grown)

    def _take_links(self, record: JsonObject, name: str, stored: StoredChunk | None) -> None:
        for edge in self.links.edges(name):
            self._take_edge(record, edge, stored)
        for entity, link in self.links.links(name):
            if stored is not None and self.existing.has_link(name, entity["id"]):
                self._fate("link", _link_name(link), ItemOutcome.DEDUPLICATED, "the agent already has this link")
                continue
            record.setdefault("entities", []).append(chunk_records.entity_of(entity, link))
            self.links.place(entity["id"])
            self.counts["chunk_entities_inserted"] += 1
            self._fate("link", _link_name(link), ItemOutcome.ACCEPTED)

    def _take_edge(self, record: JsonObject, edge: JsonObject, stored: StoredChunk | None) -> None:
        if stored is not None and self._has_edge(edge):
            return
        source, target = self.links.whole_of(edge["source_id"]), self.links.whole_of(edge["target_id"])
        other = source if chunk_records.is_swapped(edge) else target
        if self._is_erased(other):
            self._fate("relation", _edge_name(edge), ItemOutcome.REJECTED, _REASONS[ERASED], ERASED)
            return
        self.counts["edges_inserted"] += 1
        self._fate("relation", _edge_name(edge), ItemOutcome.ACCEPTED)
        here = self._id_here(other)
        other_id = here or self.links.record_id(other)
        if chunk_records.is_supersedes_edge(edge) and stored is None and not here:
            record["supersedes"] = other_id
        else:
            record.setdefault("related_records", []).append(chunk_records.related_of(edge, str(other_id)))

    def _has_edge(self, edge: JsonObject) -> bool:
        """Return whether an edge exists already, and record its fate then."""
        source, target = self.links.whole_of(edge["source_id"]), self.links.whole_of(edge["target_id"])
        is_here = self.existing.has_edge(source, target, edge["edge_type"])
        if is_here:
            self._fate("relation", _edge_name(edge), ItemOutcome.DEDUPLICATED, "the agent already has this relation")
            self.counts["edges_skipped"] += 1
        return is_here

    def _id_here(self, name: str) -> str:
        """Return the id of the existing memory with a name, "" if it is missing or deleted. It is cached: every edge
        asks for it, and finding a memory takes time in proportion to its size."""
        if name not in self._ids_here:
            found = self.existing.find(name)
            self._ids_here[name] = "" if found is None or found.is_gone else found.record_id
        return self._ids_here[name]

    def _drop_links(self, name: str, stored: StoredChunk | None = None) -> None:
        """Record the fates of edges and links of a refused chunk. A refused chunk changes nothing, not even those."""
        for edge in self.links.edges(name):
            if stored is None or not self._has_edge(edge):
                self._fate("relation", _edge_name(edge), ItemOutcome.REJECTED, _UNTAKEN, "endpoint_refused")
        for entity, link in self.links.links(name):
            if stored is not None and self.existing.has_link(name, entity["id"]):
                self._fate("link", _link_name(link), ItemOutcome.DEDUPLICATED, "the agent already has this link")
            else:
                self._fate("link", _link_name(link), ItemOutcome.REJECTED, _UNTAKEN, "endpoint_refused")

    # The end ----------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        for edge in self.links.joining_edges:
            self._fate(
                "relation",
                _edge_name(edge),
                ItemOutcome.TRANSFORMED,
                "this relation connected the parts of a long memory, which were joined",
            )
        for edge in self.links.repeated_edges:
            self._fate(
                "relation", _edge_name(edge), ItemOutcome.DEDUPLICATED, "the bundle contains this relation twice"
            )
        for link in self.links.repeated_links:
            self._fate("link", _link_name(link), ItemOutcome.DEDUPLICATED, "the bundle contains this link twice")
        for name, is_linked, is_placed in self.links.entities():
            self._entity_fate(name, is_linked=is_linked, is_placed=is_placed)

    def _entity_fate(self, name: str, *, is_linked: bool, is_placed: bool) -> None:
        if self.existing.has_entity(name):
            self.counts["entities_skipped"] += 1
            self._fate("entity", name, ItemOutcome.DEDUPLICATED, "the agent already has this entity")
        elif is_placed:
            self.counts["entities_inserted"] += 1
            self._fate("entity", name, ItemOutcome.ACCEPTED)
        elif is_linked:
            self._fate("entity", name, ItemOutcome.UNRESOLVED, "no imported memory refers to this entity")
        else:
            self.counts["entities_inserted"] += 1
            self._fate(
                "entity", name, ItemOutcome.ACCEPTED, "no memory refers to this entity, so it is stored separately"
            )

    def new_orphans(self) -> list[JsonObject]:
        """Return the new entities that no chunk names."""
        return [entity for entity in self.links.orphans() if not self.existing.has_entity(entity["id"])]

    def notices(self) -> list[FormatNotice]:
        """Return notices about the bundle and its import."""
        found = list(self.bundle.notices)
        envelope = self.bundle.envelope
        if self.existing.is_other_tenant(envelope.producer, envelope.tenant_id):
            text = "all existing memories of this producer belong to another tenant"
            found.append(FormatNotice(TENANT, text, envelope.producer))
        if self.counts["embeddings_left_out"]:
            text = (
                f"{self.counts['embeddings_left_out']} embeddings were not imported, because their model is not "
                "supported"
            )
            found.append(FormatNotice("embedding_model_unsupported", text, str(self.bundle.envelope.embedding_model)))
        return found

    def summary(self) -> JsonObject:
        """Return the result of the import under the names of the reference implementation and under plain names."""
        count = self.counts
        names = ("chunks_inserted", "chunks_updated", "chunks_skipped_idempotent", "edges_inserted", "edges_skipped")
        more = ("entities_inserted", "entities_skipped", "chunk_entities_inserted")
        found: JsonObject = {name: count[name] for name in (*names, *more)}
        found["chunks_rejected_conflict"] = self.refused
        found |= {"inserted": count["chunks_inserted"], "updated": count["chunks_updated"]}
        found |= {"skipped": count["chunks_skipped_idempotent"], "rejected": count["chunks_rejected"]}
        return {**found, "warnings": [_warning(notice) for notice in self.notices()]}

    def _fate(self, kind: str, name: str, outcome: ItemOutcome, reason: str = "", code: str = "") -> None:
        self.fates.append(ItemFate(kind, name, outcome, reason, code))


def plan_import(existing: ExistingMemories, bundle: AimemBundle, options: ConsumerOptions | None = None) -> ImportPlan:
    """Plan the import of a checked bundle. Nothing is written."""
    chosen = options or ConsumerOptions()
    with LinkIndex(bundle, chosen.namespace) as links:
        importing = BundleImport(bundle, links, existing, chosen)
        inserts = list(importing.inserts())
        orphans = importing.new_orphans()
        made = ImportPlan(inserts, list(importing.updates.items()), summary=importing.summary())
        made.fates, made.notices = importing.fates, importing.notices()
    if orphans:
        made.entries = {ORPHANS: encode_entities([*existing.orphans(), *orphans])}
    return made


def encode_entities(entities: list[JsonObject]) -> bytes:
    """Encode entities as they are stored beside the memories."""
    return b"".join(json_codec.encode_json(entity) + b"\n" for entity in entities)


def _is_protected(stored: StoredChunk) -> bool:
    return is_dna(stored.chunk) or alf_records.is_kept(stored.record)


def _hash(chunk: JsonObject) -> str:
    said = chunk.get("content_hash")
    return said if isinstance(said, str) else hash_content(chunk["content"])


def _nanoseconds(chunk: JsonObject) -> int:
    return instants.parse_nanoseconds(chunk["created_at"])


def _fields(chunk: JsonObject) -> tuple[Any, ...]:
    tags = frozenset(tag.lower() if tag.isascii() else tag for tag in chunk.get("tags") or [])
    return tags, chunk.get("zone"), chunk["memory_type"], chunk.get("is_pinned") is True


def _edge_name(edge: JsonObject) -> str:
    return f"{edge['source_id']} {edge['edge_type']} {edge['target_id']}"


def _link_name(link: JsonObject) -> str:
    return f"{link['chunk_id']} {link['entity_id']}"


def _warning(notice: FormatNotice) -> JsonObject:
    said: JsonObject = {"code": notice.code, "message": notice.text, "where": notice.where}
    return {**said, "embedding_model": notice.where} if notice.code == "embedding_model_unsupported" else said
