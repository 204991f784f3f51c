"""The nodes of an instance, read from data or from text into the same form.

A node keeps every field that it came with. Fields that a release does not send are absent, never guessed.
"""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass
from typing import Any

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aionforge.text_form import TaggedMemory, UnreadableAnswer

EPISODE, FACT, ENTITY, NOTE, SKILL, BAD_PATTERN = "episode", "fact", "entity", "note", "skill", "bad_pattern"
CORE, WORK_ITEM, TAG = "core", "work_item", "tag"

TEXT_FIELDS: dict[str, tuple[str, ...]] = {
    EPISODE: ("body",),
    FACT: ("statement",),
    ENTITY: ("canonical_name", "description", "body"),
    NOTE: ("content",),
    SKILL: ("name", "description", "body"),
    BAD_PATTERN: ("description",),
    CORE: ("content",),
    WORK_ITEM: ("title", "body"),
    TAG: ("display",),
}
"""The fields of each kind that form its text, in order."""

_SHORT = {"ns": "namespace", "session": "session_id", "id": "id", "kind": "kind"}
"""Attribute names of the text form, and their field names."""
_PROVENANCE = frozenset(("writer", "model_family", "model_version", "trust_at_write", "written_at"))
_BODY = {EPISODE: "body", FACT: "statement", ENTITY: "description", NOTE: "content", SKILL: "description"}
"""The field between the tags of the text form."""
_BODY |= {BAD_PATTERN: "description", CORE: "content", WORK_ITEM: "body", TAG: "display"}
"""The field between the tags of the text form."""
_ABSENT = frozenset(("none", ""))
_NULLABLE = frozenset(("session_id", "supersedes", "superseded_by", "parent", "captured_at", "writer"))
_NUMBERS = frozenset(("trust_at_write", "ordinal", "version"))
_TRUTHS = frozenset(("deprecated", "always"))
_DEEPEST = 32


@dataclass(frozen=True, slots=True)
class AionforgeNode:
    """A node of an instance. `text` is its content, `fields` are all other fields."""

    id: str
    kind: str
    text: str
    fields: JsonObject

    @property
    def namespace(self) -> str:
        """Return the namespace of the node, "" if it has none."""
        return str(self.fields.get("namespace") or "")


def node_from_data(found: Any) -> AionforgeNode:
    """Return the node in an element of `memories`. Raises UnreadableAnswer if it has no id or kind, was truncated, or
    is nested too deep."""
    if not isinstance(found, dict):
        raise UnreadableAnswer("a memory in Aionforge's answer is not a JSON object")
    id, kind = found.get("id"), found.get("kind")
    if not isinstance(id, str) or not isinstance(kind, str):
        raise UnreadableAnswer("a memory in Aionforge's answer has no id or no kind")
    if any(value is True for name, value in found.items() if name.endswith("_truncated")):
        raise UnreadableAnswer("a memory in Aionforge's answer is incomplete")
    if _depth(found) > _DEEPEST:
        raise UnreadableAnswer("a memory in Aionforge's answer is nested too deeply")
    if not _is_plain(found):
        raise UnreadableAnswer(
            "a memory in Aionforge's answer contains a number or a character that JSON cannot represent"
        )
    fields = {name: value for name, value in found.items() if not name.endswith("_truncated")}
    return make_node(id, kind, fields)


def node_from_text(found: TaggedMemory) -> AionforgeNode:
    """Return the node in the text form. Raises UnreadableAnswer."""
    attributes = dict(found.attributes)
    id, kind = attributes.pop("id", ""), attributes.pop("kind", "")
    if not id or not kind:
        raise UnreadableAnswer("a memory in Aionforge's answer has no id or no kind")
    fields: JsonObject = {}
    provenance: JsonObject = {}
    for name, written in attributes.items():
        target = provenance if name in _PROVENANCE else fields
        target[_SHORT.get(name, name)] = _value(_SHORT.get(name, name), written)
    if provenance:
        fields["provenance"] = provenance
    return make_node(id, kind, {**fields, _BODY.get(kind, "body"): found.text})


def make_node(id: str, kind: str, fields: JsonObject) -> AionforgeNode:
    """Return a node of a kind. Fields that only repeat its text are left out."""
    rest = {name: value for name, value in fields.items() if name not in ("id", "kind")}
    parts = TEXT_FIELDS.get(kind, ("body", "content", "description"))
    said = [value for name in parts if isinstance(value := rest.get(name), str) and value.strip()]
    text = "\n\n".join(dict.fromkeys(said))
    if len(parts) == 1 and rest.get(parts[0]) == text:
        rest.pop(parts[0], None)
    return AionforgeNode(normal_id(id), kind, text, rest)


def normal_id(id: str) -> str:
    """Return a UUID in lower case, anything else unchanged."""
    try:
        return str(uuid.UUID(id)) if len(id) == 36 else id
    except ValueError:
        return id


def _value(name: str, written: str) -> Any:
    if name in _NULLABLE and written in _ABSENT:
        return None
    if name in _TRUTHS and written in ("true", "false"):
        return written == "true"
    if name in _NUMBERS:
        try:
            number = float(written)
        except ValueError:
            return written
        if not math.isfinite(number):
            return written
        return int(number) if number.is_integer() and name != "trust_at_write" else number
    return written


def _is_plain(value: Any) -> bool:
    """Return whether any JSON implementation restores a value: finite numbers, integers of at most 64 bits, no lone
    surrogates. The depth is checked before."""
    if isinstance(value, dict):
        return all(_is_plain(each) for pair in value.items() for each in pair)
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or -(2**63) <= value < 2**64


def _depth(value: Any) -> int:
    """Return the nesting depth of a value, at most one more than the limit."""
    level, found = [value], 0
    while level and found <= _DEEPEST:
        found += 1
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return found
