"""Converts between memories and the nodes that they came from. As long as a text is unchanged, the original node is
restored."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from lifeboat_adapters.contract import MemorySection
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aionforge import aionforge_mapping, nodes
from lifeboat_formats.aionforge.aionforge_mapping import EXTENSION, RUNTIME
from lifeboat_formats.aionforge.nodes import AionforgeNode
from lifeboat_formats.interchange import change_marks

COLUMNS = ("id", "kind", "content", "fields")
"""The columns of a node as a row of a memory store. `fields` are all other fields as JSON with sorted names."""
ROW, TEXT = "row", "text"


class RecordLinks(NamedTuple):
    """What a record has beyond its node: its id, its predecessor, its relations (as relation and record id), and the
    original name of its session."""

    id: str
    supersedes: str | None = None
    related: Sequence[tuple[str, str]] = ()
    session: str | None = None


def record_from_node(node: AionforgeNode, links: RecordLinks | None = None) -> JsonObject:
    """Return the record of a node without `agent_id`, marked so that later changes are noticed."""
    links = links or RecordLinks(record_id_of(node))
    fields = aionforge_mapping.memory_fields(node)
    if links.supersedes is not None:
        fields["supersedes"] = links.supersedes
    if links.related:
        fields["related_records"] = [{"id": id, "relation": relation} for relation, id in links.related]
    if links.session is not None:
        fields["source"] = {**fields["source"], "session_id": links.session}
    record: JsonObject = {"id": links.id, "content": aionforge_mapping.memory_text(node), **fields}
    record["temporal"] = {"created_at": "1970-01-01T00:00:00.000Z", **record["temporal"]}
    return change_marks.mark_record(record, EXTENSION, {"id": node.id, "kind": node.kind, "fields": node.fields})


def record_id_of(node: AionforgeNode) -> str:
    """Return the id of the memory for a node."""
    return aionforge_mapping.record_id(node.id, node.fields.get("ingested_at"))


def row_of_node(node: AionforgeNode) -> JsonObject:
    """Return a node as a row of the memory store."""
    return {
        "id": node.id,
        "kind": node.kind,
        "content": aionforge_mapping.memory_text(node),
        "fields": json_codec.encode_canonical(node.fields).decode(),
    }


def node_of_row(values: JsonObject) -> AionforgeNode:
    """Return the node in a row. Damaged fields are ignored."""
    try:
        fields = json_codec.decode_json(str(values.get("fields") or "{}").encode())
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        fields = {}
    own = fields if isinstance(fields, dict) else {}
    return AionforgeNode(
        str(values.get("id") or ""), str(values.get("kind") or ""), str(values.get("content") or ""), own
    )


def section_from_node(values: JsonObject) -> MemorySection:
    """Implement `DatabaseSupport.memory_of`."""
    node = node_of_row(values)
    text = aionforge_mapping.memory_text(node)
    kept = {name: value for name, value in values.items() if name != "content" or value != text}
    fields = aionforge_mapping.memory_fields(node)
    fields["raw_source_format"] = {RUNTIME: {ROW: kept, TEXT: _mark(text)}}
    return MemorySection(text, fields=fields, record_id=record_id_of(node) if node.id else None)


def row_of_record(record: JsonObject, root_id: str) -> JsonObject:
    """Return the row that a memory came from, with its current text, or a new episode (`DatabaseSupport.row_of`)."""
    part = _part(record)
    said = str(record.get("content", ""))
    if part is None:
        node = node_of(record)
        return row_of_node(node) if node is not None else new_row(record, root_id)
    held = {name: value for name, value in part[ROW].items() if name in COLUMNS}
    if part.get(TEXT) != _mark(said):
        held.pop("content", None)
    return {"id": root_id, "kind": nodes.EPISODE, "fields": "{}", "content": said, **held}


def new_row(record: JsonObject, root_id: str) -> JsonObject:
    """Return the row of a new episode with the text of a record."""
    fields = {"role": aionforge_mapping.DEFAULT_ROLE, "captured_at": captured_at(record)}
    return {
        "id": root_id,
        "kind": nodes.EPISODE,
        "content": str(record.get("content", "")),
        "fields": json_codec.encode_canonical(fields).decode(),
    }


def captured_at(record: JsonObject) -> str | None:
    """Return when the content of a memory happened, if it is known."""
    temporal = record.get("temporal") or {}
    found = temporal.get("observed_at") or temporal.get("created_at")
    return found if isinstance(found, str) else None


def node_of(record: JsonObject) -> AionforgeNode | None:
    """Return the node that a memory came from, with its current text, or None. `is_original` tells whether the text is
    unchanged."""
    part = _part(record)
    if part is not None:
        return node_of_row({"content": record.get("content"), **part[ROW]})
    own = record.get(EXTENSION)
    if not isinstance(own, dict) or not isinstance(own.get("id"), str) or not isinstance(own.get("kind"), str):
        return None
    fields = own.get("fields")
    return AionforgeNode(
        own["id"], own["kind"], str(record.get("content", "")), fields if isinstance(fields, dict) else {}
    )


def is_original(record: JsonObject) -> bool:
    """Return whether a memory that came from a node still has the node's text."""
    part = _part(record)
    if part is not None:
        return bool(part.get(TEXT) == _mark(str(record.get("content", ""))))
    return change_marks.is_unchanged(record, EXTENSION)


def _part(record: JsonObject) -> JsonObject | None:
    formats = record.get("raw_source_format")
    part = formats.get(RUNTIME) if isinstance(formats, dict) else None
    return part if isinstance(part, dict) and isinstance(part.get(ROW), dict) else None


def _mark(text: str) -> str:
    """Return a digest that tells whether a text is the captured one. It is only stored beside that text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
