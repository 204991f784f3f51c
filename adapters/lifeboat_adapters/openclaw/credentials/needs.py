"""Which capability needs which credential: what a skill declares, and what is configured under its name.

A skill's own key and environment stand in `openclaw.json` under `skills.entries`, and may refer to a variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lifeboat_adapters.contract import Files
from lifeboat_adapters.credentials import Need
from lifeboat_adapters.openclaw import config, paths
from lifeboat_adapters.openclaw.documents import config_of
from lifeboat_adapters.openclaw.layers.identity import PERSONA
from lifeboat_adapters.persona import skill_needs
from lifeboat_adapters.persona.skill_needs import SkillNeeds
from lifeboat_alf.json_types import JsonObject

_PLACES = (("skills", "entries"), ("plugins", "entries"), ("mcp", "servers"))
_SET_IN = ("", "env.", "env.vars.")
"""Where an environment variable may be set, as the beginning of its place in a file: of a .env file, of the
configuration."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def needs(files: Files, document: JsonObject) -> list[Need]:
    """What each capability of an identity document needs, those that need nothing left out."""
    skills = skill_needs.declared(PERSONA.every_skill(files))
    values = config_of(files)
    listed = config.get(document, "structured", "capabilities")
    names = [config.text(each, "name") for each in listed] if isinstance(listed, list) else []
    return [_need(name, skills.get(name.casefold(), SkillNeeds()), values) for name in names if name]


def _need(name: str, skill: SkillNeeds, values: JsonObject) -> Need:
    keys = tuple(dict.fromkeys((name, *skill.keys)))
    variables = {*skill.variables, *(each for key in keys for each in _referred(values, key))}
    return Need(
        name,
        variables=frozenset(before + each for each in variables for before in _SET_IN),
        places=tuple(f"{paths.CONFIG}: {'.'.join(place)}.{key}." for place in _PLACES for key in keys),
    )


def _referred(values: JsonObject, key: str) -> Iterator[str]:
    """The variables that a configured key refers to: `"${NAME}"`, or `{source: "env", id: "NAME"}`."""
    for place in _PLACES:
        given = config.get(values, *place, key, "apiKey")
        if isinstance(given, str):
            yield from _VARIABLE.findall(given)
        elif config.text(given, "source") == "env" and (name := config.text(given, "id")):
            yield name
