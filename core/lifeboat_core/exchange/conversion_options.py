"""The choices that formats leave to their users: which of those that were given belong to a conversion."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lifeboat_core.errors import OptionRefused
from lifeboat_core.texts.words import listed
from lifeboat_formats.interchange import registry
from lifeboat_formats.interchange.contract import Format, Kind, Option, Options, Value

_SAID_BY_NAMES = {".gz": "gzip", ".ndjson": "stream"}
"""What the ending of a target's name says, as the option that says it too."""


def every() -> dict[str, list[tuple[str, Option]]]:
    """All options of the installed formats: by name, with the names of the formats that have one."""
    found: dict[str, list[tuple[str, Option]]] = {}
    for name in registry.names():
        for option in registry.named(name).options:
            found.setdefault(option.name, []).append((name, option))
    return found


def for_reading(chosen: Format, given: Mapping[str, Value]) -> Options:
    return {option.name: _value(option, given) for option in chosen.options if option.reads}


def for_writing(chosen: Format, given: Mapping[str, Value], target: str) -> Options:
    """`target` is the name of the file, or an address."""
    said = {name: True for ending, name in _SAID_BY_NAMES.items() if _plain_name(target).endswith(ending)}
    return {option.name: _value(option, {**said, **given}) for option in chosen.options if option.writes}


def _plain_name(target: str) -> str:
    return target.lower().removesuffix(".age")


def _value(option: Option, given: Mapping[str, Value]) -> Value:
    """Raises OptionRefused."""
    value = given.get(option.name)
    if option.kind is Kind.FLAG:
        return bool(value)
    if value is None or isinstance(value, bool):
        return option.default
    if option.kind is Kind.CHOICE and value not in option.choices:
        raise OptionRefused(f"--{option.name} is one of: {', '.join(option.choices)}")
    if option.kind is Kind.FILE and not Path(value).is_file():
        raise OptionRefused(f"--{option.name} names no file: {value}")
    return value


def refuse_others(given: Mapping[str, Value], source: Format | None, target: Format | None) -> None:
    """Refuse options that would count for nothing in this conversion. Raises OptionRefused."""
    counts = {option.name for option in (source.options if source else ()) if option.reads}
    counts |= {option.name for option in (target.options if target else ()) if option.writes}
    for name in given:
        if name not in counts:
            ways = [_way(owner, option) for owner, option in every().get(name, [])]
            raise OptionRefused(f"--{name} is for {listed(ways) or 'nothing that is installed'}, and this is neither")


def _way(owner: str, option: Option) -> str:
    verbs = {"reading": option.reads, "writing": option.writes}
    return f"{' and '.join(verb for verb, counts in verbs.items() if counts)} {owner}"
