"""Which capability needs which credential: what a skill declares, and what is configured under its name."""

from __future__ import annotations

from lifeboat_adapters.contract import Files
from lifeboat_adapters.credentials import Need
from lifeboat_adapters.persona import skill_needs
from lifeboat_adapters.persona.skill_needs import SkillNeeds
from lifeboat_adapters.zeroclaw import config, paths
from lifeboat_adapters.zeroclaw.layers.identity import PERSONA
from lifeboat_alf.json_types import JsonObject

_ABOVE = ("", "mcp.servers.", "mcp_servers.", "skills.", "skills.entries.", "providers.tts.", "channels.")


def needs(files: Files, document: JsonObject) -> list[Need]:
    """What each capability of an identity document needs. ALF §3.2.6."""
    skills = skill_needs.declared(PERSONA.every_skill(files))
    listed = config.get(document, "structured", "capabilities")
    names = [config.text(each, "name") for each in listed] if isinstance(listed, list) else []
    return [_need(name, skills.get(name.casefold(), SkillNeeds())) for name in names if name]


def _need(name: str, skill: SkillNeeds) -> Need:
    keys = dict.fromkeys((name, *skill.keys))
    return Need(
        name,
        variables=frozenset(skill.variables),
        places=tuple(f"{paths.CONFIG}: {above}{key}." for key in keys for above in _ABOVE),
    )
