"""Builds memory drafts from the fields of one piece: text, type, category, tags, times, and what only AICF knows.
`file_pieces` adds the position of the piece."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf import aicf_mapping
from lifeboat_formats.aicf.syntax.aicf_times import normalize_time
from lifeboat_formats.aicf.syntax.document_parts import AicfItem
from lifeboat_formats.aicf.syntax.older_spellings import TOPICS, json_time, json_topic, strip_quotes
from lifeboat_formats.aicf.syntax.xml_files import XmlPart

Pairs = Mapping[str, AicfItem]
"""Fields of a block by key. The last of repeated keys is used."""


class MemoryDraft(NamedTuple):
    """The content of a memory before it has an id. `event` is its own time; `until` is the end of a conversation, by
    which everything inferred in it was known. `own` becomes `x_aicf`, `fields` are record fields besides content and
    time."""

    kind: str
    text: str
    fields: JsonObject
    own: JsonObject
    event: str | None = None
    until: str | None = None


_INTS = ("messages", "tokens", "event_count", "total_tokens", "session_duration_seconds")
_LABEL = ": "
RATIONALE = "\n\nRationale: "


def read_scalar(pairs: Pairs, key: str, default: str = "") -> str:
    """Return a field as one text."""
    return pairs[key].value if key in pairs else default


def read_list(pairs: Pairs, key: str) -> list[str]:
    """Return a field as a list without blank items."""
    return [item for item in pairs[key].as_list if item.strip()] if key in pairs else []


def _cells(pairs: Pairs, key: str) -> list[str]:
    """Return a field as cells, whose text may contain commas."""
    return [cell for cell in pairs[key].values if cell] if key in pairs else []


def draft_conversation(ident: str, pairs: Pairs) -> MemoryDraft:
    """Draft the memory of a `@CONVERSATION:id` block."""
    start = normalize_time(read_scalar(pairs, "timestamp_start") or read_scalar(pairs, "timestamp"))
    end = normalize_time(read_scalar(pairs, "timestamp_end"))
    topic, people = topic_of(pairs), read_list(pairs, "participants")
    fields: JsonObject = {
        "tags": [f"topic:{topic}"] if topic else None,
        "entities": [_participant(name) for name in people] or None,
        "source": {"interaction_id": ident} if ident else {},
        "temporal": {"observed_at": start, "valid_from": start},
    }
    own = {
        **_numbers(pairs),
        **{
            name: read_scalar(pairs, name) or None
            for name in ("timestamp_end", "topic", "platform", "role", "ai_actions")
        },
        "participants": people or None,
    }
    text = read_scalar(pairs, "content") or _line(ident, pairs)
    return MemoryDraft(aicf_mapping.CONVERSATION, text, fields, own, start or end, end or start)


def topic_of(pairs: Pairs) -> str:
    """Return the topic of a conversation, also under the names that writers before 3.1 use, or ""."""
    return next((found for name in TOPICS if (found := strip_quotes(read_scalar(pairs, name)))), "")


def _participant(name: str) -> JsonObject:
    kind = "other" if name.lower().startswith(("assistant", "ai_", "agent", "model")) else "person"
    return {"name": name, "type": kind, "role": "participant"}


def _line(ident: str, pairs: Pairs) -> str:
    """Summarise a conversation without a text in one line."""
    did = read_scalar(pairs, "ai_actions")
    said = [
        read_scalar(pairs, "messages") and f"{read_scalar(pairs, 'messages')} messages",
        read_scalar(pairs, "platform"),
    ]
    about = ", ".join(part for part in said if part)
    topic = topic_of(pairs) or "no topic"
    span = "-".join(filter(None, (read_scalar(pairs, "timestamp_start"), read_scalar(pairs, "timestamp_end"))))
    named = f"Conversation {ident}" if ident else "Conversation"
    line = f"{named}: {topic}" + (f" ({about})" if about else "") + (f", {span}" if span else "")
    return f"{line}; actions: {did}" if did else line


def draft_session(ident: str, pairs: Pairs) -> MemoryDraft:
    """Draft the memory of a `@SESSION:id` block."""
    created, updated = (
        normalize_time(read_scalar(pairs, "created_at")),
        normalize_time(read_scalar(pairs, "last_update_time")),
    )
    status = read_scalar(pairs, "status")
    app, user = read_scalar(pairs, "app_name"), read_scalar(pairs, "user_id")
    fields: JsonObject = {
        "status": aicf_mapping.STATUSES.get(status.lower(), "active"),
        "source": {"session_id": ident} if ident else {},
        "temporal": {"observed_at": created, "updated_at": updated},
    }
    own = {**_numbers(pairs), "status": status or None, "app_name": app or None, "user_id": user or None}
    said = ", ".join(part for part in (app, user and f"user {user}", status) if part)
    text = read_scalar(pairs, "content") or f"Session {ident}" + (f": {said}" if said else "")
    return MemoryDraft(aicf_mapping.SESSION, text, fields, own, created or updated, updated or created)


def draft_state(pairs: Pairs) -> MemoryDraft:
    """Draft the memory of a conversation's `@STATE`, without the keys that belong to a user or an application."""
    parts = [
        f"{key}{_LABEL}{' -> '.join(item.values) if key == 'flow' else item.value}"
        for key, item in pairs.items()
        if key != "content"
    ]
    own = {"status": read_scalar(pairs, "status") or None}
    return MemoryDraft(aicf_mapping.STATE, read_scalar(pairs, "content") or "; ".join(parts), {}, own)


def draft_state_key(scope: str, key: str, value: str) -> MemoryDraft:
    """Draft the memory of one key of `@STATE:user` or `@STATE:app`."""
    kind = aicf_mapping.USER_STATE if scope == "user" else aicf_mapping.APP_STATE
    fields: JsonObject = {"memory_type": "preference"} if "prefer" in key.lower() and scope == "user" else {}
    return MemoryDraft(
        kind, f"{label_of(scope, key)}{_LABEL}{value}", fields, {"key": key, "value": value, "scope": scope}
    )


def label_of(scope: str, key: str) -> str:
    """Return a state key in words."""
    return key.removeprefix(f"{scope}:").replace("_", " ")


def value_of(scope: str, key: str, text: str) -> str:
    """Return the value of a state key from the text of its memory, without the label if it is still there."""
    return text.removeprefix(f"{label_of(scope, key)}{_LABEL}")


def draft_insight(cells: Sequence[str]) -> MemoryDraft:
    """Draft a row of `@INSIGHTS`: text, category, priority, confidence. Files of 1.0 have text, reason and priority."""
    plain, named = split_named_cells(cells)
    text, *rest = plain or [""]
    # Files of 1.0: the second cell is a reason, which has no field of its own.
    if len(rest) == 2:
        rest = ["", rest[1], ""]
    category, priority, confidence = [*rest, "", "", ""][:3]
    return _inferred(
        aicf_mapping.INSIGHT,
        text,
        {"category": category, "priority": priority},
        confidence,
        named,
    )


def draft_decision(cells: Sequence[str]) -> MemoryDraft:
    """Draft a row of `@DECISIONS`: decision, impact, confidence, rationale. Two cells are decision and rationale."""
    plain, named = split_named_cells(cells)
    text, *rest = plain or [""]
    if len(rest) == 1:
        impact, confidence, rationale = "", "", rest[0]
    elif len(rest) == 2:
        impact, confidence, rationale = rest[1].removeprefix("IMPACT:"), "", rest[0]
    else:
        impact, confidence, rationale = [*rest, "", "", ""][:3]
    return _inferred(aicf_mapping.DECISION, append_rationale(text, rationale), {"impact": impact}, confidence, named)


def draft_insight_block(ident: str, pairs: Pairs) -> MemoryDraft:
    """Draft an `@INSIGHT:id` block with fields."""
    text = read_scalar(pairs, "text") or read_scalar(pairs, "content")
    return _inferred_block(aicf_mapping.INSIGHT, text, ("category", "priority"), ident, pairs)


def draft_decision_block(ident: str, pairs: Pairs) -> MemoryDraft:
    """Draft a `@DECISION:id` block with fields."""
    text = read_scalar(pairs, "description") or read_scalar(pairs, "decision") or read_scalar(pairs, "content")
    whole = append_rationale(text, read_scalar(pairs, "rationale"))
    return _inferred_block(aicf_mapping.DECISION, whole, ("impact",), ident, pairs)


def _inferred_block(kind: str, text: str, about: Sequence[str], ident: str, pairs: Pairs) -> MemoryDraft:
    named = {"memory_type": read_scalar(pairs, "memory_type"), "ident": ident}
    said = {name: read_scalar(pairs, name) for name in about}
    event = normalize_time(read_scalar(pairs, "timestamp"))
    return _inferred(kind, text, said, read_scalar(pairs, "confidence"), named, event)


def draft_numbered_fields(kind: str, named: Mapping[str, str]) -> MemoryDraft:
    """Draft a decision or an insight of numbered fields: `decision_1=`, `rationale_1=`, `impact_1=`."""
    about = {name: named.get(name, "") for name in ("category", "priority", "impact")}
    text = append_rationale(named.get(kind, ""), named.get("rationale", "") or named.get("reason", ""))
    event = normalize_time(named.get("timestamp", "") or named.get("date", ""))
    return _inferred(kind, text, about, named.get("confidence", ""), {}, event)


def draft_watched_topic(ident: str, text: str, time: str) -> MemoryDraft:
    """Draft the line `topic|...` of a file that was written while the conversation went on."""
    start = normalize_time(time)
    fields: JsonObject = {
        "tags": [f"topic:{text}"] if text else None,
        "source": {"interaction_id": ident} if ident else {},
        "temporal": {"observed_at": start, "valid_from": start},
    }
    return MemoryDraft(aicf_mapping.CONVERSATION, text, fields, {"topic": text or None}, start)


def append_rationale(text: str, rationale: str) -> str:
    """Return a text with its rationale in a separate paragraph."""
    return f"{text}{RATIONALE}{rationale}" if rationale else text


def split_named_cells(cells: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Split cells into plain ones and named ones (`memory_type=semantic`). The first cell is always plain."""
    plain, named = list(cells[:1]), dict[str, str]()
    for place, cell in enumerate(cells[1:], 1):
        key, equals, value = cell.partition("=")
        is_name = key.strip() == "memory_type" or place >= 4
        if equals and is_name and aicf_mapping.is_key(key.strip()):
            named[key.strip()] = value
        else:
            plain.append(cell)
    return plain, named


def _inferred(
    kind: str,
    text: str,
    about: Mapping[str, str],
    confidence: str,
    named: Mapping[str, str],
    event: str | None = None,
) -> MemoryDraft:
    memory_type = named.get("memory_type", "").strip().lower()
    fields: JsonObject = {
        "tags": [f"{name}:{value.strip()}" for name, value in about.items() if value.strip()] or None,
        "confidence": aicf_mapping.confidence_of(confidence) if confidence.strip() else None,
    }
    if memory_type in aicf_mapping.MEMORY_TYPES:
        fields["memory_type"] = memory_type
    named = {name: value for name, value in named.items() if name != "memory_type"}
    literal = {"confidence": confidence or None, **{name: value or None for name, value in {**about, **named}.items()}}
    return MemoryDraft(kind, text, fields, literal, event)


def draft_consolidation(ident: str, pairs: Pairs) -> MemoryDraft:
    """Draft a `@CONSOLIDATION:id` block."""
    theme, facts = read_scalar(pairs, "semantic_theme"), _cells(pairs, "key_facts")
    when = normalize_time(read_scalar(pairs, "consolidated_at"))
    own = {
        **{name: read_scalar(pairs, name) or None for name in ("method", "information_preserved", "compression_ratio")},
        "source_items": _cells(pairs, "source_items") or None,
    }
    text = read_scalar(pairs, "content") or "\n".join([*([theme] if theme else []), *facts]) or f"Consolidation {ident}"
    return MemoryDraft(aicf_mapping.CONSOLIDATION, text, {"temporal": {"observed_at": when}}, own, when)


def draft_memory_block(ident: str, pairs: Pairs) -> MemoryDraft:
    """Draft a `@MEMORY:type` block with fields."""
    return _memory(
        ident or read_scalar(pairs, "type") or read_scalar(pairs, "memory_type"),
        read_scalar(pairs, "content") or read_scalar(pairs, "text"),
        read_scalar(pairs, "timestamp"),
        read_scalar(pairs, "importance"),
        read_list(pairs, "tags"),
    )


def draft_memory_row(cells: Sequence[str]) -> MemoryDraft:
    """Draft a row of `@MEMORY`: type, time, text, importance."""
    memory_type, time, text, importance, *_ = [*cells, "", "", "", ""]
    return _memory(memory_type, text, time, importance, [])


def _memory(memory_type: str, text: str, time: str, importance: str, tags: list[str]) -> MemoryDraft:
    fields: JsonObject = {"tags": tags or None, "temporal": {"observed_at": normalize_time(time)}}
    if memory_type.strip().lower() in aicf_mapping.MEMORY_TYPES:
        fields["memory_type"] = memory_type.strip().lower()
    return MemoryDraft(aicf_mapping.MEMORY, text, fields, {"importance": importance or None}, normalize_time(time))


def draft_message_row(cells: Sequence[str]) -> MemoryDraft:
    """Draft a row of `@CONVERSATION`: id, time, role, text."""
    ident, time, role, text = [*cells[:3], *[""] * (3 - len(cells[:3])), "|".join(cells[3:])]
    fields: JsonObject = {"temporal": {"observed_at": normalize_time(time)}, "source": {"interaction_id": ident}}
    return MemoryDraft(
        aicf_mapping.MESSAGE, text, fields, {"role": role or None, "ident": ident or None}, normalize_time(time)
    )


def draft_work_row(cells: Sequence[str]) -> MemoryDraft:
    """Draft a row of `@WORK`: id, status, description."""
    ident, status, text = [*cells[:2], *[""] * (2 - len(cells[:2])), "|".join(cells[2:])]
    return MemoryDraft(aicf_mapping.WORK, text or ident, {}, {"status": status or None, "ident": ident or None})


def draft_data_row(columns: Sequence[str], cells: Sequence[str]) -> MemoryDraft:
    """Draft a row of `@DATA`: its cells under the names of the columns."""
    names = [*columns, *(f"column {number}" for number in range(len(columns) + 1, len(cells) + 1))]
    pairs = [(name.strip(), cell) for name, cell in zip(names, cells, strict=False) if cell.strip()]
    event = next((found for _, cell in pairs if (found := normalize_time(cell))), None)
    text = "\n".join(f"{name}{_LABEL}{cell}" for name, cell in pairs)
    fields: JsonObject = {"temporal": {"observed_at": event}}
    return MemoryDraft(aicf_mapping.ROW, text, fields, {"columns": [list(pair) for pair in pairs]}, event)


_ROLES = ("user", "assistant", "system", "tool", "human", "ai")


def draft_positional_row(cells: Sequence[str]) -> MemoryDraft:
    """Draft a row of a 2.0 file without column names: `N|CONV|id|messages|tokens` for a conversation, `N|DATA|text` for
    a message.

    Further cells of a conversation are its time and its text.
    """
    kind = cells[1] if len(cells) > 2 else ""
    if kind == "DATA":
        lead = count_leading_cells(cells)
        role = next((cell.removesuffix("_message") for cell in cells[2:lead] if not normalize_time(cell)), "")
        time = next((cell for cell in cells[2:lead] if normalize_time(cell)), "")
        return draft_message_row(["", time, role, *cells[lead:]])
    if kind != "CONV":
        return draft_data_row((), cells)
    ident, messages, tokens, *rest = [*cells[2:], "", "", ""]
    event = next((found for cell in rest if (found := normalize_time(cell))), None)
    counts = [f"{count} {name}" for count, name in ((messages, "messages"), (tokens, "tokens")) if count.strip()]
    said = "|".join(cell for cell in rest if cell.strip() and not normalize_time(cell))
    own = {"ident": ident, "messages": _int(messages), "tokens": _int(tokens)}
    fields: JsonObject = {
        "source": {"interaction_id": ident or None},
        "temporal": {"observed_at": event, "valid_from": event},
    }
    text = said or f"Conversation {ident}" + (f": {', '.join(counts)}" if counts else "")
    return MemoryDraft(
        aicf_mapping.CONVERSATION, text, fields, {name: value for name, value in own.items() if value != ""}, event
    )


def count_leading_cells(cells: Sequence[str]) -> int:
    """Return how many cells precede the text of `N|DATA|...`: number, kind, and optionally role and time."""
    place = 2
    while place < len(cells) - 1 and (
        cells[place].lower().removesuffix("_message") in _ROLES or normalize_time(cells[place])
    ):
        place += 1
    return place


def _numbers(pairs: Pairs) -> JsonObject:
    """Return the count fields, as numbers where possible."""
    return {name: _int(read_scalar(pairs, name)) for name in _INTS if name in pairs}


def _int(text: str) -> int | str:
    plain = text.strip()
    return int(plain) if plain.isascii() and plain.lstrip("-").isdigit() and len(plain) < 16 else text


def draft_work_block(ident: str, pairs: Pairs) -> MemoryDraft:
    """Draft a `@WORK:id` block with fields."""
    text = read_scalar(pairs, "description") or read_scalar(pairs, "content") or ident
    return MemoryDraft(
        aicf_mapping.WORK, text, {}, {"status": read_scalar(pairs, "status") or None, "ident": ident or None}
    )


_SPOKEN = ("content", "text", "message")
DECIDED = ("decision", "insight", "description", "title", "name", *_SPOKEN)
_OF_LISTS = {
    "decisions": aicf_mapping.DECISION,
    "insights": aicf_mapping.INSIGHT,
    "todos": aicf_mapping.WORK,
    "conversations": aicf_mapping.CONVERSATION,
}


def draft_transcript(messages: Sequence[Any]) -> MemoryDraft:
    """Draft the messages of a conversation in a JSON file as `role: text`, separated by blank lines."""
    said = [(_role(message), _said(message, _SPOKEN)) for message in messages]
    text = "\n\n".join(f"{role}{_LABEL}{words}" if role else words for role, words in said if words)
    known = [found for message in messages if (found := normalize_time(_text(message, "timestamp")))]
    first, last = (min(known), max(known)) if known else (None, None)
    fields: JsonObject = {"temporal": {"observed_at": first, "valid_from": first}}
    return MemoryDraft(aicf_mapping.CONVERSATION, text, fields, {"messages": len(messages)}, first, last)


def draft_json_value(name: str, value: Any) -> MemoryDraft:
    """Draft an element of any other list of a JSON file."""
    kind = _OF_LISTS.get(name, aicf_mapping.UNKNOWN)
    text = _said(value, DECIDED) or (json.dumps(value, ensure_ascii=False) if value not in (None, "", [], {}) else "")
    if kind == aicf_mapping.DECISION:
        text = append_rationale(text, _text(value, "rationale"))
    event = json_time(value)
    own = {"name": name} if kind == aicf_mapping.UNKNOWN else {}
    topic = json_topic(value) if kind == aicf_mapping.CONVERSATION else ""
    fields: JsonObject = {"temporal": {"observed_at": event}, "tags": [f"topic:{topic}"] if topic else None}
    return MemoryDraft(kind, text, fields, own, event)


def _role(message: Any) -> str:
    return _text(message, "role") or _text(message, "sender")


def _said(value: Any, names: Sequence[str]) -> str:
    if isinstance(value, str):
        return value
    return next((found for name in names if (found := _text(value, name))), "")


def _text(value: Any, name: str) -> str:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def draft_xml_part(text: str, part: XmlPart) -> MemoryDraft:
    """Draft a part of an XML file."""
    if part.kind in (aicf_mapping.DECISION, aicf_mapping.INSIGHT):
        about = {"impact": ""} if part.kind == aicf_mapping.DECISION else {"category": "", "priority": ""}
        text = append_rationale(text, part.rationale)
        return _inferred(part.kind, text, about, "", {"ident": part.ident}, part.time)
    is_conversation = part.kind == aicf_mapping.CONVERSATION
    fields: JsonObject = {
        "tags": [f"topic:{part.topic}"] if part.topic else None,
        "source": {"interaction_id": part.conversation or part.ident or None},
        "temporal": {"observed_at": part.time, "valid_from": part.time if is_conversation else None},
    }
    own: JsonObject = {"role": part.role or None, "ident": part.ident or None}
    if is_conversation:
        own["topic"] = part.topic or None
    return MemoryDraft(part.kind, text, fields, own, part.time)
