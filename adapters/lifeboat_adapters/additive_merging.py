"""Add values that a file of an installation lacks, and keep those that it has: the same for every runtime.

All functions are pure. They return changes and a decision about each path. Paths are those of the archive's file, so
that a caller that knows where a credential stood can tell what became of it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from lifeboat_adapters.contract import MergedHomeFile
from lifeboat_adapters.credential_types import CredentialRefusal
from lifeboat_adapters.secrets import dotenv_leaves
from lifeboat_adapters.secrets.parsed_leaves import Path
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason

KEPT = Reason(CredentialRefusal.KEPT)


class ValueChange(NamedTuple):
    """Set `path` to `value`. A path that does not exist is added to its container, to a list with an index past its
    end. `remove` removes the value instead."""

    path: Path
    value: Any = None
    remove: bool = False


def merge_dotenv(found: bytes, wanted: bytes, left_out: Mapping[Path, Reason]) -> MergedHomeFile:
    """Merge a `.env` file: append missing variables and fill empty ones. Raises UnparsableSecrets."""
    there = {leaf.path: leaf for leaf in dotenv_leaves.scan_dotenv(found)}
    decided: dict[Path, Reason | None] = dict(left_out)
    filled: dict[int, tuple[int, bytes]] = {}
    lines: list[bytes] = []
    for leaf in dotenv_leaves.scan_dotenv(wanted):
        if leaf.path in left_out:
            continue
        old, literal = there.get(leaf.path), wanted[leaf.start : leaf.end]
        decided[leaf.path] = None
        if old is None:
            lines.append(str(leaf.path[0]).encode() + b"=" + literal + b"\n")
        elif not old.value:
            filled[old.start] = (old.end, literal)
        elif old.value != leaf.value:
            decided[leaf.path] = KEPT
    data = _with_literals(found, filled)
    between = b"\n" if lines and data and not data.endswith(b"\n") else b""
    return MergedHomeFile(data + between + b"".join(lines), decided)


def _with_literals(data: bytes, literals: Mapping[int, tuple[int, bytes]]) -> bytes:
    """Return data with spans replaced, by their start."""
    pieces: list[bytes] = []
    at = 0
    for start, (end, literal) in sorted(literals.items()):
        pieces += [data[at:start], literal]
        at = end
    return b"".join([*pieces, data[at:]])


class MissingValues:
    """Collects the changes that add missing values, and records a decision about every path in `decided`.

    `original` returns the path in the archive's file, which differs if that has another layout. Lists at paths in
    `appended` get the items that they lack; other lists stay as they are. `same` says whether two values are equal.
    """

    def __init__(
        self,
        decided: dict[Path, Reason | None],
        left_out: Collection[Path],
        original: Callable[[Path], Path] = lambda path: path,
        *,
        appended: Collection[Path] = (),
        same: Callable[[Any, Any], bool] = operator.eq,
    ) -> None:
        self.changes: list[ValueChange] = []
        self.decided, self.left_out, self.original = decided, left_out, original
        self._appended, self._same = appended, same

    def walk(self, found: JsonObject, wanted: JsonObject, path: Path) -> None:
        for key, value in wanted.items():
            here = (*path, key)
            if self.original(here) in self.left_out:
                continue
            if key not in found or found[key] in ("", None):
                self.changes.append(ValueChange(here, self._pruned(value, here)))
                self.decided[self.original(here)] = None
            elif isinstance(value, dict) and isinstance(found[key], dict):
                self.walk(found[key], value, here)
            elif isinstance(value, list) and isinstance(found[key], list) and here in self._appended:
                self._append(found[key], value, here)
            else:
                self.decided[self.original(here)] = None if self._same(found[key], value) else KEPT

    def _append(self, found: list[Any], wanted: list[Any], path: Path) -> None:
        count = len(found)
        for number, item in enumerate(wanted):
            self.decided[(*path, number)] = None
            if item not in found:
                self.changes.append(ValueChange((*path, count), item))
                count += 1

    def _pruned(self, value: Any, path: Path) -> Any:
        """Return a value without the parts that must not be added."""
        if isinstance(value, dict):
            kept = {key: inner for key, inner in value.items() if self.original((*path, key)) not in self.left_out}
            return {key: self._pruned(inner, (*path, key)) for key, inner in kept.items()}
        if isinstance(value, list):
            listed = ((inner, (*path, number)) for number, inner in enumerate(value))
            return [self._pruned(inner, here) for inner, here in listed if self.original(here) not in self.left_out]
        return value


def join_changes(there: JsonObject, changes: Iterable[ValueChange]) -> list[ValueChange]:
    """Combine changes whose containers do not exist yet into one change that creates the outermost container."""
    plain: list[ValueChange] = []
    made: dict[Path, Any] = {}
    for each in changes:
        depth = next((n for n in range(1, len(each.path)) if not has_value_at(there, each.path[:n])), len(each.path))
        if depth == len(each.path):
            plain.append(each)
            continue
        inner = made.setdefault(each.path[:depth], {})
        for step in each.path[depth:-1]:
            inner = inner.setdefault(step, {})
        inner[each.path[-1]] = each.value
    return [
        *(each for each in plain if each.path not in made),
        *(ValueChange(path, value) for path, value in made.items()),
    ]


def has_value_at(values: Any, path: Path) -> bool:
    """Return whether there is a value at a path."""
    for step in path:
        inside = step in values if isinstance(values, dict) else isinstance(values, list) and step in range(len(values))
        if not inside:
            return False
        values = values[step]
    return True
