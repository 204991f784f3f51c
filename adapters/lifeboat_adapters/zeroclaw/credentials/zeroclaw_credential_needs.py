"""Determine which capability needs which credential, from the declarations of skills and the configuration under their
names."""

from __future__ import annotations

from lifeboat_adapters.contract import AgentFiles
from lifeboat_adapters.credential_types import CredentialNeed
from lifeboat_adapters.persona import skill_needs
from lifeboat_adapters.persona.skill_needs import SkillNeeds
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_adapters.zeroclaw.layers.zeroclaw_identity import PERSONA
from lifeboat_alf.common.json_types import JsonObject

_ABOVE = ("", "mcp.servers.", "mcp_servers.", "skills.", "skills.entries.", "providers.tts.", "channels.")


def zeroclaw_credential_needs_of(files: AgentFiles, identity: JsonObject) -> list[CredentialNeed]:
    """Return the needs of each capability of an identity document (ALF §3.2.6)."""
    return skill_needs.list_credential_needs(PERSONA.every_skill(files), identity, _need)


def _need(name: str, skill: SkillNeeds) -> CredentialNeed:
    keys = dict.fromkeys((name, *skill.keys))
    return CredentialNeed(
        name,
        variables=frozenset(skill.variables),
        places=tuple(f"{zeroclaw_paths.CONFIG}: {above}{key}." for key in keys for above in _ABOVE),
    )
