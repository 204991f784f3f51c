"""Read a configuration in several files.

`{"$include": "./agents.json5"}` stands for the content of that file. Keys beside it take precedence over keys of the
file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lifeboat_adapters.errors import RuntimeConfigError
from lifeboat_adapters.openclaw import openclaw_config
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_alf.seams.held_folder import LinkInPath

Place = tuple[str, ...]

INCLUDE = "$include"
DEEPEST = 10
"""The depth of includes that the runtime itself allows."""
MOST = 32


@dataclass(frozen=True, slots=True)
class IncludedFile:
    """An included file: where it was read, and the place of its content in the configuration."""

    file: Path
    at: Place


@dataclass(frozen=True, slots=True)
class ResolvedConfig:
    """A configuration with everything that it includes, and the included files."""

    values: JsonObject
    parts: tuple[IncludedFile, ...] = ()

    def inside(self, folder: Path) -> dict[str, Place]:
        """Return the included files in a folder by their relative path, each with its place."""
        base = folder.resolve()
        return {
            part.file.relative_to(base).as_posix(): part.at for part in self.parts if part.file.is_relative_to(base)
        }


def read_resolved_config(path: Path, state_dir: Path | None) -> ResolvedConfig:
    """Return the whole configuration, or while the file is half-written or broken the copy made before its last change;
    an empty one when there is none.

    Links below the folder of the configuration or below the state directory are not followed out of it to an included
    file. Raises RuntimeConfigError.
    """
    return _whole(path, openclaw_config.read_config_or_backup(path), state_dir)


def _whole(path: Path, values: JsonObject, state_dir: Path | None) -> ResolvedConfig:
    reading = _IncludeReader((path.parent, *([] if state_dir is None else [state_dir])))
    try:
        found = reading.resolved(values, path.parent, (), 0)
    except (OSError, ValueError, RecursionError) as error:
        raise RuntimeConfigError(f"{path}: {refusal_reason(error)}", fix="openclaw doctor --fix") from error
    return ResolvedConfig(found, tuple(reading.parts))


@dataclass(slots=True)
class _IncludeReader:
    """Resolves the includes of one configuration."""

    guarded: tuple[Path, ...]
    """Folders out of which no link is followed."""
    parts: list[IncludedFile] = field(default_factory=list)

    def resolved(self, value: Any, folder: Path, at: Place, depth: int) -> Any:
        if isinstance(value, list):
            return [self.resolved(one, folder, (*at, str(number)), depth) for number, one in enumerate(value)]
        if not isinstance(value, dict):
            return value
        own = {name: self.resolved(one, folder, (*at, name), depth) for name, one in value.items() if name != INCLUDE}
        named = value.get(INCLUDE)
        merged: JsonObject = {}
        for name in [named] if isinstance(named, str) else named if isinstance(named, list) else []:
            merged = _merged(merged, self._included(Path(os.path.abspath(folder / str(name))), at, depth))
        return _merged(merged, own)

    def _included(self, file: Path, at: Place, depth: int) -> Any:
        if depth == DEEPEST or len(self.parts) == MOST:
            raise ValueError(f"the configuration includes more than {DEEPEST} nested levels or {MOST} files")
        place = Path(os.path.realpath(file))
        self.parts.append(IncludedFile(place, at))
        return self.resolved(
            openclaw_config.parse_openclaw_config(read_small(place, self._root_of(file, place))),
            file.parent,
            at,
            depth + 1,
        )

    def _root_of(self, file: Path, place: Path) -> Path | None:
        """Return the real folder below which an included file is read without following links, None for a file that the
        configuration names outside of the guarded folders. Raises LinkInPath when a link leads out of them."""
        roots = [Path(os.path.realpath(folder)) for folder in self.guarded]
        root = next((root for root in roots if place.is_relative_to(root)), None)
        if root is None and any(file.is_relative_to(os.path.abspath(folder)) for folder in self.guarded):
            raise LinkInPath(file)
        return root


def _merged(first: Any, over: Any) -> Any:
    """Merge two values: objects are joined, lists are concatenated, and of other values the second one counts."""
    if isinstance(first, dict) and isinstance(over, dict):
        return {**first, **{name: _merged(first[name], one) if name in first else one for name, one in over.items()}}
    if isinstance(first, list) and isinstance(over, list):
        return [*first, *over]
    return over
