"""File operations that follow no link below given directories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import BinaryIO

from lifeboat_alf.seams.file_operations import FileOperations, FolderEntry
from lifeboat_alf.seams.held_folder import CAN_WALK, HeldFolder, PathBeneath, StrPath


class FilesBeneath:
    """File operations that walk paths in `folders` from those directories, which are held open from first use; other
    paths are passed on unchanged.

    `folders` are absolute and contain no link. A missing one is looked up from the next outer one. Give "/" as one of
    the folders to follow no link in any path. For `remembers` see `HeldFolder`.
    """

    def __init__(self, files: FileOperations, folders: Iterable[StrPath], *, remembers: bool = False) -> None:
        self._files = files
        self._remembers = remembers
        names = {_with_slash(folder) for folder in folders} if CAN_WALK else set()
        self._folders = sorted(names, key=len, reverse=True)
        self._held: dict[str, HeldFolder] = {}

    def hold(self, folder: StrPath) -> HeldFolder:
        """Open one of `folders`, or return the one already opened. Raises LinkInPath, OSError."""
        name = _with_slash(folder)
        held = self._held.get(name)
        if held is None:
            held = self._held[name] = HeldFolder(name, remembers=self._remembers)
        return held

    def status_of(self, folder: StrPath) -> os.stat_result:
        """Return the stat of one of `folders` as it is held. Raises LinkInPath, OSError."""
        return self.hold(folder).status if CAN_WALK else os.stat(folder)

    def scan(self, folder: StrPath) -> Sequence[FolderEntry]:
        return self._files.scan(self._in(folder))

    def lstat(self, path: StrPath) -> os.stat_result:
        return self._files.lstat(self._in(path))

    def open_regular(self, path: StrPath) -> int:
        return self._files.open_regular(self._in(path))

    def read_link(self, path: StrPath) -> str:
        return self._files.read_link(self._below(path))

    def make_folders(self, path: StrPath, mode: int = 0o777) -> None:
        self._files.make_folders(self._in(path), mode)

    def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
        self._files.write_new(self._below(path), data, mode=mode, sync=sync)

    def write_from(self, path: StrPath, source: BinaryIO, *, mode: int = 0o666) -> None:
        self._files.write_from(self._below(path), source, mode=mode)

    def replace(self, source: StrPath, target: StrPath) -> None:
        self._files.replace(self._below(source), self._below(target))
        self._release(source)
        self._release(target)

    def make_link(self, target: str, path: StrPath) -> None:
        self._files.make_link(target, self._below(path))

    def set_times(self, path: StrPath, mtime_ns: int) -> None:
        self._files.set_times(self._in(path), mtime_ns)

    def set_mode(self, path: StrPath, mode: int) -> None:
        self._files.set_mode(self._in(path), mode)

    def remove(self, path: StrPath) -> None:
        self._files.remove(self._below(path))

    def remove_folder(self, path: StrPath) -> None:
        self._files.remove_folder(self._below(path))
        self._release(path)

    def sync_folder(self, path: StrPath) -> None:
        self._files.sync_folder(self._in(path))

    def sync_file_system(self, path: StrPath) -> None:
        self._files.sync_file_system(self._in(path))

    def free_space(self, folder: StrPath) -> int:
        return self._files.free_space(folder)

    def _below(self, path: StrPath) -> StrPath:
        """Return a path whose last component is looked up in its parent, for operations on that name."""
        text = os.fspath(path)
        above = [folder for folder in self._folders if text.startswith(folder) and text != folder]
        return self._walked(path, text, above)

    def _in(self, path: StrPath) -> StrPath:
        """Return a path that may be a held directory itself, which is used as it was opened."""
        name = _with_slash(path)
        return self._walked(path, name, [folder for folder in self._folders if name.startswith(folder)])

    def _walked(self, path: StrPath, text: str, folders: list[str]) -> StrPath:
        if isinstance(path, PathBeneath):
            return path
        for number, folder in enumerate(folders, 1):
            try:
                return PathBeneath(self.hold(folder), text[len(folder) :].rstrip("/"))
            except FileNotFoundError:
                if number == len(folders):
                    raise
        return path

    def _release(self, path: StrPath) -> None:
        """Forget held directories at a path, because another directory may get this name."""
        name = _with_slash(path)
        for held in [folder for folder in self._held if folder.startswith(name)]:
            del self._held[held]


def _with_slash(path: StrPath) -> str:
    return os.path.join(os.fspath(path), "")
