"""Files of a runtime, reached so that an agent cannot lead a reader out of its workspace.

The agent can put a link anywhere in its workspace, and exchange a folder for one at any moment. So below a workspace no
link is followed. Elsewhere a link is the user's own arrangement, such as a database on another disk: the path is
resolved once, and what it was resolved to is walked without following a link.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from pathlib import Path

from lifeboat_alf.seams.beneath import CAN_WALK, Identity, LinkInPath
from lifeboat_alf.seams.files import NotRegular, SystemFiles
from lifeboat_alf.seams.files_beneath import FilesBeneath

_MOST_LINKS = 40
_DESCRIPTORS = ("/proc/self/fd", "/dev/fd")


def followed(path: Path, workspace: Path | None) -> Path:
    """Return the real place of a file; below the workspace, without following a link. Raises OSError."""
    root = None if workspace is None else os.path.realpath(workspace)
    left = list(Path(os.path.abspath(path)).parts[1:])
    here, links = Path(os.path.abspath(path)).anchor, 0
    while left:
        if here == root:
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


def is_in_workspace(path: Path, workspace: Path | None) -> bool:
    """Return whether a path of `followed` lies below the workspace, so that the agent can exchange it."""
    return workspace is not None and path.is_relative_to(os.path.realpath(workspace))


class HeldFile:
    """A file and what lies beside it under a longer name. `place` is its real path; the folder is held open."""

    def __init__(self, path: Path, workspace: Path | None = None) -> None:
        """Raises LinkInPath, OSError."""
        self.place = followed(path, workspace)
        self.is_in_workspace = is_in_workspace(self.place, workspace)
        root = os.path.realpath(workspace) if workspace is not None and self.is_in_workspace else self.place.parent
        self._files = FilesBeneath(SystemFiles(), [root])

    def status(self, end: str = "") -> os.stat_result:
        """Return the stat of the file whose name ends so. Raises NotRegular, LinkInPath, OSError."""
        path = f"{self.place}{end}"
        found = self._files.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            raise LinkInPath(path)
        if not stat.S_ISREG(found.st_mode):
            raise NotRegular(f"{path} is not a regular file")
        return found

    def find(self, end: str) -> os.stat_result | None:
        """As `status`, None where no such file is."""
        try:
            return self.status(end)
        except (FileNotFoundError, NotADirectoryError, NotRegular):
            return None

    def open(self, end: str = "") -> int:
        """Return a descriptor to read. Raises NotRegular, LinkInPath, OSError."""
        return self._files.open_regular(f"{self.place}{end}")


def can_hold() -> bool:
    """Return whether the system can reach a file from an open folder. Windows cannot."""
    return CAN_WALK


def identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


def open_files() -> Counter[Identity] | None:
    """Return how often this process has each file open, by device and inode; None where the system does not say."""
    for folder in _DESCRIPTORS:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        found: Counter[Identity] = Counter()
        for name in names:
            try:
                found[identity(os.fstat(int(name)))] += 1
            except OSError:  # that of the list itself
                continue
        return found
    return None
