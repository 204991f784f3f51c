"""Route every important read and write of the product through `FileOperations`.

Tests inject faults (no space, I/O errors, power cuts) by passing another implementation.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

from lifeboat_alf.seams import held_folder
from lifeboat_alf.seams.held_folder import DescriptorPath, PathBeneath, StrPath, open_at

__all__ = [
    "FileOperations",
    "FolderEntry",
    "NotRegular",
    "StrPath",
    "SystemFiles",
    "flush_to_disk",
    "read_all",
    "write_atomic",
]

_PIECE = 1 << 20


class FolderEntry(Protocol):
    """An entry of a directory, with the interface of `os.DirEntry`."""

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...

    def __fspath__(self) -> str: ...

    def is_dir(self, *, follow_symlinks: bool = True) -> bool: ...

    def is_file(self, *, follow_symlinks: bool = True) -> bool: ...

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result: ...


class ListedEntry:
    """An entry of a directory below a held one. Its stat was taken during listing; links in it are never followed."""

    __slots__ = ("_status", "name", "path")

    def __init__(self, name: str, path: str, status: os.stat_result) -> None:
        self.name = name
        self.path = path
        self._status = status

    def __fspath__(self) -> str:
        return self.path

    def is_dir(self, *, follow_symlinks: bool = False) -> bool:
        return stat.S_ISDIR(self._status.st_mode)

    def is_file(self, *, follow_symlinks: bool = False) -> bool:
        return stat.S_ISREG(self._status.st_mode)

    def stat(self, *, follow_symlinks: bool = False) -> os.stat_result:
        return self._status


class FileOperations(Protocol):
    """File operations of the product. Paths are absolute. A `PathBeneath` is walked from its held directory without
    following links. Every method raises OSError."""

    def scan(self, folder: StrPath) -> Sequence[FolderEntry]: ...

    def lstat(self, path: StrPath) -> os.stat_result: ...

    def open_regular(self, path: StrPath) -> int: ...

    def read_link(self, path: StrPath) -> str: ...

    def make_folders(self, path: StrPath, mode: int = 0o777) -> None:
        """Make a directory and its missing parents, all with the same permissions. An existing one is left as it is."""
        ...

    def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None: ...

    def write_from(self, path: StrPath, source: BinaryIO, *, mode: int = 0o666) -> None: ...

    def replace(self, source: StrPath, target: StrPath) -> None: ...

    def make_link(self, target: str, path: StrPath) -> None: ...

    def set_times(self, path: StrPath, mtime_ns: int) -> None: ...

    def set_mode(self, path: StrPath, mode: int) -> None: ...

    def remove(self, path: StrPath) -> None: ...

    def remove_folder(self, path: StrPath) -> None: ...

    def sync_folder(self, path: StrPath) -> None: ...

    def sync_file_system(self, path: StrPath) -> None: ...

    def free_space(self, folder: StrPath) -> int: ...


class NotRegular(OSError):
    """A FIFO, device, socket or link where a regular file was expected."""


def _make_folders(path: str, mode: int) -> None:
    """Make directories with the given mode. `os.makedirs` leaves the parents to the umask."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent:
        _make_folders(parent, mode)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


class SystemFiles:
    """The real file system."""

    def scan(self, folder: StrPath) -> Sequence[FolderEntry]:
        if isinstance(folder, PathBeneath):
            above = os.path.join(folder, "")
            found = folder.folder.entries(folder.relative)
            return [ListedEntry(name, above + name, status) for name, status in found]
        with os.scandir(folder) as entries:
            return list(entries)

    def lstat(self, path: StrPath) -> os.stat_result:
        with DescriptorPath(path) as (name, folder):
            return os.lstat(name, dir_fd=folder)

    def open_regular(self, path: StrPath) -> int:
        """Open a regular file without following a link or waiting for a FIFO's writer."""
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = open_at(path, flags | getattr(os, "O_BINARY", 0))
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise NotRegular(f"{os.fspath(path)} is not a regular file")
        return descriptor

    def read_link(self, path: StrPath) -> str:
        with DescriptorPath(path) as (name, folder):
            return os.readlink(name, dir_fd=folder)

    def make_folders(self, path: StrPath, mode: int = 0o777) -> None:
        if isinstance(path, PathBeneath):
            held_folder.make_folders(path, mode)
        else:
            _make_folders(os.fspath(path), mode)

    def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
        """Create a file that must not exist yet."""
        self._write(path, (data,), mode, sync=sync)

    def write_from(self, path: StrPath, source: BinaryIO, *, mode: int = 0o666) -> None:
        """Create a file from a stream, read from its current position to its end, in pieces."""
        self._write(path, iter(functools.partial(source.read, _PIECE), b""), mode, sync=True)

    def _write(self, path: StrPath, pieces: Iterable[bytes], mode: int, *, sync: bool) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        descriptor = open_at(path, flags, mode)
        try:
            for piece in pieces:
                view = memoryview(piece)
                while view:
                    view = view[os.write(descriptor, view) :]
            if sync:
                flush_to_disk(descriptor)
        finally:
            os.close(descriptor)

    def replace(self, source: StrPath, target: StrPath) -> None:
        with DescriptorPath(source) as (old, from_folder), DescriptorPath(target) as (new, to_folder):
            os.replace(old, new, src_dir_fd=from_folder, dst_dir_fd=to_folder)

    def make_link(self, target: str, path: StrPath) -> None:
        with DescriptorPath(path) as (name, folder):
            os.symlink(target, name, dir_fd=folder)

    def set_times(self, path: StrPath, mtime_ns: int) -> None:
        with DescriptorPath(path) as (name, folder):
            follows = os.utime not in os.supports_follow_symlinks
            os.utime(name, ns=(mtime_ns, mtime_ns), dir_fd=folder, follow_symlinks=follows)

    def set_mode(self, path: StrPath, mode: int) -> None:
        if isinstance(path, PathBeneath):
            held_folder.set_mode(path, mode)
        else:
            os.chmod(path, mode)

    def remove(self, path: StrPath) -> None:
        with DescriptorPath(path) as (name, folder):
            os.unlink(name, dir_fd=folder)

    def remove_folder(self, path: StrPath) -> None:
        with DescriptorPath(path) as (name, folder):
            os.rmdir(name, dir_fd=folder)

    def sync_folder(self, path: StrPath) -> None:
        """Make renames in a folder durable. Windows has no such call and needs none."""
        if os.name == "nt":
            return
        descriptor = open_at(path, os.O_RDONLY)
        try:
            flush_to_disk(descriptor)
        finally:
            os.close(descriptor)

    def sync_file_system(self, path: StrPath) -> None:
        """Flush everything written to the file system that holds `path`."""
        syncfs = _syncfs()
        if syncfs is None:
            os.sync()
            return
        descriptor = open_at(path, os.O_RDONLY)
        try:
            syncfs(descriptor)
        finally:
            os.close(descriptor)

    def free_space(self, folder: StrPath) -> int:
        """Return the free bytes of the file system that holds `folder`."""
        return shutil.disk_usage(folder).free


@functools.cache
def _syncfs() -> Callable[[int], None] | None:
    """Return Linux's syncfs, which flushes one file system and reports failure. `os.sync` flushes all and reports
    nothing."""
    import ctypes

    function = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None) if sys.platform == "linux" else None
    if function is None:
        return None

    def sync(descriptor: int) -> None:
        if function(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    return sync


def flush_to_disk(descriptor: int) -> None:
    """Flush a file or directory to the disk: fsync, or F_FULLFSYNC on macOS, where fsync does not. Raises OSError."""
    try:
        import fcntl
    except ImportError:
        os.fsync(descriptor)
        return
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, full)


TEMPORARY = ".tmp"
"""Suffix of the temporary files of `write_atomic`. Their names begin with a dot."""


def write_atomic(
    files: FileOperations,
    path: Path,
    data: bytes,
    *,
    mode: int = 0o600,
    mtime_ns: int | None = None,
    check: Callable[[], None] | None = None,
) -> None:
    """Replace a whole file durably: after a power cut it holds either the old or the new bytes. `mtime_ns` is the time
    of the new file (default: now). `check` is called right before the old file is replaced and may raise an exception:
    writing and flushing the new one takes long enough for another program to change the old one."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}{TEMPORARY}")
    try:
        files.write_new(temporary, data, mode=mode)
        if mtime_ns is not None:
            files.set_times(temporary, mtime_ns)
        if check is not None:
            check()
        files.replace(temporary, path)
    except Exception:
        with contextlib.suppress(OSError):
            files.remove(temporary)
        raise
    files.sync_folder(path.parent)


def read_all(files: FileOperations, path: StrPath) -> bytes:
    """Return the bytes of a regular file."""
    descriptor = files.open_regular(path)
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read()
