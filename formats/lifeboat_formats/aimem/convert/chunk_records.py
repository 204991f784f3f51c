"""Converts a chunk of a bundle to a memory record with its edges and entities (AIMEM §2.2 to §2.7).

`x_aimem` keeps what a bundle states beyond the fields of a record. What we wrote into a chunk as `x_alf` becomes record
fields again if the chunk is unchanged; it can never name another record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from lifeboat_alf.archive import document_types
from lifeboat_alf.common import ids, times
from lifeboat_alf.common.json_shapes import as_object, texts_in
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_formats.aimem import aimem_mapping
from lifeboat_formats.aimem.wire import float_vectors, instants, urn
from lifeboat_formats.aimem.wire.bundle_model import KIND, AimemBundle
from lifeboat_formats.interchange import change_marks

RUNTIME = "aimem"
CHUNK = ("id", "content", "content_hash", "memory_type", "zone", "is_pinned", "created_at", "tags", "embedding")
EDGE = ("source_id", "target_id", "edge_type", "weight", "created_at")
ENTITY = ("id", "name", "kind", "created_at")
LINK = ("chunk_id", "entity_id")
"""The members that the draft defines for chunks, edges, entities and links."""
_SAID = ("id", "content_hash", "memory_type", "zone", "is_pinned", "created_at", "tags")
"""Members of a chunk that are kept as written."""

TOLD = (
    "memory_type",
    "category",
    "namespace",
    "confidence",
    "status",
    "source",
    "temporal",
    "tags",
    "raw_source_format",
)
"""Record fields that `x_alf` may hold: all except the id, the content, and references."""
_TAGGED_STATUS = ("superseded", "archived")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-5][0-9](?:\.[0-9]{1,9})?Z")
_SOME_ID = "00000000-0000-7000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class BundleOrigin:
    """What all chunks of a bundle have in common. `file` is the file of the bundle, "" if there is none."""

    producer: str
    tenant_id: str = ""
    exported_at: str = ""
    embedding_model: str = ""
    embedding_dim: int = 0
    file: str = ""

    @classmethod
    def of(cls, bundle: AimemBundle, file: str = "") -> BundleOrigin:
        """Return the origin of the chunks of a bundle."""
        said = bundle.envelope
        model, dimensions = said.embedding_model or "", said.embedding_dim or 0
        return cls(said.producer, said.tenant_id, said.exported_at, model, dimensions, file)


# Ids ----------------------------------------------------------------------------------------------------------------


def find_chunk_record_id(chunk: JsonObject, own: str = "") -> str:
    """Return the id of the record that a chunk becomes. A chunk made from a record restores the record's id: ours
    (`own` is our namespace), or one that another Lifeboat wrote."""
    name = str(chunk["id"])
    found = urn.parse_urn(name)
    if found is not None and isinstance(chunk.get(aimem_mapping.OURS), dict) and ids.is_version_7(found.local):
        return found.local
    return urn.record_id(name, str(chunk["created_at"]), own=own)


# Records ------------------------------------------------------------------------------------------------------------


def convert_chunk(chunk: JsonObject, origin: BundleOrigin, record_id: str, *, embeddings: bool = True) -> JsonObject:
    """Return the record of a checked chunk without `agent_id`, relations and entities."""
    record = _restored(read_stated_fields(chunk, origin), chunk)
    if embeddings and isinstance(chunk.get("embedding"), str):
        record["embeddings"] = [_embedding(chunk, origin)]
    own: JsonObject = {name: chunk[name] for name in _SAID if chunk.get(name) is not None}
    own |= {"producer": origin.producer, "tenant_id": origin.tenant_id, "mapped_from": record["memory_type"]}
    if origin.embedding_model and chunk.get("embedding") is not None:
        own["embedding_model"] = origin.embedding_model
    unknown = unknown_of(chunk, CHUNK)
    if unknown:
        own["unknown"] = unknown
    return change_marks.mark_record({"id": record_id, **record}, aimem_mapping.NAME, own)


def read_stated_fields(chunk: JsonObject, origin: BundleOrigin) -> JsonObject:
    """Return the record fields that a chunk states without `x_alf`."""
    tags = list(dict.fromkeys(chunk.get("tags") or []))
    known = aimem_mapping.TYPES[chunk["memory_type"]]
    memory_type, status = known.ours, "active"
    if memory_type == "episodic" and aimem_mapping.TYPE_TAG + "summary" in tags:
        memory_type = "summary"
        tags.remove(aimem_mapping.TYPE_TAG + "summary")
    for name in _TAGGED_STATUS:
        if aimem_mapping.STATUS_TAG + name in tags:
            status = name
            tags.remove(aimem_mapping.STATUS_TAG + name)
    source = {"runtime": RUNTIME, "origin": origin.producer, "extraction_method": "migrated"}
    record: JsonObject = {
        "content": chunk["content"],
        "memory_type": memory_type,
        "category": known.category,
        "namespace": "default",
        "status": status,
        "source": {**source, "origin_file": origin.file} if origin.file else source,
        "temporal": {"created_at": time_of(chunk["created_at"])},
    }
    return {**record, "tags": tags} if tags else record


def time_of(instant: str) -> str:
    """Return an instant of a bundle as a timestamp of a record, unchanged if it already is one."""
    return instant if _TIMESTAMP.fullmatch(instant) else instants.normalize_instant(instant)


def unknown_of(item: JsonObject, known: Iterable[str]) -> JsonObject:
    """Return the members that neither the draft nor we define."""
    left_out = {*known, aimem_mapping.OURS, KIND}
    return {name: value for name, value in item.items() if name not in left_out}


def _embedding(chunk: JsonObject, origin: BundleOrigin) -> JsonObject:
    own = as_object(_ours(chunk).get("embedding"))
    made = {
        "model": aimem_mapping.name_bundle_model(origin.embedding_model),
        "dimensions": origin.embedding_dim,
        "vector": float_vectors.shortest_floats(float_vectors.unpack_vector(chunk["embedding"], origin.embedding_dim)),
        "computed_at": time_of(origin.exported_at),
        "source": "runtime",
    }
    if isinstance(own.get("source"), str):
        made["source"] = own["source"]
    if _is_time(own.get("computed_at")):
        made["computed_at"] = own["computed_at"]
    if isinstance(own.get("model"), str) and aimem_mapping.model_name_of(own["model"]) == origin.embedding_model:
        made["model"] = own["model"]
    return made


# What we said ourselves ---------------------------------------------------------------------------------------------


def _ours(item: JsonObject) -> JsonObject:
    return as_object(item.get(aimem_mapping.OURS))


def _restored(base: JsonObject, chunk: JsonObject) -> JsonObject:
    """Return a record with the fields of `x_alf`, if they form a valid record and the chunk is unchanged."""
    told = {name: value for name, value in _ours(chunk).items() if name in TOLD}
    ext = _ours(chunk).get("ext")
    if not told and not isinstance(ext, dict):
        return base
    made = {**base, **told, **_extensions(ext, chunk)}
    made = {name: value for name, value in made.items() if value is not None}
    if not _is_record(made) or memory_records.is_deleted(made):  # no bundle holds deleted memories
        return base
    # Type or tags were changed in the bundle, so `x_alf` is outdated for these fields.
    if aimem_mapping.type_of(made) != chunk["memory_type"] or list_record_tags(made) != sorted(
        set(chunk.get("tags") or [])
    ):
        for name in ("memory_type", "category", "tags", "status"):
            made.pop(name, None)
            made |= {name: base[name]} if name in base else {}
    return made


def _extensions(ext: object, chunk: JsonObject) -> JsonObject:
    """Return fields of other formats, such as `x_aicf`. A memory that was unpinned stays unpinned."""
    if not isinstance(ext, dict):
        return {}
    refused = {*memory_records.FIELDS, aimem_mapping.NAME, aimem_mapping.OURS, memory_records.MISSING}
    if chunk.get("is_pinned") is not True:
        refused.add(memory_records.PINNED)
    return {name: value for name, value in ext.items() if name not in refused}


def _is_record(record: JsonObject) -> bool:
    whole = {**record, "id": _SOME_ID, "agent_id": _SOME_ID}
    try:
        msgspec.convert(whole, document_types.MemoryRecord)
    except (msgspec.ValidationError, RecursionError):
        return False
    moments = (value for name, value in record["temporal"].items() if name.endswith(("_at", "_from", "_until")))
    return all(_is_time(value) for value in moments if value is not None)


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(times.parse_time(value))
    except (ValueError, OverflowError):
        return False


def list_record_tags(record: JsonObject) -> list[str]:
    """Return the sorted tags of a record in a bundle: lower-case, unique, neither empty nor too long."""
    found = {tag.lower() if tag.isascii() else tag for tag in texts_in(record.get("tags"))}
    if memory_records.reads_as("memory_type", str(record.get("memory_type", ""))) == "summary":
        found.add(aimem_mapping.TYPE_TAG + "summary")
    if memory_records.read_record_status(record) in _TAGGED_STATUS:
        found.add(aimem_mapping.STATUS_TAG + memory_records.read_record_status(record))
    return sorted(tag for tag in found if 0 < len(tag) <= aimem_mapping.TAG_LENGTH)


# Relations ----------------------------------------------------------------------------------------------------------


def is_supersedes_edge(edge: JsonObject) -> bool:
    """Return whether an edge stands for the `supersedes` field of its record."""
    return edge["edge_type"] == "x-supersedes" and _ours(edge).get("field") == aimem_mapping.SUPERSEDES


def is_swapped(edge: JsonObject) -> bool:
    """Return whether an edge belongs to the record at its target."""
    return edge["edge_type"] == "causal" and _ours(edge).get("swapped") is True


def related_of(edge: JsonObject, other_id: str) -> JsonObject:
    """Return an edge as an element of `related_records` of the record at its source (of its target if `is_swapped`)."""
    told = _ours(edge)
    relation = aimem_mapping.CAUSED_BY if is_swapped(edge) else aimem_mapping.relation_of(edge["edge_type"])
    if isinstance(told.get("relation"), str) and aimem_mapping.edge_type_of(told["relation"]) == edge["edge_type"]:
        relation = told["relation"]
    own: JsonObject = {name: edge[name] for name in ("edge_type", "weight", "created_at")}
    unknown = unknown_of(edge, EDGE)
    ext = told.get("ext")
    extra = {name: value for name, value in ext.items() if name not in _RELATED} if isinstance(ext, dict) else {}
    return {
        "id": other_id,
        "relation": relation,
        **extra,
        aimem_mapping.NAME: {**own, "unknown": unknown} if unknown else own,
    }


_RELATED = frozenset({"id", "relation", aimem_mapping.NAME})
_INLINE = frozenset({"name", "type", aimem_mapping.NAME})


# Entities -----------------------------------------------------------------------------------------------------------


def entity_of(entity: JsonObject, link: Mapping[str, Any]) -> JsonObject:
    """Return an entity and its link as an element of `entities`."""
    own = as_object(link.get(aimem_mapping.OURS))
    entity_type = aimem_mapping.entity_type_of(entity["kind"])
    if isinstance(own.get("type"), str) and aimem_mapping.kind_of(own["type"]) == entity["kind"]:
        entity_type = own["type"]
    made: JsonObject = {"name": entity["name"], "type": entity_type}
    if isinstance(own.get("role"), str):
        made["role"] = own["role"]
    made |= {name: value for name, value in as_object(own.get("ext")).items() if name not in _INLINE}
    said: JsonObject = {name: entity[name] for name in ENTITY}
    unknown = unknown_of(entity, ENTITY)
    said |= {"unknown": unknown} if unknown else {}
    unknown = unknown_of(dict(link), LINK)
    said |= {"link": unknown} if unknown else {}
    return {**made, aimem_mapping.NAME: said}
