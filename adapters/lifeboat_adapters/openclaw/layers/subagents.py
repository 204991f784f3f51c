"""The roster of sub-agents from the configuration and from AGENTS.md (ALF §3.2.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lifeboat_adapters.openclaw import config
from lifeboat_adapters.openclaw.layers import reading
from lifeboat_alf import codec

JsonObject = dict[str, Any]

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


def roster(values: JsonObject, native_id: str, agents_md: str, others: bytes = b"") -> list[JsonObject]:
    """Everyone this agent may hand work to: agents the configuration allows, then those its notes tell of. `others` is
    what was captured of helpers whose own part of the configuration belongs to another archive."""
    found: dict[str, JsonObject] = {}
    told = {helper["name"].casefold(): helper for helper in from_notes(agents_md)}
    for id, helper in (*from_config(values, native_id), *_captured(others)):
        known = told.pop(id.casefold(), None) or told.pop(helper["name"].casefold(), None) or {}
        told_too = {field: value for field, value in known.items() if value}
        found[helper["name"].casefold()] = {**helper, **told_too, "name": helper["name"]}
    return [*found.values(), *told.values()]


def from_config(values: JsonObject, native_id: str) -> Iterator[tuple[str, JsonObject]]:
    """The other agents in `subagents.allowAgents` of an agent, by id; `*` allows all."""
    own = config.agent(values, native_id)
    allowed = config.get(own.values, "subagents", "allowAgents") if own else None
    if not isinstance(allowed, list):
        return
    for agent in config.agents(values):
        if agent.id != native_id and (agent.id in allowed or "*" in allowed):
            model = model_of(values, agent)
            helper = _helper(agent.name or agent.id, config.text(agent.values, "identity", "theme"), None, model)
            skills = config.get(agent.values, "skills")
            if isinstance(skills, list):
                helper["capabilities"] = [{"name": skill} for skill in skills if isinstance(skill, str) and skill]
            yield agent.id, helper


def _captured(others: bytes) -> Iterator[tuple[str, JsonObject]]:
    for line in others.splitlines():
        row = codec.decode(line)
        yield row["id"], row["helper"]


def model_of(values: JsonObject, agent: config.ConfiguredAgent | None) -> str | None:
    """The model an agent is configured for: its own, else the default; `provider/model`."""
    own = agent.values if agent else {}
    return (
        config.text(own, "model")
        or config.text(own, "model", "primary")
        or config.text(values, "agents", "defaults", "model")
        or config.text(values, "agents", "defaults", "model", "primary")
    )


def from_notes(agents_md: str) -> list[JsonObject]:
    """Tables and lists under a heading about sub-agents."""
    text = reading.under(agents_md, _TITLES)
    found = [_from_row(row) for row in reading.rows(text)]
    found += [_from_item(match) for match in map(_ITEM.fullmatch, reading.items(text)) if match]
    return [helper for helper in found if helper["name"]]


def _from_row(row: dict[str, str]) -> JsonObject:
    cells = {field: next((row[name] for name in names if row.get(name)), "") for field, names in _COLUMNS.items()}
    helper = _helper(cells["name"], cells["description"], cells["routing_hints"], cells["model"])
    if cells["status"].lower() in _STATUS:
        helper["status"] = cells["status"].lower()
    helper["capabilities"] = [{"name": name} for name in reading.listed(cells["capabilities"])]
    return helper


def _from_item(match: re.Match[str]) -> JsonObject:
    return _helper(match[1].strip(), None, reading.plain(match[3]), match[2] if "/" in (match[2] or "") else None)


def _helper(name: str, description: str | None, routing: str | None, model: str | None) -> JsonObject:
    """A roster entry with the four fields that must stand in it; `agent_id` is null until somebody knows better."""
    helper: JsonObject = {"agent_id": None, "name": name}
    if description:
        helper["description"] = description
    helper["capabilities"] = []
    if model:
        helper["model_hints"] = {"primary_model": model, "last_model": model}
    if routing:
        helper["routing_hints"] = routing
    return helper | {"status": "active"}
