"""Read which credentials skills declare: `requires.env`, `primaryEnv` and `skillKey` in the front matter
of SKILL.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from lifeboat_adapters.credential_types import CredentialNeed, UnparsableSecrets
from lifeboat_adapters.nested_values import get_nested, get_nested_text
from lifeboat_adapters.persona import capabilities
from lifeboat_adapters.secrets import yaml_leaves
from lifeboat_adapters.secrets.parsed_leaves import Path
from lifeboat_alf.common.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class SkillNeeds:
    """The declared needs of a skill: the names under which it may be configured, and the variables that it reads."""

    keys: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


def list_credential_needs(
    skills: Iterable[tuple[str, str]], identity: JsonObject, need_of: Callable[[str, SkillNeeds], CredentialNeed]
) -> list[CredentialNeed]:
    """Return the needs of each named capability of an identity document (ALF §3.2.6). `need_of` makes one from the name
    of the capability and the needs that its skill declares."""
    declared, listed = _declared(skills), get_nested(identity, "structured", "capabilities")
    names = [get_nested_text(each, "name") for each in listed] if isinstance(listed, list) else []
    return [need_of(name, declared.get(name.casefold(), SkillNeeds())) for name in names if name]


def _declared(skills: Iterable[tuple[str, str]]) -> dict[str, SkillNeeds]:
    """Return the needs of every skill (its folder, and the text of its SKILL.md), by the case-folded name of its
    capability."""
    found: dict[str, SkillNeeds] = {}
    for folder, text in skills:
        keys, variables = [folder], []
        for path, value in _values(capabilities.front_matter(text)):
            if path[-1:] == ("primaryEnv",) or path[-3:-1] == ("requires", "env"):
                variables.append(value)
            elif path[-1:] == ("skillKey",):
                keys.append(value)
        name = str(capabilities.capability_from_skill(folder, text)["name"])
        found[name.casefold()] = SkillNeeds(tuple(keys), tuple(variables))
    return found


def _values(matter: str) -> Iterator[tuple[Path, str]]:
    try:
        found = yaml_leaves.scan_yaml(matter.encode("utf-8", "replace"))
    except UnparsableSecrets:
        return
    yield from ((leaf.path, leaf.value) for leaf in found if isinstance(leaf.value, str) and leaf.path)
