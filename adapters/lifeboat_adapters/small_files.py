"""Reading what a runtime keeps about itself. The agent can write these files, so they are never trusted to be small,
to end, or to be files at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from lifeboat_adapters.guarded_files import Guarded, GuardedFile

LIMIT = 16 << 20
"""Bytes. A larger configuration or list of jobs is none."""


def read_small(path: Path, workspace: Guarded = None, *, limit: int = LIMIT) -> bytes:
    """The bytes of a regular file (or of one that a link leads to, but for a link below the guarded folders). Raises
    OSError also for a FIFO, a device and a file larger than `limit`."""
    with os.fdopen(_opened(path, workspace), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(f"{path} is not a regular file")
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise OSError(f"{path} is larger than {limit >> 20} MB")
    return data


def _opened(path: Path, workspace: Guarded) -> int:
    if workspace is not None:
        return GuardedFile(path, workspace).open()
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags)


def entries_of(folder: Path) -> list[os.DirEntry[str]]:
    """What lies in a folder, by name; nothing where it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
