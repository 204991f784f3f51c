"""Recognise the home or the workspace of an agent runtime by the names of its files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lifeboat_adapters.nested_values import get_nested
from lifeboat_adapters.small_files import read_small


@dataclass(frozen=True, slots=True)
class JsonMark:
    """A JSON file that belongs to a runtime if it has a value at one of the paths. `file` is relative to the
    workspace."""

    file: str
    paths: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class RuntimeMarks:
    """The marks of the home or the workspace of one runtime.

    `folders` are the usual names of its home; a workspace may be that folder or lie directly in it. One match of a glob
    in `certain` is enough. Of the names in `usual` it takes two. A match of a glob in `unless` shows that it is another
    runtime's. `profiles` names the folder profiles that describe
    such a runtime.
    """

    title: str
    folders: tuple[str, ...] = ()
    certain: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    json: tuple[JsonMark, ...] = ()
    profiles: tuple[str, ...] = ()


def find_named_folder(workspace: Path, marks: RuntimeMarks) -> str | None:
    """Return the name of a runtime's home if the workspace is that folder, or lies in it or in one of its profiles."""
    real = workspace.resolve()
    around = (real.name, real.parent.name, real.parent.parent.name if real.parent.name == "profiles" else "")
    return next((name for name in around if name in marks.folders), None)


def find_mark(workspace: Path, marks: RuntimeMarks) -> str | None:
    """Return the file, the glob or the names that show that a folder belongs to the runtime, None without any."""
    if any(has_match(workspace, glob) for glob in marks.unless):
        return None
    for glob in marks.certain:
        if has_match(workspace, glob):
            return glob
    present = [name for name in marks.usual if _exists(workspace / name)]
    if len(present) >= 2:
        return ", ".join(present)
    return next((mark.file for mark in marks.json if _has_value(workspace, mark)), None)


def has_match(workspace: Path, glob: str) -> bool:
    """Return whether a file below the workspace matches the glob."""
    try:
        return next(iter(workspace.glob(glob)), None) is not None
    except (OSError, ValueError, NotImplementedError):  # a profile may have a pattern that is valid for names alone
        return False


def first_mark(workspace: Path, every: Iterable[RuntimeMarks]) -> tuple[RuntimeMarks, str] | None:
    """Return the marks of the runtime that a folder belongs to, and the one that was found. The name of the home comes
    first."""
    known = tuple(every)
    for marks in known:
        if named := find_named_folder(workspace, marks):
            return marks, f"{named}/"
    for marks in known:
        if found := find_mark(workspace, marks):
            return marks, found
    return None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _has_value(workspace: Path, mark: JsonMark) -> bool:
    try:
        values = json.loads(read_small(workspace / mark.file, workspace))
    except (OSError, ValueError, RecursionError):  # an absent or unreadable file is no mark
        return False
    return any(get_nested(values, *path) is not None for path in mark.paths)
