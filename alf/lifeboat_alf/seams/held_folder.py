"""Access paths below an open directory from its descriptor, without following a link.

An agent can replace a directory of its workspace by a link at any moment, also between a check and the following
operation. So a name below a workspace is never looked up as one path: the directory above it is opened first, component
by component, and the operation runs relative to that descriptor. Linux walks the path in one call (`openat2`);
elsewhere, and where a sandbox forbids that call, each component is opened with O_NOFOLLOW.
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
# A directory is opened only to continue from it. Without such descriptors (O_PATH), the directory must be readable.
_SEARCH = _O_DIRECTORY | getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY))


class LinkInPath(OSError):
    """A link where a directory or a file was expected."""

    def __init__(self, path: StrPath) -> None:
        super().__init__(errno.ELOOP, "the path of the file contains a symbolic link", os.fspath(path))


class FolderReplaced(OSError):
    """A directory was replaced since it was listed."""

    def __init__(self, path: StrPath) -> None:
        super().__init__(errno.ESTALE, "the folder of the file was replaced after it was listed", os.fspath(path))


OpenAt2 = Callable[[int, str, int, int], int]


@functools.cache
def load_openat2() -> OpenAt2 | None:
    """Return the system call that walks a path beneath an open directory; None where the kernel or a sandbox lacks
    it."""
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
    """Open a path below a directory. Raises LinkInPath, OSError."""
    if "\0" in relative:
        raise OSError(errno.EINVAL, "a file name contains a zero byte", relative)
    call = load_openat2()
    try:
        if call is not None:
            # Without O_NOFOLLOW, to tell a link at the end from a file where a directory was expected.
            return call(folder, relative, flags & ~_O_NOFOLLOW, mode if flags & os.O_CREAT else 0)
        return _open_each(folder, relative.split("/"), flags, mode)
    except OSError as error:
        if error.errno == errno.ELOOP and not isinstance(error, LinkInPath):
            raise LinkInPath(relative) from error
        raise


def _open_each(folder: int, parts: list[str], flags: int, mode: int) -> int:
    """Open a path one component at a time."""
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
        # Systems report different errors for a link that is opened as a directory.
        if error.errno == errno.ENOTDIR and stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
            raise LinkInPath(name) from error
        raise


class HeldFolder:
    """An open directory. Everything below is reached from its descriptor, even if the directory is moved meanwhile.

    With `remembers`, every later operation checks by device and inode that a directory below is still the one that was
    listed. The descriptor is closed with the object.
    """

    def __init__(self, path: StrPath, *, remembers: bool = False) -> None:
        """Open a directory by an absolute path without links. Raises LinkInPath, OSError."""
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
        """Return a descriptor of the directory that holds a path below, which the caller closes, and the name in it.
        Raises LinkInPath, FolderExchanged, OSError."""
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
        """Return names and stats of the content of a directory below ("" for this one). Raises LinkInPath,
        FolderExchanged, OSError."""
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
    """List a directory, leaving out what vanishes meanwhile. Raises OSError."""
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
    """A path that is reached from a held directory. Messages show the whole path."""

    __slots__ = ("folder", "relative")

    def __init__(self, folder: HeldFolder, relative: str) -> None:
        """Take a relative path below the directory, "" for itself. Raises OSError for one that leaves it."""
        if relative and not {"", ".", ".."}.isdisjoint(relative.split("/")):
            raise OSError(errno.EXDEV, "the path leads outside its folder", os.path.join(folder.path, relative))
        self.folder = folder
        self.relative = relative

    def __fspath__(self) -> str:
        return os.path.join(self.folder.path, self.relative) if self.relative else self.folder.path

    __str__ = __fspath__


class DescriptorPath:
    """Arguments for a function of `os`: a name and the descriptor of its directory; None for a path that is looked up
    as a whole. Errors name the whole path."""

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
    """Call `os.open`; walk a path beneath a directory. Raises LinkInPath, FolderExchanged, OSError."""
    if not isinstance(path, PathBeneath):
        return os.open(path, flags | _O_CLOEXEC, mode)
    try:
        return path.folder.open(path.relative, flags | _O_NOFOLLOW, mode)
    except OSError as error:
        error.filename = str(path)
        raise


def make_folders(path: PathBeneath, mode: int) -> None:
    """Make a directory and its missing parents. Raises LinkInPath, OSError."""
    parts = path.relative.split("/") if path.relative else []
    for count in range(1, len(parts) + 1):
        each = PathBeneath(path.folder, "/".join(parts[:count]))
        with DescriptorPath(each) as (name, folder):
            try:
                os.mkdir(name, mode, dir_fd=folder)
            except FileExistsError:
                os.close(open_at(each, _SEARCH))


def set_mode(path: PathBeneath, mode: int) -> None:
    """Change permissions, but never those of a link's target. Raises LinkInPath, OSError."""
    with DescriptorPath(path) as (name, folder):
        try:
            os.chmod(name, mode, dir_fd=folder, follow_symlinks=False)
        except (NotImplementedError, ValueError):  # a link, or a C library without that call
            descriptor = open_at(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                os.fchmod(descriptor, mode)
            finally:
                os.close(descriptor)
