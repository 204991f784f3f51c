"""Edit single values in the text of a TOML document, and keep its comments and order.

If the text cannot be edited so that exactly these values change, the whole document is written again. That loses its
comments, and the result says so.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Sequence
from typing import Any, NamedTuple

import tomlkit
from tomlkit.exceptions import TOMLKitError

from lifeboat_adapters.additive_merging import ValueChange
from lifeboat_adapters.secrets.parsed_leaves import BOM
from lifeboat_adapters.zeroclaw import zeroclaw_config
from lifeboat_alf.common.json_types import JsonObject


class EditedToml(NamedTuple):
    """An edited document. `rewritten` says that comments and order are lost."""

    data: bytes
    rewritten: bool = False


def edit_toml(data: bytes, changes: Sequence[ValueChange]) -> EditedToml:
    """Return a document with these changes. Raises ValueError when it is not TOML, or when a path leads through a plain
    value."""
    if not changes:
        return EditedToml(data)
    wanted = zeroclaw_config.parse_zeroclaw_config(data)
    for each in changes:
        _apply(wanted, each)
    changed = _edited(_text(data), changes, wanted)
    if changed is not None:
        return EditedToml(changed.encode())
    return EditedToml(format_toml(wanted), rewritten=True)


def format_toml(values: JsonObject) -> bytes:
    """Return a document from values. Equal values give equal bytes."""
    return tomlkit.dumps(values).encode("utf-8", "replace")


def _text(data: bytes) -> str:
    return data.removeprefix(BOM).decode("utf-8")


def _edited(text: str, changes: Sequence[ValueChange], wanted: JsonObject) -> str | None:
    """Return the text with single values changed, None when that is impossible, or does not give exactly the `wanted`
    values."""
    try:
        document = tomlkit.parse(text)
        for each in changes:
            _apply(document, each)
        edited = tomlkit.dumps(document)
        return next((each for each in (_spaced(edited, text), edited) if tomllib.loads(each) == wanted), None)
    except (TOMLKitError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None


def _spaced(edited: str, before: str) -> str:
    """Return the text with an empty line before each table that is new in it."""
    known = set(before.splitlines())
    found: list[str] = []
    for line in edited.splitlines(keepends=True):
        is_new_table = line.startswith("[") and line.rstrip("\r\n") not in known
        if is_new_table and found and found[-1].strip():
            found.append("\n")
        found.append(line)
    return "".join(found)


def _apply(values: Any, change: ValueChange) -> None:
    """Apply changes to plain values or to a document, whose tables are dictionaries and lists, too."""
    *above, last = change.path
    for step in above:
        if isinstance(values, dict):
            values = values.setdefault(step, {})
        elif isinstance(values, list) and step in range(len(values)):
            values = values[int(step)]
    if isinstance(values, dict):
        if change.remove:
            values.pop(last, None)
        else:
            values[last] = copy.deepcopy(change.value)
    elif isinstance(values, list) and last in range(len(values) + 1):
        values[int(last) : int(last) + 1] = [] if change.remove else [copy.deepcopy(change.value)]
    else:
        raise ValueError(f"{'.'.join(map(str, above))} is not a TOML table")
