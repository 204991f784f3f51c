"""Which section of an AICF file holds which memory, as lines (AICF 3.1, "Required Sections", "Optional Sections")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lifeboat_alf.json_types import JsonObject
from lifeboat_formats.aicf import extension, mapping, memories, specified, values
from lifeboat_formats.aicf.document import parse_text
from lifeboat_formats.aicf.mapping import OWN
from lifeboat_formats.aicf.memories import RATIONALE
from lifeboat_formats.aicf.moments import spelled
from lifeboat_formats.aicf.parts import Kind
from lifeboat_formats.aicf.respelling import tag_of
from lifeboat_formats.aicf.values import escape, join_cells
from lifeboat_formats.interchange.changed import is_unchanged

Fields = list[tuple[str, str]]
"""Keys, and values as they are written."""

BLOCKS = {"SESSION": mapping.SESSION, "CONVERSATION": mapping.CONVERSATION, "CONSOLIDATION": mapping.CONSOLIDATION}
_ORDER = (
    mapping.SESSION,
    mapping.CONVERSATION,
    mapping.USER_STATE,
    mapping.APP_STATE,
    mapping.INSIGHT,
    mapping.DECISION,
)
_KEPT_ORDER = {kind: place for place, kind in enumerate((*_ORDER, mapping.CONSOLIDATION))}
_REQUIRED: dict[str, tuple[str, ...]] = {
    mapping.SESSION: ("app_name", "user_id", "created_at", "last_update_time", "status"),
    mapping.CONVERSATION: ("timestamp_start", "timestamp_end", "messages"),
    mapping.CONSOLIDATION: ("source_items", "consolidated_at", "method"),
}


@dataclass(slots=True)
class Planned:
    """A memory and the form in which it is written. `fields` are those of a block, `cells` those of a row.
    `synthesised` are required fields that the memory does not say. `name` is how rows of @LINKS speak of it."""

    record: JsonObject
    kind: str
    header: str = ""
    fields: Fields = field(default_factory=list)
    cells: str = ""
    synthesised: tuple[str, ...] = ()
    name: str = ""
    states: list[Planned] = field(default_factory=list)


def plan(records: Sequence[JsonObject]) -> list[Planned]:
    """The memories in the order of their sections; states stand behind their conversation."""
    made = [_planned(record) for record in records]
    keys: set[str] = set()
    for number, each in enumerate(made):
        if each.kind in (mapping.USER_STATE, mapping.APP_STATE):
            key = each.fields[0][0]
            if key in keys:
                made[number] = plain(each.record)
            keys.add(key)
    made.sort(key=lambda each: _KEPT_ORDER.get(each.kind, len(_KEPT_ORDER)))
    return named(_with_states(made))


def _planned(record: JsonObject) -> Planned:
    own = record.get(OWN)
    if isinstance(own, dict):
        known = _from_here(record, own)
        if known is not None:
            return known
    text = str(record["content"])
    if record.get("memory_type") == "preference" and _is_user_key(record, text):
        label, _, value = text.partition(": ")
        fields = [(f"user:{label.replace(' ', '_')}", escape(value))]
        return Planned(record, mapping.USER_STATE, fields=fields)
    if record.get("memory_type") == "summary":
        return _consolidation(record, text)
    return plain(record)


def plain(record: JsonObject) -> Planned:
    """A row of @INSIGHTS, which holds any memory."""
    tags = record.get("tags")
    cells = [
        str(record["content"]),
        tag_of(tags, "category") or "GENERAL",
        tag_of(tags, "priority") or "MEDIUM",
        _confidence(record),
        f"memory_type={_memory_type(record)}",
        f"{extension.ID}={record['id']}",
    ]
    return Planned(record, mapping.INSIGHT, cells=join_cells(cells))


def _memory_type(record: JsonObject) -> str:
    """One of the types that the specification has; ours stands in the extension where it is another."""
    known = str(record.get("memory_type", "semantic"))
    return known if known in specified.MEMORY_TYPES else "semantic"


def _confidence(record: JsonObject) -> str:
    """The word that stood there, as long as the memory is as it came; else the level."""
    own = record.get(OWN)
    literal = own.get("confidence") if isinstance(own, dict) else None
    if isinstance(literal, str) and mapping.confidence_of(literal) == record.get("confidence"):
        return literal
    return mapping.level_of(record.get("confidence"))


def _from_here(record: JsonObject, own: JsonObject) -> Planned | None:
    """A memory that came from a file of this format, in its own section."""
    category = str(record.get("category", ""))
    kind = next((kind for kind in mapping.KINDS if category == mapping.category_of(kind)), "")
    if kind == mapping.DECISION:
        return _decision(record)
    if kind in (mapping.USER_STATE, mapping.APP_STATE):
        return _key(record, own, kind)
    if kind in BLOCKS.values() or kind == mapping.STATE:
        return _block(record, own, kind)
    return None


def _decision(record: JsonObject) -> Planned:
    text, _, rationale = str(record["content"]).partition(RATIONALE)
    impact = tag_of(record.get("tags"), "impact") or "MEDIUM"
    cells = [text, impact, _confidence(record), rationale, f"{extension.ID}={record['id']}"]
    return Planned(record, mapping.DECISION, cells=join_cells(cells))


def _key(record: JsonObject, own: JsonObject, kind: str) -> Planned | None:
    key, scope = str(own.get("key", "")), str(own.get("scope", ""))
    text = str(record["content"])
    value = memories.value_of(scope, key, text)
    is_whole = f"{memories.label_of(scope, key)}: {value}" == text and not value.startswith('"""')
    return Planned(record, kind, fields=[(key, escape(value))]) if is_whole and mapping.is_key(key) else None


def _is_user_key(record: JsonObject, text: str) -> bool:
    label, colon, value = text.partition(": ")
    key = label.replace(" ", "_")
    is_line = len(text) < mapping.LEAST_WORDS and not any(end in text for end in "\r\n") and value.strip() == value
    is_kept = "_" not in label and mapping.is_key(f"user:{key}") and not value.startswith('"""')
    is_theirs = str(record.get("namespace", "")).startswith("principal_context:")
    return bool(colon and value and label) and is_line and is_kept and is_theirs


def _block(record: JsonObject, own: JsonObject, kind: str) -> Planned | None:
    """A block with the fields that its span has; `content` only where its text was changed."""
    found = _fields_of(str(own.get("span", "")))
    if not found and kind != mapping.CONVERSATION:
        return None
    ident = str(own.get("header") or "")
    unchanged = is_unchanged(record, OWN)
    kept = [(key, value) for key, value in found if key != "content" or unchanged]
    if not unchanged and not str(record["content"]).startswith('"""'):
        kept.append(("content", escape(str(record["content"]))))
    fields, synthesised = _completed(record, kind, ident, kept)
    return Planned(record, kind, ident, fields, synthesised=synthesised, name=ident)


def _fields_of(span: str) -> Fields:
    """The pairs of a span, escaped as the specification has it."""
    items = (item for item in parse_text(span).items() if item.kind is Kind.PAIR)
    return [(item.key, escape(item.value) if item.is_triple else join_cells(item.values)) for item in items]


def _completed(record: JsonObject, kind: str, ident: str, fields: Fields) -> tuple[Fields, tuple[str, ...]]:
    """Fields with those that the specification asks for in front."""
    there = dict(fields)
    missing = [name for name in _REQUIRED.get(kind, ()) if name not in there]
    temporal = record.get("temporal") or {}
    start = spelled(str(temporal.get("observed_at") or temporal.get("created_at")))
    end = spelled(str(temporal.get("updated_at") or temporal.get("observed_at") or temporal.get("created_at")))
    made = {
        **dict.fromkeys(("timestamp_start", "created_at", "consolidated_at"), start),
        **dict.fromkeys(("timestamp_end", "last_update_time"), end),
        "messages": "0",
        "app_name": "unknown",
        "user_id": "unknown",
        "status": "completed",
        "source_items": escape(ident or str(record["id"])),
        "method": "temporal_summarization",
    }
    order = list(_REQUIRED.get(kind, ()))
    first = [(name, there.get(name, made[name])) for name in order]
    return [*first, *((name, value) for name, value in fields if name not in order)], tuple(missing)


def _consolidation(record: JsonObject, text: str) -> Planned:
    """A summary: its first line is the theme, the others are facts, where that gives the same text again."""
    theme, *facts = text.split("\n")
    is_list = all(fact.strip() == fact and fact for fact in (theme, *facts)) and "\r" not in text
    if text.startswith('"""'):
        return plain(record)
    said = [("semantic_theme", escape(theme))] if is_list else [("content", escape(text))]
    if is_list and facts:
        said.append(("key_facts", join_cells(facts)))
    ident = str(record["id"])
    fields, synthesised = _completed(record, mapping.CONSOLIDATION, ident, said)
    return Planned(record, mapping.CONSOLIDATION, ident, fields, synthesised=synthesised, name=ident)


def _with_states(made: list[Planned]) -> list[Planned]:
    """Each state behind the conversation it belongs to, each conversation behind its session."""
    states = [each for each in made if each.kind == mapping.STATE]
    conversations = {each.header: each for each in made if each.kind == mapping.CONVERSATION}
    left = []
    for state in states:
        owner = conversations.get(_interaction(state.record))
        if owner is None or owner.states:
            left.append(plain(state.record))
        else:
            owner.states.append(state)
    ordered = [each for each in made if each.kind != mapping.STATE]
    return sorted([*_by_session(ordered), *left], key=_section_order)


def _by_session(made: list[Planned]) -> Iterator[Planned]:
    sessions = [each for each in made if each.kind == mapping.SESSION]
    conversations = [each for each in made if each.kind == mapping.CONVERSATION]
    of: dict[str, list[Planned]] = {session.header: [] for session in sessions}
    of_none: list[Planned] = []
    for each in conversations:
        of.get(_session(each), of_none).append(each)
    for session in sessions:
        yield session
        yield from of.pop(session.header, ())
    yield from of_none
    yield from (each for each in made if each.kind not in (mapping.SESSION, mapping.CONVERSATION))


def _section_order(each: Planned) -> int:
    """Sessions and conversations stay as they are; the rest by their sections."""
    if each.kind in (mapping.SESSION, mapping.CONVERSATION):
        return 0
    return _KEPT_ORDER.get(each.kind, len(_KEPT_ORDER))


def _interaction(record: JsonObject) -> str:
    return str((record.get("source") or {}).get("interaction_id") or "")


def _session(each: Planned) -> str:
    return str((each.record.get("source") or {}).get("session_id") or "")


def named(made: list[Planned]) -> list[Planned]:
    """With names: those of rows follow from their order."""
    numbers = {mapping.INSIGHT: 0, mapping.DECISION: 0}
    for each in made:
        if each.kind in numbers:
            numbers[each.kind] += 1
            each.name = f"{each.kind}_{numbers[each.kind]:03d}"
    return made


def links(made: Sequence[Planned]) -> list[str]:
    """The rows of @LINKS: relations between memories that both have a name, without those that places say."""
    names = {str(each.record["id"]): each.name for each in made if each.name}
    found = []
    for each in made:
        for link in each.record.get("related_records") or ():
            target, relation = names.get(str(link.get("id"))), str(link.get("relation", ""))
            is_plain = relation not in (mapping.DERIVED, mapping.ELABORATES) and relation
            if each.name and target and is_plain and "->" not in each.name + target:
                theirs = mapping.RELATION_BACK.get(relation, relation)
                found.append(f"{escape(each.name)}->{escape(target)}|{escape(theirs)}")
    return found


def embeddings(made: Sequence[Planned]) -> Iterator[tuple[str, Fields]]:
    """Identifier and fields of the @EMBEDDING sections: the first vector of each memory that has a name."""
    for each in made:
        known = next(iter(each.record.get("embeddings") or ()), None)
        if each.name and isinstance(known, dict) and isinstance(known.get("vector"), list):
            vector = ",".join(repr(float(number)) for number in known["vector"])
            if not values.vector(vector).is_whole:
                continue
            yield (
                each.name,
                [
                    ("model", escape(mapping.model_back(str(known.get("model", "unknown"))))),
                    ("dimension", str(len(known["vector"]))),
                    ("vector", vector),
                    ("indexed_at", spelled(str(known.get("computed_at", "")))),
                ],
            )
