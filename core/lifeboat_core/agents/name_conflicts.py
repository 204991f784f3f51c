"""Names of a state that cannot exist in one folder: the check that a commit and a restore share.

A file or a link leaves no room for names below it, and no name exists twice. A state with both cannot be restored as a
whole. Conflicts arise when a name changes its kind and what was there before stays in the state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject

FILE, FOLDER = "file", "folder"
_MOST_ONE_BY_ONE = 100
"""Above this many changed paths, reading every name once is cheaper than asking about each of them."""


class NameConflict(NamedTuple):
    """`path` leaves no room for `other`. Both are archive paths."""

    path: str
    other: str


class EntryLookup(Protocol):
    """Entries by archive path."""

    def meta(self, path: str) -> JsonObject | None: ...

    def kinds(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield the paths that begin with a prefix, each with "file", "link" or "folder"."""
        ...


def list_parents(name: str) -> list[str]:
    """Return every folder above a name, outermost first."""
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def find_blocked_names(kinds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each pair of a file or a link and a name below it. `kinds` are "file", "link" or "folder" by name."""
    for name in kinds:
        for parent in list_parents(name):
            if kinds.get(parent, FOLDER) != FOLDER:
                yield parent, name


def find_conflicts(entries: EntryLookup, runtime: str, changed: Collection[str] | None = None) -> list[NameConflict]:
    """Return the conflicts in the workspace and the home of a runtime; of `changed` paths only, where they are given.

    An artifact that has the name of a raw file conflicts with it.
    """
    found: list[NameConflict] = []
    for prefixes in (
        (archive_layout.raw_prefix(runtime), archive_layout.ARTIFACTS),
        (archive_layout.home_prefix(runtime),),
    ):
        standing = _FolderNames(entries, prefixes)
        if changed is None or len(changed) > _MOST_ONE_BY_ONE:
            standing.add(pair for prefix in prefixes for pair in entries.kinds(prefix))
        else:
            standing.add_around(changed)
        found += standing.conflicts()
    return found


class _FolderNames:
    """Entries by their names in one folder, to which archive paths below several `prefixes` belong."""

    def __init__(self, entries: EntryLookup, prefixes: tuple[str, ...]) -> None:
        self._entries = entries
        self._prefixes = prefixes
        self._kinds: dict[str, dict[str, str]] = {}

    def add(self, kinds: Iterable[tuple[str, str]]) -> None:
        for path, kind in kinds:
            if (name := self._name_of(path)) is not None:
                self._kinds.setdefault(name, {})[path] = kind

    def add_around(self, changed: Iterable[str]) -> None:
        """Add paths, the names above and below them, and entries with the same name."""
        for path in changed:
            name = self._name_of(path)
            if name is not None and self._entries.meta(path) is not None:
                for prefix in self._prefixes:
                    self.add(self._found(prefix + each for each in (*list_parents(name), name)))
                    self.add(self._entries.kinds(f"{prefix}{name}/"))

    def _found(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        for path in paths:
            if (meta := self._entries.meta(path)) is not None:
                yield path, str(meta.get("type", FILE))

    def conflicts(self) -> Iterator[NameConflict]:
        for paths in self._kinds.values():
            raw, *others = sorted(paths, reverse=True)  # a restore takes the raw file if an artifact has its name
            yield from (NameConflict(other, raw) for other in others)
        kinds = {name: max(each.values(), key=FOLDER.__ne__) for name, each in self._kinds.items()}
        for above, below in find_blocked_names(kinds):
            for path, kind in self._kinds[above].items():
                if kind != FOLDER:
                    yield from (NameConflict(path, other) for other in self._kinds[below])

    def _name_of(self, path: str) -> str | None:
        return next((path.removeprefix(each) for each in self._prefixes if path.startswith(each)), None)
