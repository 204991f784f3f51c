"""Select the format options that apply to a conversion."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lifeboat_core.errors import ExchangeError
from lifeboat_core.texts.human_text import join_names
from lifeboat_formats.interchange import format_registry
from lifeboat_formats.interchange.contract import Format, FormatOption, OptionKind, Options, Value

_SAID_BY_NAMES = {".gz": "gzip", ".ndjson": "stream"}
"""Options that the ending of a target's name implies."""


def list_options() -> dict[str, list[tuple[str, FormatOption]]]:
    """Return all options of the installed formats by name, with the formats that have them."""
    found: dict[str, list[tuple[str, FormatOption]]] = {}
    for name in format_registry.list_formats():
        for option in format_registry.load_format(name).options:
            found.setdefault(option.name, []).append((name, option))
    return found


def choose_reading_options(chosen: Format, given: Mapping[str, Value]) -> Options:
    return {option.name: _value(option, given) for option in chosen.options if option.reads}


def choose_writing_options(chosen: Format, given: Mapping[str, Value], target: str) -> Options:
    """Return the options for writing. `target` is the name of the file, or an address."""
    plain = target.lower().removesuffix(".age")
    said = {name: True for ending, name in _SAID_BY_NAMES.items() if plain.endswith(ending)}
    return {option.name: _value(option, {**said, **given}) for option in chosen.options if option.writes}


def _value(option: FormatOption, given: Mapping[str, Value]) -> Value:
    """Return the value of an option. Raises ExchangeError.OPTION_REFUSED."""
    value = given.get(option.name)
    if option.kind is OptionKind.FLAG:
        return bool(value)
    if value is None or isinstance(value, bool):
        return option.default
    if option.kind is OptionKind.CHOICE and value not in option.choices:
        raise ExchangeError.OPTION_REFUSED(f"--{option.name} must be one of: {', '.join(option.choices)}")
    if option.kind is OptionKind.FILE and not Path(value).is_file():
        raise ExchangeError.OPTION_REFUSED(f"--{option.name} must name an existing file, and {value} does not exist")
    return value


def refuse_other_options(given: Mapping[str, Value], source: Format | None, target: Format | None) -> None:
    """Refuse options that have no effect in this conversion. Raises ExchangeError.OPTION_REFUSED."""
    counts = {option.name for option in (source.options if source else ()) if option.reads}
    counts |= {option.name for option in (target.options if target else ()) if option.writes}
    for name in given:
        if name not in counts:
            ways = [_way(owner, option) for owner, option in list_options().get(name, [])]
            raise ExchangeError.OPTION_REFUSED(
                f"--{name} has no effect on this conversion; it applies only to "
                f"{join_names(ways) or 'formats that are not installed'}"
            )


def _way(owner: str, option: FormatOption) -> str:
    verbs = {"reading": option.reads, "writing": option.writes}
    return f"{' and '.join(verb for verb, counts in verbs.items() if counts)} {owner}"
