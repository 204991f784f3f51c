"""The agents that OpenClaw's configuration lets an agent hand work to (ALF §3.2.4)."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.openclaw import config
from lifeboat_adapters.persona import roster
from lifeboat_alf import codec
from lifeboat_alf.json_types import JsonObject


def configured(values: JsonObject, native_id: str, others: bytes = b"") -> Iterator[tuple[str, JsonObject]]:
    """Helpers by id. `others` is what was captured of those whose own part of the configuration belongs to another
    archive."""
    yield from from_config(values, native_id)
    yield from _captured(others)


def from_config(values: JsonObject, native_id: str) -> Iterator[tuple[str, JsonObject]]:
    """The other agents in `subagents.allowAgents` of an agent, by id; `*` allows all."""
    own = config.agent(values, native_id)
    allowed = config.get(own.values, "subagents", "allowAgents") if own else None
    if not isinstance(allowed, list):
        return
    for agent in config.agents(values):
        if agent.id != native_id and (agent.id in allowed or "*" in allowed):
            model = model_of(values, agent)
            helper = roster.helper(agent.name or agent.id, config.text(agent.values, "identity", "theme"), None, model)
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
