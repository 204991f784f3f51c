"""Paths below an open folder, walked from its descriptor without following a link.

An agent can exchange a folder of its workspace for a link at any moment, also between a check and what follows it. So a
name below a workspace is never looked up as one path: the folder above it is opened first, component by component, and
the operation is done in that open folder. Linux does the walk in one call (`load_openat2`); everywhere else, and where
a sandbox forbids that call, each component is opened with O_NOFOLLOW.
"""

from __future__ import annotations

import errno
import functools
import os
import stat
import struct
import sys
from collections.abc import Callable
from types import TracebackType

StrPath = str | os.PathLike[str]
Identity = tuple[int, int]
"""Device and inode."""

CAN_WALK = {os.open, os.stat, os.rename, os.mkdir} <= os.supports_dir_fd
"""Whether the system has operations relative to an open folder. Windows has none."""

_OPENAT2 = 437
_AT_FDCWD = -100
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_O_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_O_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_O_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
# A folder is opened only to go on from it. Where the system has no such descriptor, the folder must be readable.
_SEARCH = _O_DIRECTORY | getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY))


class LinkInPath(OSError):
    """A link stands where a folder or a file was expected."""

    def __init__(self, path: StrPath) -> None:
        super().__init__(errno.ELOOP, "a link stands in its path", os.fspath(path))


class FolderReplaced(OSError):
    """Another folder took the place of one since it was listed."""

    def __init__(self, path: StrPath) -> None:
        super().__init__(errno.ESTALE, "its folder was exchanged since it was listed", os.fspath(path))


OpenAt2 = Callable[[int, str, int, int], int]


@functools.cache
def load_openat2() -> OpenAt2 | None:
    """The system call that walks a path beneath an open folder; None where the kernel or a sandbox does not have it."""
    if sys.platform != "linux":
        return None
    import ctypes

    system_call = ctypes.CDLL(None, use_errno=True).syscall

    def call(folder: int, path: str, flags: int, mode: int, resolve: int = _BENEATH | _NO_SYMLINKS) -> int:
        how = struct.pack("=QQQ", flags | _O_CLOEXEC, mode, resolve | _NO_MAGICLINKS)
        name, size = os.fsencode(path), ctypes.c_size_t(len(how))
        while True:
            found = system_call(ctypes.c_long(_OPENAT2), ctypes.c_int(folder), name, how, size)
            if found >= 0:
                return int(found)
            number = ctypes.get_errno()
            # EAGAIN is not tried again: a path without ".." gets it only where another process has a lease on the file
            # (fcntl F_SETLEASE), and may keep it for 45 seconds.
            if number != errno.EINTR:
                raise OSError(number, os.strerror(number), path)

    try:
        os.close(call(_AT_FDCWD, "/", _SEARCH, 0, _NO_SYMLINKS))
    except OSError:
        return None
    return call


def _open(folder: int, relative: str, flags: int, mode: int) -> int:
    """Raises LinkInPath, OSError."""
    if "\0" in relative:
        raise OSError(errno.EINVAL, "a name holds a NUL", relative)
    call = load_openat2()
    try:
        if call is not None:
            # Without O_NOFOLLOW, so that a link at the end is told from a file where a folder was expected.
            return call(folder, relative, flags & ~_O_NOFOLLOW, mode if flags & os.O_CREAT else 0)
        return _open_each(folder, relative.split("/"), flags, mode)
    except OSError as error:
        if error.errno == errno.ELOOP and not isinstance(error, LinkInPath):
            raise LinkInPath(relative) from error
        raise


def _open_each(folder: int, parts: list[str], flags: int, mode: int) -> int:
    """Open one component after the other."""
    here = folder
    try:
        for part in parts[:-1]:
            below = _open_one(here, part, _SEARCH, 0)
            if here != folder:
                os.close(here)
            here = below
        return _open_one(here, parts[-1], flags, mode)
    finally:
        if here != folder:
            os.close(here)


def _open_one(folder: int, name: str, flags: int, mode: int) -> int:
    try:
        return os.open(name, flags | _O_NOFOLLOW | _O_CLOEXEC, mode, dir_fd=folder)
    except OSError as error:
        # Systems differ in what they say of a link that was to be opened as a folder.
        if error.errno == errno.ENOTDIR and stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
            raise LinkInPath(name) from error
        raise


class HeldFolder:
    """An open folder. What lies below is reached from its descriptor, wherever the folder itself is moved meanwhile.

    With `remembers`, a folder below that was listed must be the same one, by device and inode, in every later operation
    on what lies in it. The descriptor is closed with the object.
    """

    def __init__(self, path: StrPath, *, remembers: bool = False) -> None:
        """Open a folder by an absolute path without a link in it. Raises LinkInPath, OSError."""
        self.path = os.path.normpath(path)
        self._descriptor = -1
        self._listed: dict[str, Identity] | None = {} if remembers else None
        top = os.open("/", _SEARCH | _O_CLOEXEC)
        below = self.path.strip("/")
        if not below:
            self._descriptor = top
            return
        try:
            self._descriptor = _open(top, below, _SEARCH, 0)
        except OSError as error:
            error.filename = self.path
            raise
        finally:
            os.close(top)

    def __del__(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    @property
    def status(self) -> os.stat_result:
        return os.fstat(self._descriptor)

    @property
    def identity(self) -> Identity:
        return _identity(self.status)

    def open(self, relative: str, flags: int, mode: int = 0) -> int:
        """Open a path below. Raises LinkInPath, FolderExchanged, OSError."""
        if not self._listed or not relative:
            return _open(self._descriptor, relative or ".", flags, mode)
        folder, name = self.open_parent(relative)
        try:
            return _open(folder, name, flags, mode)
        finally:
            os.close(folder)

    def open_parent(self, relative: str) -> tuple[int, str]:
        """A descriptor, for the caller to close, of the folder that holds a path below, and the name in it. Raises
        LinkInPath, FolderExchanged, OSError."""
        parent, _, name = relative.rpartition("/")
        if not parent:
            return os.dup(self._descriptor), name or "."
        descriptor = _open(self._descriptor, parent, _SEARCH, 0)
        try:
            self._check(parent, descriptor)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor, name

    def entries(self, relative: str) -> list[tuple[str, os.stat_result]]:
        """Names and stats of what lies in a folder below ("" for this one). Raises LinkInPath, FolderExchanged,
        OSError."""
        descriptor = open_at(PathBeneath(self, relative), os.O_RDONLY | _O_DIRECTORY)
        try:
            self._check(relative, descriptor)
            found = list(_entries(descriptor))
        finally:
            os.close(descriptor)
        if self._listed is not None:
            above = f"{relative}/" if relative else ""
            folders = ((name, status) for name, status in found if stat.S_ISDIR(status.st_mode))
            self._listed.update((above + name, _identity(status)) for name, status in folders)
        return found

    def _check(self, relative: str, descriptor: int) -> None:
        known = self._listed.get(relative) if self._listed else None
        if known is not None and known != _identity(os.fstat(descriptor)):
            raise FolderReplaced(os.path.join(self.path, relative))


def _entries(descriptor: int) -> list[tuple[str, os.stat_result]]:
    """What goes while the folder is listed is left out. Raises OSError."""
    found = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            try:
                found.append((entry.name, entry.stat(follow_symlinks=False)))
            except FileNotFoundError:
                continue
    return found


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


class PathBeneath:
    """A path that is reached from a held folder. For messages it is the whole path."""

    __slots__ = ("folder", "relative")

    def __init__(self, folder: HeldFolder, relative: str) -> None:
        """`relative` is a path below the folder, "" for the folder itself. Raises OSError for one that leaves it."""
        if relative and not {"", ".", ".."}.isdisjoint(relative.split("/")):
            raise OSError(errno.EXDEV, "the path does not stay below its folder", os.path.join(folder.path, relative))
        self.folder = folder
        self.relative = relative

    def __fspath__(self) -> str:
        return os.path.join(self.folder.path, self.relative) if self.relative else self.folder.path

    __str__ = __fspath__


class DescriptorPath:
    """What to give to a function of `os`: a name, and the descriptor of the folder that it lies in; None for a path
    that is looked up as a whole. An error names the whole path."""

    __slots__ = ("_descriptor", "_name", "_path")

    def __init__(self, path: StrPath) -> None:
        self._path = path
        self._name = ""
        self._descriptor: int | None = None

    def __enter__(self) -> tuple[StrPath, int | None]:
        path = self._path
        if not isinstance(path, PathBeneath):
            return path, None
        try:
            self._descriptor, self._name = path.folder.open_parent(path.relative)
        except OSError as error:
            error.filename = str(path)
            raise
        return self._name, self._descriptor

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            if isinstance(error, OSError) and error.filename == self._name:
                error.filename = str(self._path)


def open_at(path: StrPath, flags: int, mode: int = 0o777) -> int:
    """`os.open`; a path beneath a folder is walked. Raises LinkInPath, FolderExchanged, OSError."""
    if not isinstance(path, PathBeneath):
        return os.open(path, flags | _O_CLOEXEC, mode)
    try:
        return path.folder.open(path.relative, flags | _O_NOFOLLOW, mode)
    except OSError as error:
        error.filename = str(path)
        raise


def make_folders(path: PathBeneath, mode: int) -> None:
    """Make a folder and those above it that are missing. Raises LinkInPath, OSError."""
    parts = path.relative.split("/") if path.relative else []
    for count in range(1, len(parts) + 1):
        each = PathBeneath(path.folder, "/".join(parts[:count]))
        with DescriptorPath(each) as (name, folder):
            try:
                os.mkdir(name, mode, dir_fd=folder)
            except FileExistsError:
                os.close(open_at(each, _SEARCH))


def set_mode(path: PathBeneath, mode: int) -> None:
    """Change rights, never those of what a link leads to. Raises LinkInPath, OSError."""
    with DescriptorPath(path) as (name, folder):
        try:
            os.chmod(name, mode, dir_fd=folder, follow_symlinks=False)
        except (NotImplementedError, ValueError):  # a link, or a C library without that call
            descriptor = open_at(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                os.fchmod(descriptor, mode)
            finally:
                os.close(descriptor)
