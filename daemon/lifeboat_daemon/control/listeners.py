"""Create listening sockets that are private from the first moment."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_core.errors import NotAllowed, ServiceError
from lifeboat_daemon.control.socket_address import LoopbackAddress, UnixAddress, is_unguessable

_PATIENCE = 1.0
"""Seconds to wait for an answer of a process that may already be listening."""


@dataclass(frozen=True, slots=True)
class UnixListener:
    """A bound Unix socket. `file` is the device and inode of its path, which identify it later."""

    address: UnixAddress
    socket: socket.socket
    file: tuple[int, int]

    @classmethod
    def bind(cls, address: UnixAddress, files: FileOperations) -> UnixListener:
        """Bind to the path, replacing the socket of a daemon that was killed. Raises ServiceError.ALREADY_RUNNING,
        NotAllowed or OSError. The caller holds the daemon's lock, so no other daemon can interfere between check and
        removal."""
        _clear(address.path, files)
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with _only_for_us():
                bound.bind(address.path)
            found = files.lstat(address.path)
            if stat.S_IMODE(found.st_mode) & 0o177:
                files.remove(address.path)
                raise NotAllowed(f"the file system cannot restrict {address.path} to one user")
        except BaseException:
            bound.close()
            raise
        return cls(address, bound, (found.st_dev, found.st_ino))

    def is_there(self, files: FileOperations) -> bool:
        """Return whether the path still leads to this socket."""
        try:
            found = files.lstat(self.address.path)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self.file

    def remove(self, files: FileOperations) -> None:
        """Remove the path if it belongs to this socket. Raises OSError."""
        if self.is_there(files):
            with contextlib.suppress(FileNotFoundError):
                files.remove(self.address.path)
            folder = Path(self.address.path).parent
            if is_unguessable(folder):
                with contextlib.suppress(OSError):
                    files.remove_folder(folder)


@dataclass(frozen=True, slots=True)
class LoopbackListener:
    """A bound TCP socket on 127.0.0.1, with a port that the system chose."""

    address: LoopbackAddress
    socket: socket.socket

    @classmethod
    def bind(cls) -> LoopbackListener:
        """Bind to a free port. Raises OSError."""
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)
            if exclusive is not None:  # Without this, Windows lets other processes bind the same port.
                bound.setsockopt(socket.SOL_SOCKET, exclusive, 1)
            bound.bind(("127.0.0.1", 0))
        except BaseException:
            bound.close()
            raise
        return cls(LoopbackAddress(bound.getsockname()[1], secrets.token_hex(32), secrets.token_hex(32)), bound)

    def is_there(self, files: FileOperations) -> bool:
        return True

    def remove(self, files: FileOperations) -> None:
        """Do nothing: there is no path to remove."""


Listener = UnixListener | LoopbackListener


@contextlib.contextmanager
def _only_for_us() -> Iterator[None]:
    """Create files with mode 0600 from the first moment. The umask applies to the whole process, so a file of another
    thread may get a stricter mode."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


def _clear(path: str, files: FileOperations) -> None:
    """Remove the socket of a process that has ended. Raises ServiceError.ALREADY_RUNNING, NotAllowed or OSError."""
    try:
        found = files.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise NotAllowed(f"{path} exists and is not a socket", fix=f"rm {path}")
    if _answers(path):
        raise ServiceError.ALREADY_RUNNING(f"another process already listens on {path}")
    with contextlib.suppress(FileNotFoundError):
        files.remove(path)


def _answers(path: str) -> bool:
    """Return whether a process listens on a socket, even if it is too busy to accept."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PATIENCE)
        try:
            probe.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except (TimeoutError, BlockingIOError):
            return True
    return True
