"""A file system that fails on request: at the nth operation of some names, or by any condition."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from lifeboat_alf.seams.file_operations import SystemFiles

WRITES = frozenset(
    (
        "make_folders",
        "write_new",
        "write_from",
        "replace",
        "make_link",
        "set_times",
        "set_mode",
        "sync_folder",
        "sync_file_system",
    )
)
READS = frozenset(("scan", "lstat", "open_regular", "read_link"))


class FailingFiles(SystemFiles):
    """Raises OSError(reason) if `refuses(name, path)` is true. `fired` counts the failures."""

    def __init__(self, reason: int, refuses: Callable[[str, str], bool] | None = None) -> None:
        self.reason = reason
        self.refuses = refuses or (lambda name, path: False)
        self.fired = 0

    def nth(self, names: frozenset[str], number: int, *, and_after: bool = False) -> None:
        """Fail the nth operation (from 1) of these names; with `and_after` also every later one."""
        seen = 0

        def refuses(name: str, path: str) -> bool:
            nonlocal seen
            if name not in names:
                return False
            seen += 1
            return seen == number or (and_after and seen > number)

        self.refuses, self.fired = refuses, 0

    def heal(self) -> None:
        self.refuses = lambda name, path: False


def _refusing(name: str) -> Callable[..., Any]:
    original = getattr(SystemFiles, name)

    def operation(self: FailingFiles, path: Any, *arguments: Any, **options: Any) -> Any:
        if self.refuses(name, os.fspath(path)):
            self.fired += 1
            raise OSError(self.reason, os.strerror(self.reason), os.fspath(path))
        return original(self, path, *arguments, **options)

    return operation


for _name in WRITES | READS:
    setattr(FailingFiles, _name, _refusing(_name))
