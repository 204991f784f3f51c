"""Records what was flushed to disk, and what had been written by then."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest


class Flushes:
    """`seen` has for each flush path and size of the file, or path and names of the folder; for each rename its
    target."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[tuple[str, Path, int | list[str]]] = []
        self._flush, self._rename = os.fsync, os.replace
        monkeypatch.setattr(os, "fsync", self._fsync)
        monkeypatch.setattr(os, "replace", self._replace)

    def _fsync(self, descriptor: int) -> None:
        self._flush(descriptor)
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            self.seen.append(("folder", path, sorted(os.listdir(path))))
        else:
            self.seen.append(("file", path, found.st_size))

    def _replace(
        self, source: str | Path, target: str | Path, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        self._rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        above = "" if dst_dir_fd is None else os.readlink(f"/proc/self/fd/{dst_dir_fd}")
        self.seen.append(("renamed", Path(above, target), 0))

    def kinds(self) -> list[str]:
        return [kind for kind, _, _ in self.seen]


@pytest.fixture
def flushes(monkeypatch: pytest.MonkeyPatch) -> Flushes:
    return Flushes(monkeypatch)
