"""Converts a memory record to a chunk of a bundle with its edges and entities (AIMEM §2.2 to §2.6).

What came from a bundle is written as it was, as long as the record is unchanged. `x_alf` holds only those fields that
reading the chunk would not restore.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from lifeboat_alf.common import ids, times
from lifeboat_alf.common.json_shapes import as_list, as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records as alf_records
from lifeboat_formats.aimem import aimem_mapping
from lifeboat_formats.aimem.convert import chunk_records
from lifeboat_formats.aimem.wire import checksum, instants, urn
from lifeboat_formats.aimem.wire.bundle_model import EDGE_TYPES, ENTITY_KINDS, ZONES
from lifeboat_formats.aimem.wire.bundle_writing import portable_weight
from lifeboat_formats.interchange import change_marks


@dataclass(frozen=True, slots=True)
class BundleNaming:
    """How records and entities are named in a bundle: under `namespace`, or by their original names with `preserve`."""

    namespace: str
    preserve: bool = False

    def chunk(self, record: JsonObject) -> str:
        """Return the name of a record."""
        foreign = bundle_literal_of(record).get("id")
        if self.preserve and urn.parse_urn(foreign) is not None:
            return str(foreign)
        return self.of_id(str(record["id"]))

    def of_id(self, record_id: str) -> str:
        """Return the name under our namespace: the id itself if a name can hold it. Archives of other tools may have
        any ids."""
        try:
            return urn.mint_urn(self.namespace, record_id)
        except ValueError:
            return urn.mint_urn(self.namespace, ids.derive_id(0, f"alf\0{record_id}"))

    def entity(self, entity: JsonObject) -> str:
        """Return the name of an entity: the original one if it is in our namespace or `preserve` is set, else one
        derived from the entity."""
        said = bundle_literal_of(entity)
        foreign = urn.parse_urn(said.get("id")) if said.get("name") == entity.get("name") else None
        if foreign is not None and (self.preserve or foreign.producer == self.namespace):
            return str(foreign)
        name = str(entity.get("name"))
        return urn.of_entity(self.namespace, str(entity.get("type")), name if foreign is None else f"{name}\0{foreign}")

    def orphan(self, entity: JsonObject) -> str:
        """Return the name of an entity in the form of a bundle that no memory names."""
        said = {name: entity[name] for name in ("id", "kind", "created_at", "name") if name in entity}
        entity_type = aimem_mapping.entity_type_of(str(entity.get("kind")))
        return self.entity({"name": entity.get("name"), "type": entity_type, aimem_mapping.NAME: said})


class RecordEdge(NamedTuple):
    """A relation of a record. `edge` is the edge without its ends; `other` is the id of the record at the other end,
    which is the source if `is_swapped`."""

    other: str
    edge: JsonObject
    is_swapped: bool = False


class LinkedEntity(NamedTuple):
    """An entity that a record names. `link` holds the members of the link without its ends."""

    entity: JsonObject
    link: JsonObject


def bundle_literal_of(item: JsonObject) -> JsonObject:
    """Return what a bundle stated about a record, a relation or an entity; {} if it came from none."""
    return as_object(item.get(aimem_mapping.NAME))


def _unknown(said: JsonObject, known: tuple[str, ...]) -> JsonObject:
    """Return members from a bundle that are unknown here."""
    return chunk_records.unknown_of(as_object(said.get("unknown")), known)


# Chunks -------------------------------------------------------------------------------------------------------------


def chunk_of(record: JsonObject, name: str, producer: str, *, pure: bool = False) -> JsonObject:
    """Return the chunk of a record without its embedding. `producer` is that of the bundle."""
    said = bundle_literal_of(record)
    chunk: JsonObject = {
        "id": name,
        "content": record["content"],
        "content_hash": checksum.hash_content(record["content"]),
        "memory_type": aimem_mapping.type_of(record),
    }
    if said.get("zone") in ZONES and alf_records.read_record_status(record) != "archived":
        chunk["zone"] = said["zone"]
    pinned = alf_records.is_pinned(record)
    if pinned or not said or "is_pinned" in said:
        chunk["is_pinned"] = pinned
    chunk["created_at"] = creation_time_of(record)
    tags = list_chunk_tags(record)
    # A bundle without tags stays without them.
    if tags or not said or "tags" in said:
        chunk["tags"] = tags
    chunk |= _unknown(said, chunk_records.CHUNK)
    if not pure:
        ours = extra_of(record, chunk, producer)
        chunk |= {aimem_mapping.OURS: ours} if ours else {}
    return chunk


def creation_time_of(record: JsonObject) -> str:
    """Return the creation time of a record: as its bundle stated it, else its own time in UTC."""
    said = bundle_literal_of(record).get("created_at")
    return str(said) if instants.is_instant(said) else format_utc(alf_records.created_at(record))


def format_utc(moment: str) -> str:
    """Return a timestamp of the Agent Life Format in the form of a bundle. Raises ValueError."""
    return moment if instants.is_instant(moment) else times.to_text(times.parse_time(moment))


def list_chunk_tags(record: JsonObject) -> list[str]:
    """Return the tags of a chunk: those of its bundle as long as nothing changed."""
    said = bundle_literal_of(record).get("tags")
    if isinstance(said, list) and change_marks.is_unchanged(record, aimem_mapping.NAME):
        return [tag for tag in said if isinstance(tag, str) and 0 < len(tag) <= aimem_mapping.TAG_LENGTH]
    return chunk_records.list_record_tags(record)


def extra_of(record: JsonObject, chunk: JsonObject, producer: str) -> JsonObject:
    """Return `x_alf`: the fields of a record that reading its chunk does not restore. None marks a field that reading
    would invent."""
    read = alf_records.arrange_fields(chunk_records.read_stated_fields(chunk, chunk_records.BundleOrigin(producer)))
    have = alf_records.arrange_fields(record)
    extra: JsonObject = {}
    for name in chunk_records.TOLD:
        if have.get(name) != read.get(name) and not _is_same(name, have.get(name), read.get(name)):
            extra[name] = have.get(name)
    ext = {
        name: value for name, value in have.items() if name not in alf_records.FIELDS and name not in _OWN_EXTENSIONS
    }
    if ext:
        extra["ext"] = ext
    foreign = bundle_literal_of(record).get("id")
    if isinstance(foreign, str) and foreign != chunk["id"]:
        extra["origin_id"] = foreign
    return extra


_OWN_EXTENSIONS = frozenset({aimem_mapping.NAME, alf_records.MISSING})


def _is_same(name: str, have: Any, read: Any) -> bool:
    """Return whether two values are equal in meaning: an instant can be written in several ways."""
    if name != "temporal" or not isinstance(have, dict) or not isinstance(read, dict) or have.keys() != read.keys():
        return False
    try:
        return set(have) == {"created_at"} and instants.parse_nanoseconds(
            have["created_at"]
        ) == instants.parse_nanoseconds(read["created_at"])
    except instants.NotAnInstant:
        return False


# Edges --------------------------------------------------------------------------------------------------------------


def edges_of(record: JsonObject) -> Iterator[RecordEdge]:
    """Yield the relations of a record as edges. Invalid elements of `related_records` are skipped."""
    moment = creation_time_of(record)
    for related in as_list(record.get("related_records")):
        if (
            isinstance(related, dict)
            and isinstance(related.get("id"), str)
            and isinstance(related.get("relation"), str)
        ):
            yield _edge(related, moment)
    superseded = record.get("supersedes")
    if isinstance(superseded, str):
        edge = {"edge_type": "x-supersedes", "weight": 1.0, "created_at": moment}
        yield RecordEdge(superseded, {**edge, aimem_mapping.OURS: {"field": aimem_mapping.SUPERSEDES}})


def _edge(related: JsonObject, moment: str) -> RecordEdge:
    said, relation = bundle_literal_of(related), related["relation"]
    known = said.get("edge_type")
    is_known = aimem_mapping.is_word(known, EDGE_TYPES) and aimem_mapping.relation_of(str(known)) == relation
    # `caused_by` has no edge type: it is a causal edge in the reverse direction.
    swapped = relation == aimem_mapping.CAUSED_BY and not is_known
    edge_type = str(known) if is_known else "causal" if swapped else aimem_mapping.edge_type_of(relation)
    edge: JsonObject = {
        "edge_type": edge_type,
        "weight": weight_of(said.get("weight")),
        "created_at": said["created_at"] if instants.is_instant(said.get("created_at")) else moment,
    }
    edge |= _unknown(said, chunk_records.EDGE)
    ours: JsonObject = {"swapped": True} if swapped else {}
    if not swapped and aimem_mapping.relation_of(edge_type) != relation:
        ours["relation"] = relation
    ext = {name: value for name, value in related.items() if name not in ("id", "relation", aimem_mapping.NAME)}
    ours |= {"ext": ext} if ext else {}
    return RecordEdge(related["id"], {**edge, aimem_mapping.OURS: ours} if ours else edge, swapped)


def weight_of(value: object) -> float:
    """Return a portable weight, 1.0 if there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return 1.0
    return portable_weight(value)


# Entities -----------------------------------------------------------------------------------------------------------


def entities_of(record: JsonObject, naming: BundleNaming) -> Iterator[LinkedEntity]:
    """Yield the entities that a record names. Elements without a name are skipped."""
    for entity in as_list(record.get("entities")):
        if isinstance(entity, dict) and isinstance(entity.get("name"), str) and entity["name"]:
            yield _linked(entity, record, naming)


def _linked(entity: JsonObject, record: JsonObject, naming: BundleNaming) -> LinkedEntity:
    said, entity_type = bundle_literal_of(entity), str(entity.get("type") or "other")
    known = said.get("kind")
    is_known = aimem_mapping.is_word(known, ENTITY_KINDS) and aimem_mapping.entity_type_of(str(known)) == entity_type
    kind = str(known) if is_known else aimem_mapping.kind_of(entity_type)
    made: JsonObject = {
        "id": naming.entity({**entity, "type": entity_type}),
        "name": entity["name"],
        "kind": kind,
        "created_at": said["created_at"] if instants.is_instant(said.get("created_at")) else creation_time_of(record),
    }
    made |= _unknown(said, chunk_records.ENTITY)
    ours: JsonObject = {"role": entity["role"]} if isinstance(entity.get("role"), str) else {}
    if aimem_mapping.entity_type_of(kind) != entity_type:
        ours["type"] = entity_type
    ext = {name: value for name, value in entity.items() if name not in ("name", "type", "role", aimem_mapping.NAME)}
    ours |= {"ext": ext} if ext else {}
    link = _unknown({"unknown": said.get("link")}, chunk_records.LINK)
    return LinkedEntity(made, {**link, aimem_mapping.OURS: ours} if ours else link)
