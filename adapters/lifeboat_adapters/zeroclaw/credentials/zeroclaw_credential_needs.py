"""Which capability needs which credential: what a skill declares, and what is configured under its name."""

from __future__ import annotations

from lifeboat_adapters.contract import AgentFiles
from lifeboat_adapters.credential_types import CredentialNeed
from lifeboat_adapters.persona import skill_needs
from lifeboat_adapters.persona.skill_needs import SkillNeeds
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_paths
from lifeboat_adapters.zeroclaw.layers.zeroclaw_identity import PERSONA
from lifeboat_alf.common.json_types import JsonObject

_ABOVE = ("", "mcp.servers.", "mcp_servers.", "skills.", "skills.entries.", "providers.tts.", "channels.")


def zeroclaw_credential_needs_of(files: AgentFiles, identity: JsonObject) -> list[CredentialNeed]:
    """What each capability of an identity document needs. ALF §3.2.6."""
    skills = skill_needs.declared_skill_needs(PERSONA.every_skill(files))
    listed = zeroclaw_config.get_nested(identity, "structured", "capabilities")
    names = [zeroclaw_config.get_nested_text(each, "name") for each in listed] if isinstance(listed, list) else []
    return [_need(name, skills.get(name.casefold(), SkillNeeds())) for name in names if name]


def _need(name: str, skill: SkillNeeds) -> CredentialNeed:
    keys = dict.fromkeys((name, *skill.keys))
    return CredentialNeed(
        name,
        variables=frozenset(skill.variables),
        places=tuple(f"{zeroclaw_paths.CONFIG}: {above}{key}." for key in keys for above in _ABOVE),
    )
