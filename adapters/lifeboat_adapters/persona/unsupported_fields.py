"""List the parts of an agent that no file or row of a runtime can hold. They are reported, stay in the archive, and are
restored elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.persona import persona_files
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import effective_view, memory_records
from lifeboat_alf.states.agent_state import State

SETTING, PRINCIPAL, CODE = "setting", "principal", "kept_in_archive"
KEPT = "the data stays in the archive"

OF_MEMORIES: Mapping[str, str] = {
    "tags": "tags",
    "entities": "entities",
    "related_records": "links to other memories",
}
"""Fields of a memory (ALF §3.1.1) that runtimes lack, with their names for users."""
_OF_HELPERS = ("agent_id", "last_invoked_at", "performance_notes")


def list_unsupported_fields(
    state: State, *, holds_numbers: bool, fields: Mapping[str, str] = OF_MEMORIES
) -> Iterator[ItemFate]:
    """Yield the fates of everything that a runtime cannot represent.

    `fields` are the fields of memories that it lacks. `holds_numbers` says that it keeps a structured identity.
    """
    yield from _memory_fields(state, fields)
    yield from _identity_fields(state, holds_numbers=holds_numbers)
    yield from _principals(state)


def _memory_fields(state: State, fields: Mapping[str, str]) -> Iterator[ItemFate]:
    """Yield one fate for each field that memories have, not one for each memory."""
    marks = {name: f'"{name}"'.encode() for name in fields}
    counts: Counter[str] = Counter()
    for record in effective_view.in_append_order(state):
        if any(mark in record.line for mark in marks.values()):
            values = memory_records.parse_record(record.line)
            counts.update(name for name in fields if values.get(name) and memory_records.is_visible(values))
    for name, called in fields.items():
        if counts[name]:
            many = "1 memory" if counts[name] == 1 else f"{counts[name]} memories"
            yield _setting(f"memories: {called}", f"the runtime cannot store this field ({many}); {KEPT}")


def _identity_fields(state: State, *, holds_numbers: bool) -> Iterator[ItemFate]:
    identity = persona_files.decode_document(state, archive_layout.IDENTITY)
    structured, prose = _table(identity.get("structured")), _table(identity.get("prose"))
    has_prose = any(isinstance(text, str) and text.strip() for text in prose.values())
    for name in () if holds_numbers or not has_prose else ("psychology", "linguistics", "aieos_extensions"):
        if structured.get(name):
            yield _setting(
                f"identity: {name}", f"instead of this data, the runtime uses the agent's persona text; {KEPT}"
            )
    helpers = structured.get("sub_agents")
    known = [each for each in helpers if isinstance(each, dict)] if isinstance(helpers, list) else []
    if any(each.get(name) for each in known for name in _OF_HELPERS):
        yield _setting(
            "identity: data about sub-agents", f"the runtime stores only the names and tasks of sub-agents; {KEPT}"
        )
    if next(state.entries(f"{archive_layout.HISTORY}identity/"), None) is not None:
        yield _setting("identity: earlier versions", f"the runtime stores only the latest version; {KEPT}")


def _principals(state: State) -> Iterator[ItemFate]:
    """Yield the fates of all principals except the first human, whose profile is in the user's file."""
    primary = persona_files.find_primary_human(state)
    listed = persona_files.decode_document(state, archive_layout.PRINCIPALS).get("principals")
    for each in listed if isinstance(listed, list) else []:
        if isinstance(each, dict) and each != primary and isinstance(each.get("id"), str):
            what = "agents" if each.get("principal_type") == "agent" else "a second user"
            yield ItemFate(
                PRINCIPAL, each["id"], ItemOutcome.OMITTED, f"the runtime has no file for {what}; {KEPT}", CODE
            )


def _setting(name: str, reason: str) -> ItemFate:
    return ItemFate(SETTING, name, ItemOutcome.OMITTED, reason, CODE)


def _table(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}
