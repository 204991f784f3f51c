"""Make the watch plan of an agent in a worker, from what its runtime's adapter says.

The workspace is watched completely, the runtime's own directory only where it is captured, and the databases that are
read row by row. Names that are never captured are listed, so that a log that grows every second starts no scan.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import sqlite3
import time
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from lifeboat_adapters import exclusion_rules
from lifeboat_adapters.contract import Adapter, CaptureRoot, FolderCap, Installation, Placement
from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.errors import AdapterError
from lifeboat_adapters.stable_reads.file_reading import OverLimit, Unstable, read_file
from lifeboat_alf.archive import archive_names
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture import ignore_file
from lifeboat_core.capture.known_installation import recall_installation
from lifeboat_core.capture.scan_cache import OURS
from lifeboat_core.home.context import Context
from lifeboat_daemon.watch.watch_plan import PlannedFolder, WatchPlan

MOST_ENTRIES = 4000
"""The number of names that are checked for exclusion, nearest to the root first. A name beyond it costs a scan that
finds nothing."""
MOST_IGNORED = 1000
SETTLED_NS = 2_000_000_000
"""The time without changes after which a directory's timestamps show reliably whether it changed."""
_MOST_KNOWN = 5000
_UNKNOWABLE = (AdapterError, UnparsableSecrets, sqlite3.Error, OSError)
_WILD = re.compile(r"[*?\[]")
_QUOTED = re.compile(r"\[([*?\[])\]")


def plan_watching(context: Context, agent: Agent) -> WatchPlan:
    """Return the directories to watch of an agent, its workspace first, whether they exist or not. Reads no file but
    `.lifeboatignore` and those that the adapter needs to find the runtime. Raises UnknownRuntime only."""
    adapter = context.adapter(agent.runtime)
    found = _installation(context, agent, adapter)
    if found is None:
        return WatchPlan((PlannedFolder(os.path.realpath(agent.workspace)),))
    workspace, *others = adapter.roots(found)
    rules = _rules(context, workspace)
    watched = [_FolderSurvey(context, adapter, workspace, "", rules).watched(None)]
    for root in others:
        for folder, (is_deep, only) in _folders(root.only).items():
            look = _FolderSurvey(context, adapter, root, folder, ignore_file.IgnoreFile())
            watched.append(replace(look, is_deep=is_deep).watched(only))
    return WatchPlan((*watched, *_files(found, adapter)))


def _installation(context: Context, agent: Agent, adapter: Adapter) -> Installation | None:
    """Return the installed runtime. While it cannot be found, return its last known place, where it may come back."""
    try:
        return adapter.locate(agent.workspace, context.environment, context.user_home)
    except (AdapterError, OSError):
        with suppress(LifeboatError, sqlite3.Error, OSError), context.vault(agent.id) as vault:
            return recall_installation(vault, agent)
    return None


def _rules(context: Context, workspace: CaptureRoot) -> ignore_file.IgnoreFile:
    """Return the rules of `.lifeboatignore`, or none while it cannot be read."""
    with suppress(OSError, OverLimit, Unstable):
        data = read_file(context.files, workspace.folder / ignore_file.FILE_NAME, ignore_file.LARGEST).data
        if data.count(b"\n") <= ignore_file.MOST_LINES:
            return ignore_file.parse_ignore_file(data.decode("utf-8", "replace"))
    return ignore_file.IgnoreFile()


# Globs as directories -----------------------------------------------------------------------------------------------


def _folders(globs: tuple[str, ...] | None) -> dict[str, tuple[bool, list[str] | None]]:
    """Return the directories (relative, "" for the root itself) that can contain matches: whether deeper ones count as
    well, and the globs relative to each."""
    if globs is None:
        return {"": (True, None)}
    found: dict[str, tuple[bool, list[str] | None]] = {}
    for one in globs:
        folder, rest = _split(one)
        is_deep, only = found.get(folder, (False, []))
        found[folder] = (is_deep or "/" in rest or "**" in rest, [*(only or ()), rest])
    return found


def _split(one: str) -> tuple[str, str]:
    """Split a glob into its literal directories and the rest."""
    *folders, name = one.split("/")
    literal: list[str] = []
    for part in folders:
        plain = _QUOTED.sub("", part)
        if _WILD.search(plain):
            break
        literal.append(part)
    rest = "/".join([*folders[len(literal) :], name])
    return "/".join(_QUOTED.sub(r"\1", part) for part in literal), rest


# Exclusions ---------------------------------------------------------------------------------------------------------


_Mark = tuple[int, int, int]
"""Inode and timestamps. While they are unchanged, so are the names in a directory."""


@dataclass(frozen=True, slots=True)
class _SeenFolder:
    """The content of one directory: the number of names, the excluded ones, and the directories to survey. `mark` is
    None if it could not be read."""

    mark: _Mark | None
    names: int
    left_out: tuple[str, ...]
    folders: tuple[str, ...]


_known: dict[Hashable, _SeenFolder] = {}
"""Directories that this process has surveyed. A plan is made after each capture, and asking an adapter about every name
would take longer than the capture."""


@dataclass(frozen=True, slots=True)
class _FolderSurvey:
    """Surveys one directory of a root for what is never captured there."""

    context: Context
    adapter: Adapter
    root: CaptureRoot
    folder: str
    rules: ignore_file.IgnoreFile
    is_deep: bool = True

    def watched(self, only: list[str] | None) -> PlannedFolder:
        real = os.path.realpath(self.root.folder / self.folder)
        wanted = None if only is None else tuple(sorted(only))
        if not self.is_deep:
            return PlannedFolder(real, recursive=False, only=wanted)
        ignored, noise = sorted(self._ignored(real)), sorted(self._noise())
        return PlannedFolder(real, only=wanted, ignored=tuple(ignored), noise=tuple(noise))

    def _ignored(self, real: str) -> list[str]:
        """Return directories (with a `/`) and files, relative to the directory, breadth first."""
        found: list[str] = []
        left, waiting = MOST_ENTRIES, deque([""])
        while waiting and left > 0 and len(found) < MOST_IGNORED:
            seen = self._seen_in(real, waiting.popleft())
            left -= seen.names
            found += seen.left_out
            waiting += seen.folders
        return found[:MOST_IGNORED]

    def _seen_in(self, real: str, below: str) -> _SeenFolder:
        """Return the content of one directory, from the cache if none of its names changed."""
        path = os.path.join(real, below)
        key = (self.adapter.runtime, self.root, self.folder, self.rules, path)
        mark = self._mark(path)
        known = _known.get(key)
        if known is not None and known.mark == mark:
            return known
        seen = self._look_into(path, below, mark)
        if seen.mark is not None and seen.mark[2] < time.time_ns() - SETTLED_NS:
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            _known[key] = seen
        return seen

    def _mark(self, path: str) -> _Mark | None:
        with suppress(OSError):
            found = self.context.files.lstat(path)
            return found.st_ino, found.st_mtime_ns, found.st_ctime_ns
        return None

    def _look_into(self, path: str, below: str, mark: _Mark | None) -> _SeenFolder:
        left_out, folders, names = [], [], 0
        with suppress(OSError):
            for entry in self.context.files.scan(path):
                names += 1
                relative = below + entry.name
                is_folder = entry.is_dir(follow_symlinks=False)
                if self._is_left_out(relative, is_folder=is_folder):
                    left_out.append(relative + "/" * is_folder)
                elif is_folder:
                    folders.append(f"{relative}/")
            return _SeenFolder(mark, names, tuple(left_out), tuple(folders))
        return _SeenFolder(None, names, tuple(left_out), tuple(folders))

    def _is_left_out(self, relative: str, *, is_folder: bool) -> bool:
        name, _ = archive_names.to_archive_name(self._below_root(relative))
        if name.rpartition("/")[2].startswith(OURS) or self.rules.matches(name, is_folder=is_folder):
            return True
        if self._excludes(name, is_folder=is_folder):
            return True
        # Existing files of a directory with a cap are captured on schedule; only new ones justify an immediate scan.
        return not is_folder and any(cap.seconds for cap in self._caps(name))

    def _noise(self) -> Iterator[str]:
        """Yield names that come and go, if the adapter captures none of them."""
        for pattern in (
            *exclusion_rules.COMMON,
            *(one for cap in self._caps(self._below_root("x")) for one in cap.noise),
        ):
            if self._excludes(self._below_root(_sample(pattern)), is_folder=False):
                yield pattern

    def _excludes(self, name: str, *, is_folder: bool) -> bool:
        return self.adapter.place(self.root.prefix + name, is_folder=is_folder) is Placement.EXCLUDED

    def _caps(self, name: str) -> list[FolderCap]:
        return [cap for cap in self.root.caps if name.startswith(cap.folder)]

    def _below_root(self, relative: str) -> str:
        return f"{self.folder}/{relative}" if self.folder else relative


def _sample(pattern: str) -> str:
    """Return a name that matches a glob."""
    name = re.sub(r"\[(.)[^]]*\]", r"\1", pattern).replace("*", "x").replace("?", "x")
    return name if fnmatch.fnmatchcase(name, pattern) else ""


# Files that are read in place ---------------------------------------------------------------------------------------


def _files(found: Installation, adapter: Adapter) -> Iterator[PlannedFolder]:
    """Yield the configuration, wherever it is, and the databases with their logs, which may be all that a commit
    changes."""
    wanted: dict[str, set[str]] = {}
    if found.config is not None:
        wanted[os.path.realpath(found.config.parent)] = {glob.escape(found.config.name)}
    with suppress(*_UNKNOWABLE):
        for path in adapter.databases.files(found) if adapter.databases is not None else ():
            only = wanted.setdefault(os.path.realpath(path.parent), set())
            only |= {glob.escape(path.name) + ending for ending in ("", "-wal")}
    for folder, only in wanted.items():
        yield PlannedFolder(folder, recursive=False, only=tuple(sorted(only)))
