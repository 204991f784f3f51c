"""Remove from a document what a runtime changes by itself, so that only other changes make a sequence."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import pyjson5
import yaml

from lifeboat_adapters.exclusion_rules import file_suffix
from lifeboat_adapters.folder.folder_profile import FolderProfile

_PARSERS: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys((".json", ".json5", ".jsonc"), pyjson5.decode),
    **dict.fromkeys((".yaml", ".yml"), yaml.safe_load),
    ".toml": tomllib.loads,
}


def without_volatile_values(profile: FolderProfile, name: str, data: bytes) -> bytes | None:
    """Return the part of a file whose changes count, None when every change does."""
    listed = (paths for glob, paths in profile.volatile.items() if fnmatchcase(name, glob))
    paths = [path for each in listed for path in each]
    parse = _PARSERS.get(file_suffix(name))
    if not paths or parse is None:
        return None
    try:
        values = parse(data.decode("utf-8"))
        for path in paths:
            _remove_at(values, path.split("."))
        return json.dumps(values, sort_keys=True, default=str).encode()
    except (ValueError, yaml.YAMLError, pyjson5.Json5Exception, RecursionError):
        return None


def values_at(values: Any, steps: Sequence[str]) -> Iterator[Any]:
    """Yield the values at a path; each step is a glob of `fnmatch`."""
    if not steps:
        yield values
        return
    for key, value in _members(values):
        if fnmatchcase(key, steps[0]):
            yield from values_at(value, steps[1:])


def _members(values: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(values, dict):
        yield from ((str(key), value) for key, value in values.items())
    elif isinstance(values, list):
        yield from ((str(number), value) for number, value in enumerate(values))


def _remove_at(values: Any, steps: Sequence[str]) -> None:
    *above, last = steps
    for parent in values_at(values, above):
        if isinstance(parent, dict):
            for key in [key for key in parent if fnmatchcase(str(key), last)]:
                del parent[key]
