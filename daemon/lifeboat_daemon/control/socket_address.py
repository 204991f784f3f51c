"""Choose, record and find the address of the control socket.

The socket is `run/control.sock` in the home. If that is impossible (the path is too long for a socket, or the system
has no Unix sockets), `run/control.json` names the address. A client therefore needs the home only, not the environment
that the daemon was started in.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_alf.seams.file_operations import FileOperations, NotRegular, read_all, write_atomic
from lifeboat_core.errors import NotAllowed, NotRunning, ServiceError

if TYPE_CHECKING:
    from lifeboat_core.home.lifeboat_home import Home

SOCKET = "control.sock"
NOTE = "control.json"
LONGEST = 100
"""Bytes of a socket path. Systems allow 104 (macOS) or 108, including the final zero."""
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UnixAddress(msgspec.Struct, frozen=True, tag="unix", tag_field="transport"):
    """The address of a Unix socket."""

    path: str

    def __str__(self) -> str:
        return self.path


class LoopbackAddress(msgspec.Struct, frozen=True, tag="loopback", tag_field="transport"):
    """A TCP address on 127.0.0.1, which every user of the machine can reach. `token` (64 hexadecimal digits) proves to
    the daemon that the client may read the note. `reply` (same length) proves the same of the daemon to the client,
    because another program may have taken the port of a daemon that was killed."""

    port: int
    token: str
    reply: str

    def __str__(self) -> str:
        return f"127.0.0.1:{self.port}"

    def is_token(self, given: object) -> bool:
        """Compare in constant time."""
        return isinstance(given, str) and hmac.compare_digest(self.token.encode(), given.encode(errors="replace"))

    def is_reply(self, given: object) -> bool:
        return isinstance(given, str) and hmac.compare_digest(self.reply.encode(), given.encode(errors="replace"))


Address = UnixAddress | LoopbackAddress


def choose_address(home: Home, files: FileOperations, environment: Mapping[str, str]) -> UnixAddress:
    """Return the path of the Unix socket for the daemon of this home. Its directory exists and is private. Raises
    NotAllowed, ServiceError or OSError."""
    make_private_folder(home.run_folder, files)
    path = home.run_folder / SOCKET
    if _fits(path):
        return UnixAddress(str(path))
    name = f"{home.read_id(files)}.sock"
    for folder in _short_folders(environment):
        if _fits(folder / name) and _can_be_private(folder, files):
            return UnixAddress(str(folder / name))
    for base in _temporary_folders(environment):
        if _fits(Path(base, f"{_unguessable_prefix()}12345678", name)):
            with contextlib.suppress(OSError):
                return UnixAddress(str(Path(tempfile.mkdtemp(prefix=_unguessable_prefix(), dir=base), name)))
    raise ServiceError(
        f"the path {home.run_folder} is too long for a socket, and Lifeboat found no temporary folder to use instead",
        fix="set XDG_RUNTIME_DIR to a private folder with a short path",
    )


def _short_folders(environment: Mapping[str, str]) -> list[Path]:
    """Return the temporary directories of this user, in order of preference. Another user may have created one of them
    first."""
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    folders = [Path(base, f"lifeboat-{os.geteuid()}") for base in _temporary_folders(environment)]
    return [Path(runtime, "lifeboat"), *folders] if _is_own(runtime) else folders


def _temporary_folders(environment: Mapping[str, str]) -> list[str]:
    return [base for base in (environment.get("TMPDIR", ""), tempfile.gettempdir(), "/tmp") if _is_folder(base)]


def _unguessable_prefix() -> str:
    """Return the name prefix of the directory that replaces one which another user created first. `mkdtemp` adds eight
    random characters, so that this one cannot be created first as well."""
    return f"lifeboat-{os.geteuid()}-"


def is_unguessable(folder: Path) -> bool:
    """Return whether `choose_address` created a directory with a random name. It contains one socket and is removed
    with it."""
    return folder.name.startswith(_unguessable_prefix())


def _can_be_private(folder: Path, files: FileOperations) -> bool:
    """Make a directory private. Return False if another user created it first."""
    try:
        make_private_folder(folder, files)
    except (NotAllowed, OSError):
        return False
    return True


def _is_folder(path: str) -> bool:
    return os.path.isabs(path) and os.path.isdir(path)


def _is_own(path: str) -> bool:
    """Return False for a variable that was inherited from another user's session (`sudo -E`)."""
    if not _is_folder(path):
        return False
    found = os.stat(path)
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= LONGEST


def make_private_folder(folder: Path, files: FileOperations) -> None:
    """Create a directory that only this user can use, or check an existing one. Raises NotAllowed or OSError."""
    files.make_folders(folder, 0o700)
    check_private_folder(folder, files)
    if os.name == "posix" and stat.S_IMODE(files.lstat(folder).st_mode) != 0o700:
        files.set_mode(folder, 0o700)


def check_private_folder(folder: Path, files: FileOperations) -> None:
    """Check that a directory belongs to this user and that no other user can write into it. Raises NotAllowed or
    OSError."""
    found = files.lstat(folder)
    if not stat.S_ISDIR(found.st_mode):
        raise NotAllowed(f"{folder} is a link or not a folder; remove it and start the daemon again")
    if os.name != "posix":
        return
    if found.st_uid != os.geteuid():
        raise NotAllowed(f"{folder} belongs to another user")
    if found.st_mode & _OTHERS_WRITE:
        raise NotAllowed(f"other users can write to {folder}", fix=f"chmod 700 {folder}")


def write_address_note(home: Home, files: FileOperations, address: Address) -> None:
    """Record the address in the home unless it is the usual one. Raises NotAllowed or OSError."""
    if address == _usual(home):
        remove_address_note(home, files)
        return
    make_private_folder(home.run_folder, files)
    write_atomic(files, home.run_folder / NOTE, msgspec.json.encode(address), mode=0o600)


def is_address_noted(home: Home, files: FileOperations, address: Address) -> bool:
    """Return whether clients find an address: it is the usual one, or it is recorded."""
    if address == _usual(home):
        return True
    try:
        files.lstat(home.run_folder / NOTE)
    except OSError:
        return False
    return True


def remove_address_note(home: Home, files: FileOperations) -> None:
    """Remove the recorded address. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        files.remove(home.run_folder / NOTE)


def find_address(home: Home, files: FileOperations) -> Address:
    """Return the address of the daemon of a home. Raises NotRunning, NotAllowed."""
    try:
        check_private_folder(home.run_folder, files)
        address = _noted(home, files) or _usual(home)
        if isinstance(address, UnixAddress):
            check_private_folder(Path(address.path).parent, files)
    except (FileNotFoundError, NotADirectoryError):
        raise NotRunning(f"no daemon runs for the home {home.folder}") from None
    except PermissionError as error:
        raise NotAllowed(f"{home.folder}: {error.strerror}") from error
    except OSError as error:
        raise ServiceError(f"{home.run_folder}: {refusal_reason(error)}", fix="lifeboat doctor") from error
    if isinstance(address, UnixAddress) and not _fits(Path(address.path)):
        raise NotRunning(f"no daemon runs for the home {home.folder}")
    return address


def _usual(home: Home) -> UnixAddress:
    return UnixAddress(str(home.run_folder / SOCKET))


def _noted(home: Home, files: FileOperations) -> Address | None:
    path = home.run_folder / NOTE
    try:
        address: Address = msgspec.json.decode(read_all(files, path), type=Address)
    except FileNotFoundError:
        return None
    except NotRegular as error:
        raise NotAllowed(str(error)) from error
    except msgspec.DecodeError as error:
        raise ServiceError(f"{path} cannot be read: {error}", fix="lifeboat daemon restart") from error
    if isinstance(address, UnixAddress) and not os.path.isabs(address.path):
        raise ServiceError(f"{path} does not contain an absolute path", fix="lifeboat daemon restart")
    return address
