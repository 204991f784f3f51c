"""Examine a folder by name, without following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lifeboat_alf.seams.file_operations import FileOperations, read_all
from lifeboat_alf.seams.files_beneath import FilesBeneath
from lifeboat_core.agents.name_conflicts import list_parents
from lifeboat_core.restore.restore_journal import SeenPath, seen_from
from lifeboat_core.restore.wanted_contents import FILE, FOLDER, LINK

OTHER = "other"
"""A FIFO, a socket or a device."""
_KINDS = {stat.S_IFREG: FILE, stat.S_IFLNK: LINK, stat.S_IFDIR: FOLDER}


@dataclass(frozen=True, slots=True)
class FoundOnDisk:
    """What is at a name. `target` is that of a link."""

    kind: str
    seen: SeenPath
    size: int = 0
    mtime_ns: int = 0
    mode: int = 0
    target: str | None = None


class FolderTree(Protocol):
    """A folder as decisions see it."""

    def find(self, name: str) -> FoundOnDisk | None: ...

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a regular file; None when they cannot be read."""
        ...

    def below(self, name: str) -> Iterator[str]:
        """Yield every file and link below a folder; for a folder that cannot be listed, its name with `/`."""
        ...


class EmptyTree:
    """A folder that is missing or empty."""

    def find(self, name: str) -> FoundOnDisk | None:
        return None

    def read(self, name: str) -> bytes | None:
        return None

    def below(self, name: str) -> Iterator[str]:
        return iter(())


class DiskTree:
    """A folder on the disk; no link in it is followed."""

    def __init__(self, files: FileOperations, folder: Path) -> None:
        self._folder = Path(os.path.realpath(folder))
        self._files = FilesBeneath(files, [self._folder])
        self._folders: dict[str, bool] = {"": True}

    def find(self, name: str) -> FoundOnDisk | None:
        """Return what is at a name; None also when a parent is not a folder, because what is behind a link is not in
        this tree."""
        if not all(self._is_folder(parent) for parent in list_parents(name)):
            return None
        return self._look(name)

    def read(self, name: str) -> bytes | None:
        try:
            return read_all(self._files, self._folder / name)
        except OSError:
            return None

    def below(self, name: str) -> Iterator[str]:
        left = [name]
        while left:
            folder = left.pop()
            try:
                entries = self._files.scan(self._folder / folder)
            except OSError:
                yield f"{folder}/"
                continue
            for entry in entries:
                inner = f"{folder}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    left.append(inner)
                else:
                    yield inner

    def _is_folder(self, name: str) -> bool:
        known = self._folders.get(name)
        if known is None:
            found = self._look(name)
            known = self._folders[name] = found is not None and found.kind == FOLDER
        return known

    def _look(self, name: str) -> FoundOnDisk | None:
        path = self._folder / name
        try:
            status = self._files.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), OTHER)
        return FoundOnDisk(
            kind,
            seen_from(status),
            status.st_size,
            status.st_mtime_ns,
            stat.S_IMODE(status.st_mode) & 0o777,
            os.fspath(self._files.read_link(path)) if kind == LINK else None,
        )
