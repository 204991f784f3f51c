"""Open files of a runtime so that an agent cannot lead the reader out of its workspace.

The agent can put a link anywhere in its workspace, and replace a folder by a link at any time. So no link is followed
below a workspace or below the runtime's own folder. A link elsewhere was made by the user, for example to keep a
runtime's folder on another disk. Such a path is resolved once, and the result is walked without following links.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from lifeboat_alf.seams.file_operations import NotRegular, SystemFiles
from lifeboat_alf.seams.files_beneath import FilesBeneath
from lifeboat_alf.seams.held_folder import CAN_WALK, Identity, LinkInPath

_MOST_LINKS = 40
_DESCRIPTORS = ("/proc/self/fd", "/dev/fd")


class GuardedFolders(NamedTuple):
    """The folders of one agent below which no link is followed: its workspace and the runtime's own folder."""

    workspace: Path
    runtime: Path | None = None


Guarded = Path | GuardedFolders | None
"""What a caller knows of these folders. A single path is the workspace."""


def _workspace_of(guarded: Guarded) -> Path | None:
    return guarded.workspace if isinstance(guarded, GuardedFolders) else guarded


def _roots(path: Path, guarded: Guarded) -> list[str]:
    """Return the real folders below which no link in a path is followed. A workspace within the runtime's folder may be
    reached through a link of the user."""
    workspace = _workspace_of(guarded)
    if workspace is None:
        return []
    runtime = guarded.runtime if isinstance(guarded, GuardedFolders) else None
    is_of_runtime = runtime is not None and not Path(os.path.abspath(path)).is_relative_to(os.path.abspath(workspace))
    return [os.path.realpath(folder) for folder in (workspace, *([runtime] if is_of_runtime and runtime else []))]


def resolve_guarded(path: Path, guarded: Guarded) -> Path:
    """Return the real path of a file. Below the guarded folders no link is followed. Raises OSError."""
    roots = _roots(path, guarded)
    left = list(Path(os.path.abspath(path)).parts[1:])
    here, links = Path(os.path.abspath(path)).anchor, 0
    while left:
        if here in roots:
            return Path(here, *left)
        part = left.pop(0)
        below = os.path.normpath(os.path.join(here, part))
        if not os.path.islink(below):
            here = below
            continue
        links += 1
        if links > _MOST_LINKS:
            raise LinkInPath(path)
        target = Path(os.readlink(below))
        here = target.anchor if target.is_absolute() else here
        left = [*(target.parts[1:] if target.is_absolute() else target.parts), *left]
    return Path(here)


def _root_above(path: Path, roots: list[str]) -> str | None:
    """Return the innermost of some real folders that contains a path."""
    return max((root for root in roots if path.is_relative_to(root)), key=len, default=None)


class GuardedFile:
    """A file and the files beside it that share its name and have a suffix. `place` is its real path; its folder is
    held open."""

    def __init__(self, path: Path, guarded: Guarded = None) -> None:
        """Open the folder of the file. Raises LinkInPath, OSError."""
        self.place = resolve_guarded(path, guarded)
        workspace = _workspace_of(guarded)
        self.is_in_workspace = workspace is not None and self.place.is_relative_to(os.path.realpath(workspace))
        root = _root_above(self.place, _roots(path, guarded))
        self._files = FilesBeneath(SystemFiles(), [root or self.place.parent])

    def status(self, end: str = "") -> os.stat_result:
        """Return the stat of the file with this suffix. Raises NotRegular, LinkInPath, OSError."""
        path = f"{self.place}{end}"
        found = self._files.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            raise LinkInPath(path)
        if not stat.S_ISREG(found.st_mode):
            raise NotRegular(f"{path} is not a regular file")
        return found

    def find(self, end: str) -> os.stat_result | None:
        """Return the stat as `status` does, None when there is no such file."""
        try:
            return self.status(end)
        except (FileNotFoundError, NotADirectoryError, NotRegular):
            return None

    def open(self, end: str = "") -> int:
        """Return a descriptor for reading. Raises NotRegular, LinkInPath, OSError."""
        return self._files.open_regular(f"{self.place}{end}")


def can_hold() -> bool:
    """Return whether the system can open a file relative to an open folder. Windows cannot."""
    return CAN_WALK


def file_identity(found: os.stat_result) -> Identity:
    """Return the device and inode of a stat result."""
    return found.st_dev, found.st_ino


def count_open_files() -> Counter[Identity] | None:
    """Count how often this process has each file open, by device and inode. Return None where the system
    does not tell."""
    for folder in _DESCRIPTORS:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        found: Counter[Identity] = Counter()
        for name in names:
            try:
                found[file_identity(os.fstat(int(name)))] += 1
            except OSError:  # the descriptor of the listing itself is closed by now
                continue
        return found
    return None
