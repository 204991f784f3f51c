"""Read small files that a runtime keeps about itself. The agent can write these files. So the reader never relies on
them being small, finite, or regular files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from lifeboat_adapters.guarded_files import Guarded, GuardedFile

LIMIT = 16 << 20
"""Bytes. Larger configurations and job lists are refused."""


def read_small(path: Path, workspace: Guarded = None, *, limit: int = LIMIT) -> bytes:
    """Return the bytes of a regular file. A link to one is followed, but not below the guarded folders. Raises OSError,
    also for a FIFO, a device and a file larger than `limit`."""
    with os.fdopen(_opened(path, workspace), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(f"{path} is not a regular file")
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise OSError(f"{path} is larger than {_size_text(limit)}")
    return data


def _opened(path: Path, workspace: Guarded) -> int:
    if workspace is not None:
        return GuardedFile(path, workspace).open()
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags)


def entries_of(folder: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a folder by name; an empty list when it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def sort_newest_first(paths: Iterable[Path]) -> list[Path]:
    """Return files by the time of their last change. Those that do not exist any more are last."""
    return sorted(paths, key=_time_written, reverse=True)


def _time_written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _size_text(size: int) -> str:
    return f"{size >> 20} MB" if size >= 1 << 20 else f"{size >> 10} KB"
