"""Decide which file events matter: the rules of a watch plan in a form that is fast enough for every event."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator

from lifeboat_daemon.watch.watch_plan import PlannedFolder

_LOG = "-wal"
_OURS = ".lifeboat-"
"""Part of the names of directories in which a restore works."""


class EventFilter:
    """The rules of one watched directory."""

    def __init__(self, watched: PlannedFolder) -> None:
        self.folder = watched.folder
        self._prefix = os.path.join(watched.folder, "")
        self._only = _any_of(watched.only)
        self._noise = _any_of(watched.noise or None)
        self._files = frozenset(name for name in watched.ignored if not name.endswith("/"))
        self._ignored = frozenset(name[:-1] for name in watched.ignored if name.endswith("/"))

    def matters(self, path: str) -> bool:
        """Return whether an event on a path is a change of captured data. A commit may change only the log of a
        database, which is never captured by itself."""
        names = [path, path.removesuffix(_LOG)] if path.endswith(_LOG) else [path]
        return any(self._matters(self._below(name)) for name in names)

    def _matters(self, relative: str) -> bool:
        if not relative or (self._only is not None and self._only.match(relative) is None):
            return False
        if relative in self._files or self._is_ignored(relative):
            return False
        return self._noise is None or self._noise.match(relative.rpartition("/")[2]) is None

    def skips(self, path: str) -> bool:
        """Return whether nothing in a directory matters, so that it need not be watched."""
        relative = self._below(path)
        return bool(relative) and self._is_ignored(relative)

    def left_out(self) -> Iterator[str]:
        """Return the directories of the plan that are never captured."""
        return (self._prefix + name for name in self._ignored)

    def _below(self, path: str) -> str:
        if not path.startswith(self._prefix):
            return ""
        relative = path[len(self._prefix) :]
        return relative if os.sep == "/" else relative.replace(os.sep, "/")

    def _is_ignored(self, relative: str) -> bool:
        """Check the path's own name and those of its parent directories."""
        if _OURS in relative and any(part.startswith(".") and _OURS in part for part in relative.split("/")):
            return True
        end = len(relative)
        while end > 0:
            if relative[:end] in self._ignored:
                return True
            end = relative.rfind("/", 0, end)
        return False


def _any_of(globs: tuple[str, ...] | None) -> re.Pattern[str] | None:
    return None if globs is None else re.compile("|".join(map(fnmatch.translate, globs)) or r"(?!)")
