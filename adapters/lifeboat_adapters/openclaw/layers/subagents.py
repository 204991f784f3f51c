"""Read the agents that OpenClaw's configuration allows an agent to delegate to (ALF §3.2.4)."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.openclaw import openclaw_config
from lifeboat_adapters.persona import subagent_roster
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject


def list_configured_subagents(
    values: JsonObject, native_id: str, others: bytes = b""
) -> Iterator[tuple[str, JsonObject]]:
    """Yield sub-agents by id. `others` are captured descriptions of sub-agents whose own configuration is part of
    another archive."""
    yield from subagents_from_config(values, native_id)
    yield from _captured(others)


def subagents_from_config(values: JsonObject, native_id: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield the other agents in `subagents.allowAgents` of an agent, by id. `*` allows all."""
    own = openclaw_config.find_openclaw_agent(values, native_id)
    allowed = openclaw_config.get_nested(own.values, "subagents", "allowAgents") if own else None
    if not isinstance(allowed, list):
        return
    for agent in openclaw_config.list_openclaw_agents(values):
        if agent.id != native_id and (agent.id in allowed or "*" in allowed):
            model = configured_model_of(values, agent)
            helper = subagent_roster.roster_entry(
                agent.name or agent.id, openclaw_config.get_nested_text(agent.values, "identity", "theme"), None, model
            )
            skills = openclaw_config.get_nested(agent.values, "skills")
            if isinstance(skills, list):
                helper["capabilities"] = [{"name": skill} for skill in skills if isinstance(skill, str) and skill]
            yield agent.id, helper


def _captured(others: bytes) -> Iterator[tuple[str, JsonObject]]:
    for line in others.splitlines():
        row = json_codec.decode_json(line)
        yield row["id"], row["helper"]


def configured_model_of(values: JsonObject, agent: openclaw_config.OpenClawAgent | None) -> str | None:
    """Return the model that an agent is configured for, its own or the default, as `provider/model`."""
    own = agent.values if agent else {}
    return (
        openclaw_config.get_nested_text(own, "model")
        or openclaw_config.get_nested_text(own, "model", "primary")
        or openclaw_config.get_nested_text(values, "agents", "defaults", "model")
        or openclaw_config.get_nested_text(values, "agents", "defaults", "model", "primary")
    )
