"""A simulated agent that replaces a folder of its workspace by a link at any moment."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from support.failing_files import READS, WRITES

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
CHANGES = WRITES | {"remove", "remove_folder"}
_libc = ctypes.CDLL(None, use_errno=True)

needs_exchange = pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is a system call of Linux")


def exchange(one: Path, other: Path) -> None:
    """Exchange two names in one step. Raises OSError."""
    result = _libc.renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(one))


def everything_in(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Return names, bytes, permissions and times of a tree."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        status = path.lstat()
        body = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        found[str(path.relative_to(folder))] = (body, status.st_mode, status.st_mtime_ns, status.st_ctime_ns)
    return found


class ExchangingFiles(SystemFiles):
    """Calls `before` with the number of each operation of `counted` on a path that starts with `below`, before the
    operation."""

    def __init__(self, below: Path, counted: frozenset[str] = READS | CHANGES) -> None:
        self.below = str(below)
        self.counted = counted
        self.before: Callable[[int], None] = lambda number: None
        self.count = 0

    def heal(self) -> None:
        self.before, self.count = lambda number: None, 0


def _counted(name: str) -> Callable[..., Any]:
    original = getattr(SystemFiles, name)

    def operation(self: ExchangingFiles, path: Any, *arguments: Any, **options: Any) -> Any:
        paths = [path, *(each for each in arguments if isinstance(each, str | os.PathLike))]
        if name in self.counted and any(os.fspath(each).startswith(self.below) for each in paths):
            self.count += 1
            self.before(self.count)
        return original(self, path, *arguments, **options)

    return operation


for _name in READS | CHANGES:
    setattr(ExchangingFiles, _name, _counted(_name))
