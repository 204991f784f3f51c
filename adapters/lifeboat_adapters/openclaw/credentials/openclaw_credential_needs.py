"""Determine which capability needs which credential, from the declarations of skills and the configuration under their
names.

A skill's own key and environment stand in `openclaw.json` under `skills.entries`, and may refer to a variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lifeboat_adapters.contract import AgentFiles
from lifeboat_adapters.credential_types import CredentialNeed
from lifeboat_adapters.openclaw import openclaw_config, openclaw_paths
from lifeboat_adapters.openclaw.layers.openclaw_identity import PERSONA
from lifeboat_adapters.openclaw.openclaw_config import captured_config_of
from lifeboat_adapters.persona import skill_needs
from lifeboat_adapters.persona.skill_needs import SkillNeeds
from lifeboat_alf.common.json_types import JsonObject

_PLACES = (("skills", "entries"), ("plugins", "entries"), ("mcp", "servers"))
_SET_IN = ("", "env.", "env.vars.")
"""The beginnings of places where an environment variable can be set: in a .env file, in the configuration."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def openclaw_credential_needs_of(files: AgentFiles, identity: JsonObject) -> list[CredentialNeed]:
    """Return the needs of each capability of an identity document, without capabilities that need nothing."""
    values = captured_config_of(files)
    return skill_needs.list_credential_needs(
        PERSONA.every_skill(files), identity, lambda name, skill: _need(name, skill, values)
    )


def _need(name: str, skill: SkillNeeds, values: JsonObject) -> CredentialNeed:
    keys = tuple(dict.fromkeys((name, *skill.keys)))
    variables = {*skill.variables, *(each for key in keys for each in _referred(values, key))}
    return CredentialNeed(
        name,
        variables=frozenset(before + each for each in variables for before in _SET_IN),
        places=tuple(f"{openclaw_paths.CONFIG}: {'.'.join(place)}.{key}." for place in _PLACES for key in keys),
    )


def _referred(values: JsonObject, key: str) -> Iterator[str]:
    """Return the variables that a configured key refers to: `"${NAME}"`, or `{source: "env", id: "NAME"}`."""
    for place in _PLACES:
        given = openclaw_config.get_nested(values, *place, key, "apiKey")
        if isinstance(given, str):
            yield from _VARIABLE.findall(given)
        elif openclaw_config.get_nested_text(given, "source") == "env" and (
            name := openclaw_config.get_nested_text(given, "id")
        ):
            yield name
