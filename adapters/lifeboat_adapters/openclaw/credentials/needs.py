"""Which capability needs which credential: what a skill declares, and what is configured under its name.

`requires.env`, `primaryEnv` and `skillKey` stand in the front matter of SKILL.md, in `metadata`; a skill's own key and
environment stand in `openclaw.json` under `skills.entries`, and may refer to a variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lifeboat_adapters.contract import Files, Need, UnparsableSecrets
from lifeboat_adapters.openclaw import config, paths
from lifeboat_adapters.openclaw.documents import config_of
from lifeboat_adapters.openclaw.layers.identity import PERSONA
from lifeboat_adapters.persona import capabilities
from lifeboat_adapters.secrets import yaml

JsonObject = dict[str, Any]

_PLACES = (("skills", "entries"), ("plugins", "entries"), ("mcp", "servers"))
_SET_IN = ("", "env.", "env.vars.")
"""Where an environment variable may be set, as the beginning of its place in a file: of a .env file, of the
configuration."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class _Skill:
    """What a skill declares: the names it may be configured under, the variables it reads."""

    keys: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


def needs(files: Files, document: JsonObject) -> list[Need]:
    """What each capability of an identity document needs, those that need nothing left out."""
    skills = {name.casefold(): skill for name, skill in _skills(files)}
    values = config_of(files)
    listed = config.get(document, "structured", "capabilities")
    names = [config.text(each, "name") for each in listed] if isinstance(listed, list) else []
    return [_need(name, skills.get(name.casefold(), _Skill()), values) for name in names if name]


def _need(name: str, skill: _Skill, values: JsonObject) -> Need:
    keys = tuple(dict.fromkeys((name, *skill.keys)))
    variables = {*skill.variables, *(each for key in keys for each in _referred(values, key))}
    return Need(
        name,
        variables=frozenset(before + each for each in variables for before in _SET_IN),
        places=tuple(f"{paths.CONFIG}: {'.'.join(place)}.{key}." for place in _PLACES for key in keys),
    )


def _skills(files: Files) -> Iterator[tuple[str, _Skill]]:
    """Every skill by the name of its capability."""
    for folder, text in PERSONA.every_skill(files):
        keys, variables = [folder], []
        for path, value in _declared(capabilities.front_matter(text)):
            if path[-1:] == ("primaryEnv",) or path[-3:-1] == ("requires", "env"):
                variables.append(value)
            elif path[-1:] == ("skillKey",):
                keys.append(value)
        yield capabilities.from_skill(folder, text)["name"], _Skill(tuple(keys), tuple(variables))


def _declared(matter: str) -> Iterator[tuple[tuple[str | int, ...], str]]:
    try:
        found = yaml.scan(matter.encode("utf-8", "replace"))
    except UnparsableSecrets:
        return
    yield from ((leaf.path, leaf.value) for leaf in found if isinstance(leaf.value, str) and leaf.path)


def _referred(values: JsonObject, key: str) -> Iterator[str]:
    """The variables that a configured key refers to: `"${NAME}"`, or `{source: "env", id: "NAME"}`."""
    for place in _PLACES:
        given = config.get(values, *place, key, "apiKey")
        if isinstance(given, str):
            yield from _VARIABLE.findall(given)
        elif config.text(given, "source") == "env" and (name := config.text(given, "id")):
            yield name
