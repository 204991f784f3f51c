"""What to watch of an agent, worked out by a worker from what its runtime's adapter says.

The workspace is watched with everything in it, of the runtime's own folder only what is captured, and the databases
that are read row by row. What is never captured is named, so that a log that grows every second wakes nobody.
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
"""How many names are looked at for what to ignore, the folders nearest to the root first. What is missed costs a scan
that finds nothing."""
MOST_IGNORED = 1000
SETTLED_NS = 2_000_000_000
"""So long a folder must have been left alone before its times say whether it is as it was."""
_MOST_KNOWN = 5000
_UNKNOWABLE = (AdapterError, UnparsableSecrets, sqlite3.Error, OSError)
_WILD = re.compile(r"[*?\[]")
_QUOTED = re.compile(r"\[([*?\[])\]")


def plan_watching(context: Context, agent: Agent) -> WatchPlan:
    """The folders to watch of an agent, its workspace first, whether they are there or not. Reads no file but
    `.lifeboatignore` and what the adapter reads to find the runtime; raises UnknownRuntime alone."""
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
    """The runtime as it stands or, while it cannot be found, where it was: there it comes back."""
    try:
        return adapter.locate(agent.workspace, context.environment, context.user_home)
    except (AdapterError, OSError):
        with suppress(LifeboatError, sqlite3.Error, OSError), context.vault(agent.id) as vault:
            return recall_installation(vault, agent)
    return None


def _rules(context: Context, workspace: CaptureRoot) -> ignore_file.IgnoreFile:
    """Those of `.lifeboatignore`; none while it cannot be read."""
    with suppress(OSError, OverLimit, Unstable):
        data = read_file(context.files, workspace.folder / ignore_file.FILE_NAME, ignore_file.LARGEST).data
        if data.count(b"\n") <= ignore_file.MOST_LINES:
            return ignore_file.parse_ignore_file(data.decode("utf-8", "replace"))
    return ignore_file.IgnoreFile()


# Globs as folders ---------------------------------------------------------------------------------------------------


def _folders(globs: tuple[str, ...] | None) -> dict[str, tuple[bool, list[str] | None]]:
    """The folders (relative, "" for the root itself) in which something can fit: whether deeper ones count as well, and
    the globs as seen from there."""
    if globs is None:
        return {"": (True, None)}
    found: dict[str, tuple[bool, list[str] | None]] = {}
    for one in globs:
        folder, rest = _split(one)
        is_deep, only = found.get(folder, (False, []))
        found[folder] = (is_deep or "/" in rest or "**" in rest, [*(only or ()), rest])
    return found


def _split(one: str) -> tuple[str, str]:
    """The literal folders of a glob, and what is left of it."""
    *folders, name = one.split("/")
    literal: list[str] = []
    for part in folders:
        plain = _QUOTED.sub("", part)
        if _WILD.search(plain):
            break
        literal.append(part)
    rest = "/".join([*folders[len(literal) :], name])
    return "/".join(_QUOTED.sub(r"\1", part) for part in literal), rest


# What to ignore -----------------------------------------------------------------------------------------------------


_Mark = tuple[int, int, int]
"""Inode and times: while they stay, so do the names in a folder."""


@dataclass(frozen=True, slots=True)
class _SeenFolder:
    """What was seen in one folder: how many names, those that are left out, the folders that are looked into. `mark` is
    None where it could not be read."""

    mark: _Mark | None
    names: int
    left_out: tuple[str, ...]
    folders: tuple[str, ...]


_known: dict[Hashable, _SeenFolder] = {}
"""Folders that this process has looked into. A plan is made after each capture, and asking an adapter about every name
would take longer than the capture."""


@dataclass(frozen=True, slots=True)
class _FolderSurvey:
    """A short look into one folder of a root, for what is never captured there."""

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
        """Folders (with a `/`) and files, relative to the folder, breadth first."""
        found: list[str] = []
        left, waiting = MOST_ENTRIES, deque([""])
        while waiting and left > 0 and len(found) < MOST_IGNORED:
            seen = self._seen_in(real, waiting.popleft())
            left -= seen.names
            found += seen.left_out
            waiting += seen.folders
        return found[:MOST_IGNORED]

    def _seen_in(self, real: str, below: str) -> _SeenFolder:
        """What there is in one folder, as it was seen before where no name in it came or went since."""
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
        # What is there of a folder with a cap is taken on schedule; only what is new is worth a look at once.
        return not is_folder and any(cap.seconds for cap in self._caps(name))

    def _noise(self) -> Iterator[str]:
        """Names that come and go, where the adapter says that it keeps none of them."""
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
    """A name that fits a glob."""
    name = re.sub(r"\[(.)[^]]*\]", r"\1", pattern).replace("*", "x").replace("?", "x")
    return name if fnmatch.fnmatchcase(name, pattern) else ""


# Files that are read where they stand -------------------------------------------------------------------------------


def _files(found: Installation, adapter: Adapter) -> Iterator[PlannedFolder]:
    """The configuration, wherever it lies, and the databases, each with the log that a commit may write alone."""
    wanted: dict[str, set[str]] = {}
    if found.config is not None:
        wanted[os.path.realpath(found.config.parent)] = {glob.escape(found.config.name)}
    with suppress(*_UNKNOWABLE):
        for path in adapter.databases.files(found) if adapter.databases is not None else ():
            only = wanted.setdefault(os.path.realpath(path.parent), set())
            only |= {glob.escape(path.name) + ending for ending in ("", "-wal")}
    for folder, only in wanted.items():
        yield PlannedFolder(folder, recursive=False, only=tuple(sorted(only)))
