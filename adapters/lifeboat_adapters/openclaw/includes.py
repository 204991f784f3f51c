"""A configuration in several files: `{"$include": "./agents.json5"}` stands for what is in that file, and what stands
beside it counts before it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lifeboat_adapters.errors import RuntimeConfigError
from lifeboat_adapters.openclaw import config
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.system_texts import refusal_reason

Place = tuple[str, ...]

INCLUDE = "$include"
DEEPEST = 10
"""Files in files, as the runtime itself allows."""
MOST = 32


@dataclass(frozen=True, slots=True)
class Part:
    """An included file, and where in the configuration its content stands."""

    file: Path
    at: Place


@dataclass(frozen=True, slots=True)
class Whole:
    """A configuration with everything that it includes, and the files that hold it beside the first."""

    values: JsonObject
    parts: tuple[Part, ...] = ()

    def inside(self, folder: Path) -> dict[str, Place]:
        """The included files in a folder by their path in it, each with its place."""
        base = folder.resolve()
        found = ((part.file.resolve(), part.at) for part in self.parts)
        return {file.relative_to(base).as_posix(): at for file, at in found if file.is_relative_to(base)}


def read(path: Path) -> Whole:
    """The whole configuration; an empty one when there is none. Raises RuntimeConfigError."""
    return _whole(path, config.read(path))


def read_or_backup(path: Path) -> Whole:
    """`read`, or the copy made before the last change while the file is half-written or broken."""
    return _whole(path, config.read_or_backup(path))


def _whole(path: Path, values: JsonObject) -> Whole:
    reading = _Reading()
    try:
        found = reading.resolved(values, path.parent, (), 0)
    except (OSError, ValueError, RecursionError) as error:
        raise RuntimeConfigError(f"{path}: {refusal_reason(error)}", fix="openclaw doctor --fix") from error
    return Whole(found, tuple(reading.parts))


@dataclass(slots=True)
class _Reading:
    parts: list[Part] = field(default_factory=list)

    def resolved(self, value: Any, folder: Path, at: Place, depth: int) -> Any:
        if isinstance(value, list):
            return [self.resolved(one, folder, (*at, str(number)), depth) for number, one in enumerate(value)]
        if not isinstance(value, dict):
            return value
        own = {name: self.resolved(one, folder, (*at, name), depth) for name, one in value.items() if name != INCLUDE}
        named = value.get(INCLUDE)
        merged: JsonObject = {}
        for name in [named] if isinstance(named, str) else named if isinstance(named, list) else []:
            merged = _merged(merged, self._included(folder / str(name), at, depth))
        return _merged(merged, own)

    def _included(self, file: Path, at: Place, depth: int) -> Any:
        if depth == DEEPEST or len(self.parts) == MOST:
            raise ValueError(f"more than {DEEPEST} files in files, or {MOST} in all")
        self.parts.append(Part(file, at))
        return self.resolved(config.parse(read_small(file)), file.parent, at, depth + 1)


def _merged(first: Any, over: Any) -> Any:
    """Objects are joined, lists are put together, of anything else the latter counts."""
    if isinstance(first, dict) and isinstance(over, dict):
        return {**first, **{name: _merged(first[name], one) if name in first else one for name, one in over.items()}}
    if isinstance(first, list) and isinstance(over, list):
        return [*first, *over]
    return over
