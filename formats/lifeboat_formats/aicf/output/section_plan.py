"""Decides which section of an AICF file holds which memory, and in which form (AICF 3.1, "Required Sections", "Optional
Sections")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf import aicf_mapping
from lifeboat_formats.aicf.aicf_mapping import OWN
from lifeboat_formats.aicf.output.respelling import tag_of
from lifeboat_formats.aicf.records import extension, memory_drafts
from lifeboat_formats.aicf.records.memory_drafts import RATIONALE
from lifeboat_formats.aicf.syntax import cell_values, specification
from lifeboat_formats.aicf.syntax.aicf_times import format_time
from lifeboat_formats.aicf.syntax.cell_values import escape_cell, join_cells
from lifeboat_formats.aicf.syntax.document import parse_text
from lifeboat_formats.aicf.syntax.document_parts import ItemKind
from lifeboat_formats.interchange.change_marks import is_unchanged

Fields = list[tuple[str, str]]
"""Keys with their escaped values."""

BLOCKS = {
    "SESSION": aicf_mapping.SESSION,
    "CONVERSATION": aicf_mapping.CONVERSATION,
    "CONSOLIDATION": aicf_mapping.CONSOLIDATION,
}
_ORDER = (
    aicf_mapping.SESSION,
    aicf_mapping.CONVERSATION,
    aicf_mapping.USER_STATE,
    aicf_mapping.APP_STATE,
    aicf_mapping.INSIGHT,
    aicf_mapping.DECISION,
)
_KEPT_ORDER = {kind: place for place, kind in enumerate((*_ORDER, aicf_mapping.CONSOLIDATION))}
_REQUIRED: dict[str, tuple[str, ...]] = {
    aicf_mapping.SESSION: ("app_name", "user_id", "created_at", "last_update_time", "status"),
    aicf_mapping.CONVERSATION: ("timestamp_start", "timestamp_end", "messages"),
    aicf_mapping.CONSOLIDATION: ("source_items", "consolidated_at", "method"),
}


@dataclass(slots=True)
class PlannedMemory:
    """A memory and its form in the file. `fields` are for blocks, `cells` for rows. `synthesised` are required fields
    that the memory does not state. `name` is its name in rows of @LINKS."""

    record: JsonObject
    kind: str
    header: str = ""
    fields: Fields = field(default_factory=list)
    cells: str = ""
    synthesised: tuple[str, ...] = ()
    name: str = ""
    states: list[PlannedMemory] = field(default_factory=list)


def plan_sections(records: Sequence[JsonObject]) -> list[PlannedMemory]:
    """Return the memories in the order of their sections. States follow their conversation."""
    made = [_planned(record) for record in records]
    keys: set[str] = set()
    for number, each in enumerate(made):
        # A state key can stand in a file once. Further memories with the same key become insights.
        if each.kind in (aicf_mapping.USER_STATE, aicf_mapping.APP_STATE):
            key = each.fields[0][0]
            if key in keys:
                made[number] = plan_plain_row(each.record)
            keys.add(key)
    made.sort(key=lambda each: _KEPT_ORDER.get(each.kind, len(_KEPT_ORDER)))
    return assign_names(_with_states(made))


def _planned(record: JsonObject) -> PlannedMemory:
    own = record.get(OWN)
    if isinstance(own, dict):
        known = _from_here(record, own)
        if known is not None:
            return known
    text = str(record["content"])
    if record.get("memory_type") == "preference" and _is_user_key(record, text):
        label, _, value = text.partition(": ")
        fields = [(f"user:{label.replace(' ', '_')}", escape_cell(value))]
        return PlannedMemory(record, aicf_mapping.USER_STATE, fields=fields)
    if record.get("memory_type") == "summary":
        return _consolidation(record, text)
    return plan_plain_row(record)


def plan_plain_row(record: JsonObject) -> PlannedMemory:
    """Plan a row of @INSIGHTS, which can hold any memory."""
    tags = record.get("tags")
    cells = [
        str(record["content"]),
        tag_of(tags, "category") or "GENERAL",
        tag_of(tags, "priority") or "MEDIUM",
        _confidence(record),
        f"memory_type={_memory_type(record)}",
        f"{extension.ID}={record['id']}",
    ]
    return PlannedMemory(record, aicf_mapping.INSIGHT, cells=join_cells(cells))


def _memory_type(record: JsonObject) -> str:
    """Return a memory type of the specification. The extension section holds any other type."""
    known = str(record.get("memory_type", "semantic"))
    return known if known in specification.MEMORY_TYPES else "semantic"


def _confidence(record: JsonObject) -> str:
    """Return the original word if the confidence is unchanged, else the level."""
    own = record.get(OWN)
    literal = own.get("confidence") if isinstance(own, dict) else None
    if isinstance(literal, str) and aicf_mapping.confidence_of(literal) == record.get("confidence"):
        return literal
    return aicf_mapping.level_of(record.get("confidence"))


def _from_here(record: JsonObject, own: JsonObject) -> PlannedMemory | None:
    """Plan a memory that came from an AICF file for its own section, or return None."""
    category = str(record.get("category", ""))
    kind = next((kind for kind in aicf_mapping.KINDS if category == aicf_mapping.category_of(kind)), "")
    if kind == aicf_mapping.DECISION:
        return _decision(record)
    if kind in (aicf_mapping.USER_STATE, aicf_mapping.APP_STATE):
        return _key(record, own, kind)
    if kind in BLOCKS.values() or kind == aicf_mapping.STATE:
        return _block(record, own, kind)
    return None


def _decision(record: JsonObject) -> PlannedMemory:
    text, _, rationale = str(record["content"]).partition(RATIONALE)
    impact = tag_of(record.get("tags"), "impact") or "MEDIUM"
    cells = [text, impact, _confidence(record), rationale, f"{extension.ID}={record['id']}"]
    return PlannedMemory(record, aicf_mapping.DECISION, cells=join_cells(cells))


def _key(record: JsonObject, own: JsonObject, kind: str) -> PlannedMemory | None:
    key, scope = str(own.get("key", "")), str(own.get("scope", ""))
    text = str(record["content"])
    value = memory_drafts.value_of(scope, key, text)
    is_whole = f"{memory_drafts.label_of(scope, key)}: {value}" == text and not value.startswith('"""')
    return (
        PlannedMemory(record, kind, fields=[(key, escape_cell(value))])
        if is_whole and aicf_mapping.is_key(key)
        else None
    )


def _is_user_key(record: JsonObject, text: str) -> bool:
    label, colon, value = text.partition(": ")
    key = label.replace(" ", "_")
    is_line = len(text) < aicf_mapping.LEAST_WORDS and not any(end in text for end in "\r\n") and value.strip() == value
    is_kept = "_" not in label and aicf_mapping.is_key(f"user:{key}") and not value.startswith('"""')
    is_theirs = str(record.get("namespace", "")).startswith("principal_context:")
    return bool(colon and value and label) and is_line and is_kept and is_theirs


def _block(record: JsonObject, own: JsonObject, kind: str) -> PlannedMemory | None:
    """Plan a block with the fields of its span, with `content` only if its text was changed."""
    found = _fields_of(str(own.get("span", "")))
    if not found and kind != aicf_mapping.CONVERSATION:
        return None
    ident = str(own.get("header") or "")
    unchanged = is_unchanged(record, OWN)
    kept = [(key, value) for key, value in found if key != "content" or unchanged]
    if not unchanged and not str(record["content"]).startswith('"""'):
        kept.append(("content", escape_cell(str(record["content"]))))
    fields, synthesised = _completed(record, kind, ident, kept)
    return PlannedMemory(record, kind, ident, fields, synthesised=synthesised, name=ident)


def _fields_of(span: str) -> Fields:
    """Return the pairs of a span, escaped as specified."""
    items = (item for item in parse_text(span).items() if item.kind is ItemKind.PAIR)
    return [(item.key, escape_cell(item.value) if item.is_triple else join_cells(item.values)) for item in items]


def _completed(record: JsonObject, kind: str, ident: str, fields: Fields) -> tuple[Fields, tuple[str, ...]]:
    """Return the fields with the required ones first, and the names of those that were missing."""
    there = dict(fields)
    missing = [name for name in _REQUIRED.get(kind, ()) if name not in there]
    temporal = record.get("temporal") or {}
    start = format_time(str(temporal.get("observed_at") or temporal.get("created_at")))
    end = format_time(str(temporal.get("updated_at") or temporal.get("observed_at") or temporal.get("created_at")))
    made = {
        **dict.fromkeys(("timestamp_start", "created_at", "consolidated_at"), start),
        **dict.fromkeys(("timestamp_end", "last_update_time"), end),
        "messages": "0",
        "app_name": "unknown",
        "user_id": "unknown",
        "status": "completed",
        "source_items": escape_cell(ident or str(record["id"])),
        "method": "temporal_summarization",
    }
    order = list(_REQUIRED.get(kind, ()))
    first = [(name, there.get(name, made[name])) for name in order]
    return [*first, *((name, value) for name, value in fields if name not in order)], tuple(missing)


def _consolidation(record: JsonObject, text: str) -> PlannedMemory:
    """Plan a summary. Its first line is the theme and the others are facts, if that reads back as the same text."""
    theme, *facts = text.split("\n")
    is_list = all(fact.strip() == fact and fact for fact in (theme, *facts)) and "\r" not in text
    if text.startswith('"""'):
        return plan_plain_row(record)
    said = [("semantic_theme", escape_cell(theme))] if is_list else [("content", escape_cell(text))]
    if is_list and facts:
        said.append(("key_facts", join_cells(facts)))
    ident = str(record["id"])
    fields, synthesised = _completed(record, aicf_mapping.CONSOLIDATION, ident, said)
    return PlannedMemory(record, aicf_mapping.CONSOLIDATION, ident, fields, synthesised=synthesised, name=ident)


def _with_states(made: list[PlannedMemory]) -> list[PlannedMemory]:
    """Return each state after its conversation, and each conversation after its session."""
    states = [each for each in made if each.kind == aicf_mapping.STATE]
    conversations = {each.header: each for each in made if each.kind == aicf_mapping.CONVERSATION}
    left = []
    for state in states:
        owner = conversations.get(_interaction(state.record))
        # A conversation holds one @STATE.
        if owner is None or owner.states:
            left.append(plan_plain_row(state.record))
        else:
            owner.states.append(state)
    ordered = [each for each in made if each.kind != aicf_mapping.STATE]
    return sorted([*_by_session(ordered), *left], key=_section_order)


def _by_session(made: list[PlannedMemory]) -> Iterator[PlannedMemory]:
    sessions = [each for each in made if each.kind == aicf_mapping.SESSION]
    conversations = [each for each in made if each.kind == aicf_mapping.CONVERSATION]
    of: dict[str, list[PlannedMemory]] = {session.header: [] for session in sessions}
    of_none: list[PlannedMemory] = []
    for each in conversations:
        of.get(_session(each), of_none).append(each)
    for session in sessions:
        yield session
        yield from of.pop(session.header, ())
    yield from of_none
    yield from (each for each in made if each.kind not in (aicf_mapping.SESSION, aicf_mapping.CONVERSATION))


def _section_order(each: PlannedMemory) -> int:
    """Sort by section, but keep the order of sessions and conversations."""
    if each.kind in (aicf_mapping.SESSION, aicf_mapping.CONVERSATION):
        return 0
    return _KEPT_ORDER.get(each.kind, len(_KEPT_ORDER))


def _interaction(record: JsonObject) -> str:
    return str((record.get("source") or {}).get("interaction_id") or "")


def _session(each: PlannedMemory) -> str:
    return str((each.record.get("source") or {}).get("session_id") or "")


def assign_names(made: list[PlannedMemory]) -> list[PlannedMemory]:
    """Assign names to rows by their order, and return the list."""
    numbers = {aicf_mapping.INSIGHT: 0, aicf_mapping.DECISION: 0}
    for each in made:
        if each.kind in numbers:
            numbers[each.kind] += 1
            each.name = f"{each.kind}_{numbers[each.kind]:03d}"
    return made


def build_link_rows(made: Sequence[PlannedMemory]) -> list[str]:
    """Return the rows of @LINKS: relations between named memories, except those that positions imply."""
    names = {str(each.record["id"]): each.name for each in made if each.name}
    found = []
    for each in made:
        for link in each.record.get("related_records") or ():
            target, relation = names.get(str(link.get("id"))), str(link.get("relation", ""))
            is_plain = relation not in (aicf_mapping.DERIVED, aicf_mapping.ELABORATES) and relation
            if each.name and target and is_plain and "->" not in each.name + target:
                theirs = aicf_mapping.RELATION_BACK.get(relation, relation)
                found.append(f"{escape_cell(each.name)}->{escape_cell(target)}|{escape_cell(theirs)}")
    return found


def list_embeddings(made: Sequence[PlannedMemory]) -> Iterator[tuple[str, Fields]]:
    """Yield identifier and fields of the @EMBEDDING sections: the first vector of each named memory."""
    for each in made:
        known = next(iter(each.record.get("embeddings") or ()), None)
        if each.name and isinstance(known, dict) and isinstance(known.get("vector"), list):
            vector = ",".join(repr(float(number)) for number in known["vector"])
            if not cell_values.parse_vector(vector).is_whole:
                continue
            yield (
                each.name,
                [
                    ("model", escape_cell(aicf_mapping.aicf_model_name(str(known.get("model", "unknown"))))),
                    ("dimension", str(len(known["vector"]))),
                    ("vector", vector),
                    ("indexed_at", format_time(str(known.get("computed_at", "")))),
                ],
            )
