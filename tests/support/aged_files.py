"""Give prepared files the age that the files of a real agent have.

A capture reads a file again while its modification time is as young as the last capture, because a second change within
one tick of the file system would not show. In a test every prepared file is that young, and so every capture of the
test would read the whole workspace.
"""

from __future__ import annotations

import os
from pathlib import Path

HOUR_NS = 3_600_000_000_000


def age_files(folder: Path, by_ns: int = HOUR_NS) -> None:
    """Move the modification time of every file below `folder` into the past, the order of the files kept."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            found = os.lstat(path)
            os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns - by_ns), follow_symlinks=False)
