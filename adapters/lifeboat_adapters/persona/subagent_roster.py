"""Read the roster of sub-agents in AGENTS.md (ALF §3.2.4)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lifeboat_adapters.persona import markdown_fields
from lifeboat_alf.common.json_types import JsonObject

_TITLES = re.compile(r"\b(sub-?agents?|delegat\w+|roster)\b")
_ITEM = re.compile(r"(?:\*\*|`)([^*`]{1,60})(?:\*\*|`)\s*(?:\(([^)]{1,80})\))?\s*(?::|-|–|—)\s*(.+)")
_STATUS = ("active", "inactive", "unavailable")
_COLUMNS = {
    "name": ("agent", "name", "sub-agent", "subagent", "who"),
    "description": ("description", "role", "what", "purpose"),
    "routing_hints": ("use for", "use when", "when", "when to use", "routing", "for"),
    "model": ("model",),
    "status": ("status",),
    "capabilities": ("capabilities", "skills"),
}


def merge_roster(configured: Iterable[tuple[str, JsonObject]], told: list[JsonObject]) -> list[JsonObject]:
    """Return all agents that an agent may delegate to: the configured ones by id, with the details from the notes, then
    the others in the notes."""
    found: dict[str, JsonObject] = {}
    rest = {helper["name"].casefold(): helper for helper in told}
    for id, one in configured:
        known = rest.pop(id.casefold(), None) or rest.pop(one["name"].casefold(), None) or {}
        told_too = {field: value for field, value in known.items() if value}
        found[one["name"].casefold()] = {**one, **told_too, "name": one["name"]}
    return [*found.values(), *rest.values()]


def subagents_from_notes(agents_md: str) -> list[JsonObject]:
    """Read sub-agents from tables and lists under a heading about sub-agents."""
    text = markdown_fields.text_under_headings(agents_md, _TITLES)
    found = [_from_row(row) for row in markdown_fields.table_rows(text)]
    found += [_from_item(match) for match in map(_ITEM.fullmatch, markdown_fields.list_items(text)) if match]
    return [helper for helper in found if helper["name"]]


def _from_row(row: dict[str, str]) -> JsonObject:
    cells = {field: next((row[name] for name in names if row.get(name)), "") for field, names in _COLUMNS.items()}
    found = roster_entry(cells["name"], cells["description"], cells["routing_hints"], cells["model"])
    if cells["status"].lower() in _STATUS:
        found["status"] = cells["status"].lower()
    found["capabilities"] = [{"name": name} for name in markdown_fields.split_listed_value(cells["capabilities"])]
    return found


def _from_item(match: re.Match[str]) -> JsonObject:
    return roster_entry(
        match[1].strip(), None, markdown_fields.strip_emphasis(match[3]), match[2] if "/" in (match[2] or "") else None
    )


def roster_entry(name: str, description: str | None, routing: str | None, model: str | None) -> JsonObject:
    """Return a roster entry with the four required fields. `agent_id` is null because notes name no id."""
    found: JsonObject = {"agent_id": None, "name": name}
    if description:
        found["description"] = description
    found["capabilities"] = []
    if model:
        found["model_hints"] = {"primary_model": model, "last_model": model}
    if routing:
        found["routing_hints"] = routing
    return found | {"status": "active"}
