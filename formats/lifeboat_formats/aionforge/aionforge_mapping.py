"""Maps nodes of Aionforge to memories. The tables are applied by the code and shown in the documentation.

Of four properties that change a node in Aionforge only two are part of the memory's status: whether a fact is believed,
and whether a node was softly forgotten. Consolidation of an episode and promotion of a fact are not. Fields that a
release does not send (see `UNAVAILABLE`) are left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from lifeboat_alf.common import ids
from lifeboat_alf.common.json_shapes import objects_in, texts_in
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_formats.aionforge import aionforge_times, nodes
from lifeboat_formats.aionforge.nodes import AionforgeNode
from lifeboat_formats.interchange.contract import MappingRow, MappingTable

RUNTIME = "aionforge"
EXTENSION = "x_aionforge"
STORE = "memory"
"""The `origin_file` of memories that came from no file."""


class KindRule(NamedTuple):
    """How nodes of one kind are mapped. `derived`: the instance generates such nodes from its episodes."""

    memory_type: str
    category: str | None
    derived: bool
    note: str


KINDS: dict[str, KindRule] = {
    nodes.EPISODE: KindRule("episodic", None, False, "role, model and provenance are stored in `x_aionforge`"),
    nodes.FACT: KindRule("semantic", None, True, "predicate, object and subject are stored in `x_aionforge`"),
    nodes.ENTITY: KindRule(
        "semantic", "aionforge:entity", True, "the entity itself becomes `entities[0]`; entities are never merged"
    ),
    nodes.NOTE: KindRule("summary", None, True, "the context is stored in `x_aionforge`"),
    nodes.SKILL: KindRule("procedural", None, False, "name, description and body become text, which is never executed"),
    nodes.BAD_PATTERN: KindRule("procedural", "bad_pattern", False, ""),
    nodes.WORK_ITEM: KindRule("semantic", "aionforge:work_item", False, "title and body become text"),
}
_OTHER = "aionforge:"

CORE_ROWS = (
    MappingRow(
        "CoreBlock `persona`", "`identity.json`: `prose.soul`", "used only if the identity has no other soul text"
    ),
    MappingRow(
        "any other CoreBlock",
        "`prose.custom_blocks.aionforge_<kind>_<id>`",
        "the block becomes a part of the identity, never a memory",
    ),
)

TIMES = {"captured_at": "observed_at", "observed_at": "observed_at"}
"""Time fields of a node and their names in `temporal`."""
TIMES |= {"valid_from": "valid_from", "valid_to": "valid_until", "last_access": "last_accessed_at"}
"""Fields with a time, and what they are in `temporal`."""

PLAIN = {"confidence": "confidence"}
RELATIONS = {
    "contradicts": "contradicts",
    "supports": "derived_from",
    "source_episode_ids": "derived_from",
    "derived_from_episode": "derived_from",
    "derived_from": "derived_from",
    "relates_to": "relates_to",
    "has_failure": "caused_by",
}
"""Fields that refer to other nodes, and the relation in `related_records`."""

STATUS = {"active": "active", "superseded": "superseded", "quarantined": "archived"}
"""Record status for the status of a fact. A quarantined fact must not appear as current; the literal restores it."""

ENTITY_TYPES = frozenset(("person", "organization", "project", "location", "tool", "service"))
ROLES = frozenset(("user", "assistant", "tool", "event"))
"""Roles that can be captured. Every instance refuses `system`."""
DEFAULT_ROLE = "event"
WORK_STATUSES = ("todo", "in_progress", "blocked", "done", "dropped")

UNAVAILABLE = (
    "importance, surprise, access counts, pins",
    "subject, object, confidence and source spans of facts",
    "validity windows, and all relations between memories, for example contradictions",
    "aliases and attributes of entities",
    "keywords, context and sources of notes",
    "body and parameters of skills",
    "vectors",
    "nodes that were forgotten but not deleted",
)
"""What no tool of an instance sends, unless it is part of a node anyway."""


def memory_fields(node: AionforgeNode) -> JsonObject:
    """Return the record fields that follow from a node, without id, content and literal."""
    rule = KINDS.get(node.kind) or KindRule("semantic", f"{_OTHER}{node.kind}", False, "")
    fields: JsonObject = {
        "memory_type": rule.memory_type,
        "namespace": memory_namespace(node),
        "status": memory_status(node),
    }
    if rule.category is not None:
        fields["category"] = rule.category
    fields["source"] = memory_source(node)
    fields["temporal"] = memory_times(node)
    confidence = _found(node, "confidence")
    if isinstance(confidence, int | float) and not isinstance(confidence, bool) and 0 <= confidence <= 1:
        fields["confidence"] = float(confidence)
    tags = [each for each in texts_in(_found(node, "keywords")) if each]
    if tags:
        fields["tags"] = tags
    named = memory_entities(node)
    if named:
        fields["entities"] = named
    if _found(node, "is_pinned") is True:
        fields[memory_records.PINNED] = True
    return fields


def memory_text(node: AionforgeNode) -> str:
    """Return the text of a memory. A node without text gets its kind and id."""
    return node.text if node.text.strip() else f"{node.kind} {node.id}"


def record_id(node_id: str, written_at: Any) -> str:
    """Return the id of the memory for a node: the node's own id if it is a UUIDv7, else a derived one that is always
    the same."""
    if ids.is_version_7(node_id):
        return node_id
    return ids.derive_id(aionforge_times.to_milliseconds(written_at), f"{RUNTIME}\0{node_id}")


def memory_namespace(node: AionforgeNode) -> str:
    """Return the namespace of a memory. The agent's own is the default."""
    kind, _, name = node.namespace.partition(":")
    if kind == "agent":
        return "default"
    return f"team:{name}" if kind == "team" and name else kind or "default"


def memory_status(node: AionforgeNode) -> str:
    """Return the record status of a node."""
    if _found(node, "expired_at") or _found(node, "deprecated") is True or _found(node, "deprecated_at"):
        return "archived"
    if node.fields.get("superseded_by"):
        return "superseded"
    return STATUS.get(str(node.fields.get("status")), "active") if node.kind == nodes.FACT else "active"


def memory_source(node: AionforgeNode) -> JsonObject:
    """Return the `source` of a record."""
    method = "agent_written" if not (rule := KINDS.get(node.kind)) or not rule.derived else "llm_extracted"
    found: JsonObject = {"runtime": RUNTIME, "origin": "memory_server", "origin_file": STORE}
    found["extraction_method"] = "user_authored" if node.fields.get("role") == "user" else method
    session = node.fields.get("session_id")
    return found | ({"session_id": session} if isinstance(session, str) and session else {})


def memory_times(node: AionforgeNode) -> JsonObject:
    """Return times in UTC without invalid ones. The literal keeps them to the nanosecond."""
    written = aionforge_times.normalize_time(node.fields.get("ingested_at"))
    found: JsonObject = {"created_at": written} if written else {}
    for theirs, ours in TIMES.items():
        moment = aionforge_times.normalize_time(_found(node, theirs))
        if moment is not None:
            found[ours] = moment
    count = _found(node, "access_count_recent")
    if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
        found["access_count"] = count
    return found


def memory_entities(node: AionforgeNode) -> list[JsonObject]:
    """Return the entities that a node names."""
    if node.kind == nodes.ENTITY:
        return [make_entity(node.fields.get("canonical_name"), node.fields.get("entity_type"))]
    found = objects_in(node.fields.get("entities"))
    names = ((each.get("canonical_name") or each.get("name"), each.get("entity_type")) for each in found)
    return [make_entity(name, type) for name, type in names if isinstance(name, str) and name]


def make_entity(name: Any, type: Any) -> JsonObject:
    """Return an element of `entities`. Unknown types become `other`."""
    return {"name": str(name or ""), "type": type if isinstance(type, str) and type in ENTITY_TYPES else "other"}


def related_nodes(node: AionforgeNode) -> list[tuple[str, str]]:
    """Return the nodes that a node refers to, with their relations."""
    found = []
    for theirs, ours in RELATIONS.items():
        named = _found(node, theirs)
        for each in named if isinstance(named, list) else [named]:
            id = each.get("id") if isinstance(each, dict) else each
            if isinstance(id, str) and ids.is_uuid(id):
                found.append((ours, nodes.normal_id(id)))
    return list(dict.fromkeys(found))


def _found(node: AionforgeNode, name: str) -> Any:
    """Return a field of a node from its top level or one of its blocks; releases differ."""
    if name in node.fields:
        return node.fields[name]
    for block in ("stats", "identity", "validity", "about"):
        inside = node.fields.get(block)
        if isinstance(inside, dict) and name in inside:
            return inside[name]
    return None


def build_mapping_tables() -> list[MappingTable]:
    """Return the mapping tables of the documentation."""
    return [
        MappingTable("Nodes of Aionforge", [*_kind_rows(), *CORE_ROWS]),
        MappingTable("Fields of Aionforge's nodes", _field_rows()),
        MappingTable("Data that no Aionforge tool returns", [MappingRow(each, "left out") for each in UNAVAILABLE]),
    ]


def _kind_rows() -> list[MappingRow]:
    rows = []
    for kind, rule in KINDS.items():
        category = f", category `{rule.category}`" if rule.category else ""
        back = "Lifeboat does not send the node, because Aionforge derives it again" if rule.derived else _back(kind)
        rows.append(
            MappingRow(f"`{kind}`", f"`{rule.memory_type}`{category}", "; ".join(filter(None, (rule.note, back))))
        )
    return rows


def _back(kind: str) -> str:
    known = {nodes.EPISODE: "with `batch_capture`", nodes.WORK_ITEM: "with `work_create` and `work_advance`"}
    return f"Lifeboat sends the node {known.get(kind, f'as an episode of the role `{DEFAULT_ROLE}`')}"


def _field_rows() -> list[MappingRow]:
    rows = [
        MappingRow(
            "`ingested_at`", "`temporal.created_at`", "the original form of every time is stored in `x_aionforge`"
        )
    ]
    rows += [MappingRow(f"`{theirs}`", f"`temporal.{ours}`") for theirs, ours in TIMES.items()]
    rows += [MappingRow(f"`{theirs}`", f"`{ours}`") for theirs, ours in PLAIN.items()]
    rows.append(MappingRow("`keywords`", "`tags`"))
    rows.append(MappingRow("`access_count_recent`", "`temporal.access_count`"))
    rows.append(
        MappingRow(
            "`supersedes`, `superseded_by`",
            "the newer record gets `supersedes`; the older one gets the status `superseded`",
        )
    )
    rows += [MappingRow(f"`{theirs}`", f"`related_records`: `{ours}`") for theirs, ours in RELATIONS.items()]
    rows += [MappingRow(f"fact `{theirs}`", f"status `{ours}`") for theirs, ours in STATUS.items()]
    rows.append(MappingRow("`expired_at`", "status `archived`", "the memory was forgotten but not deleted"))
    rows.append(MappingRow("`is_pinned`", "`pinned`", "Lifeboat pins the memory with the tool `pin`"))
    rows.append(MappingRow("`agent:<id>`", "namespace `default`"))
    rows.append(MappingRow("`team:<name>`, `global`", "the same namespace"))
    rows.append(MappingRow("audit events", f"`raw/{RUNTIME}/audit.jsonl`", "they are not memories"))
    return rows
