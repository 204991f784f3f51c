"""The connection to an SFTP server: the user's own `ssh` program, and a socket to it with limits for every wait.

`ssh` reads the user's configuration, keys, agent and known hosts. Where no terminal is there it must not ask
(`BatchMode`). Options that could open other ways into this machine, or hide why ssh failed, are set here.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lifeboat_core.remotes.sftp.sftp_address import SftpAddress
from lifeboat_keys.child_processes import SocketChild, start_socket_child

CONNECTING = 40.0
"""Seconds until the server has to speak SFTP. ssh itself gives up to connect after 15 seconds."""
ASKING = 300.0
"""The same where ssh may ask the user on the terminal."""
STALLED = 120.0
"""Seconds without a byte after which a server is given up that is connected and does not answer. ssh itself notices a
dead connection after 45 seconds."""
REQUEST = 180.0
"""Seconds for one operation, unless it transfers or flushes a file."""
LISTING = 600.0
"""Seconds for all parts of a listing, which a hostile server could give without an end."""
FLUSHING = 900.0
"""Seconds until a server has written a large file to a slow disk. It answers nothing meanwhile."""
TRANSFER = 24 * 3600.0
"""Seconds for a transfer at most, see `transfer_limit`."""
_SLOWEST = 4096
"""Bytes per second."""
_ENDING = 2.0
_PIECE = 1 << 16
_OPTIONS = (
    "BatchMode=yes",
    "ClearAllForwardings=yes",
    "ConnectTimeout=15",
    "ForwardAgent=no",
    "ForwardX11=no",
    "LogLevel=INFO",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "ServerAliveCountMax=3",
    "ServerAliveInterval=15",
)


class PipeBroken(OSError):
    """The connection ended, or did not answer in time. `problem` says what happened; `errors` is what ssh printed, and
    `exit_status` how it ended, None if it was ended by this program."""

    def __init__(self, problem: str, errors: str = "", exit_status: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.errors = errors
        self.exit_status = exit_status


def transfer_limit(size: int) -> float:
    """Return the seconds that a transfer of some bytes may take altogether."""
    return min(TRANSFER, REQUEST + size / _SLOWEST)


def ssh_words(program: str, address: SftpAddress, *, may_ask: bool) -> list[str]:
    """Return the command that connects to the SFTP subsystem of a server."""
    options = [each for each in _OPTIONS if not (may_ask and each.startswith("BatchMode="))]
    return [program, *(word for each in options for word in ("-o", each)), "-s", *_named(address), "sftp"]


def _named(address: SftpAddress) -> list[str]:
    *options, host = address.ssh_words
    return [*options, "--", host]


def has_terminal() -> bool:
    """Return whether ssh could ask the user: this process has a controlling terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


class SshPipe:
    """A running `ssh`, with the interface of a socket that paramiko's `SFTPClient` uses. Raises PipeBroken."""

    def __init__(self, address: SftpAddress, environment: Mapping[str, str]) -> None:
        program = shutil.which("ssh", path=environment.get("PATH"))
        if program is None:
            raise FileNotFoundError("ssh")
        may_ask = has_terminal()
        words = ssh_words(program, address, may_ask=may_ask)
        self._child: SocketChild = start_socket_child(words, environment=environment, keeps_terminal=may_ask)
        self._broken: PipeBroken | None = None
        self._stalled = self._end = 0.0
        self._limit(ASKING if may_ask else CONNECTING, ASKING if may_ask else CONNECTING)

    @property
    def pid(self) -> int:
        return self._child.pid

    @contextmanager
    def limited(self, seconds: float | None = None, stalled: float | None = None) -> Iterator[None]:
        """Limit what is sent and received to some seconds altogether, by default `REQUEST`, and each wait to `stalled`
        seconds, by default `STALLED`. A failure of the pipe is raised at the end also if it showed only in an answer
        that could not be read."""
        limit = REQUEST if seconds is None else seconds
        self._limit(limit, min(limit, STALLED if stalled is None else stalled))
        try:
            yield
        except PipeBroken:
            raise
        except Exception:
            if self._broken is not None:
                raise self._broken from None
            raise

    def _limit(self, seconds: float, stalled: float) -> None:
        self._end, self._stalled = time.monotonic() + seconds, stalled

    def send(self, data: bytes) -> int:
        """Send some bytes, and return how many. A broken pipe takes everything: the next `recv` says why it broke, with
        what ssh printed."""
        if self._broken is not None:
            return len(data)
        try:
            return self._ready().send(data)
        except TimeoutError:
            self._break("the server did not answer in time")
        except OSError:
            self._break("the connection ended")
        return len(data)

    def recv(self, size: int) -> bytes:
        """Return at least one byte."""
        if self._broken is not None:
            raise self._broken
        try:
            data = self._ready().recv(min(size, _PIECE))
        except TimeoutError:
            raise self._break("the server did not answer in time") from None
        except OSError:
            data = b""
        if not data:
            raise self._break("the connection ended")
        return data

    def _ready(self) -> socket.socket:
        """Return the connection with the limit for its next step. A limit of 0 would mean not to wait at all."""
        self._child.connection.settimeout(max(0.001, min(self._stalled, self._end - time.monotonic())))
        return self._child.connection

    def _break(self, problem: str) -> PipeBroken:
        ended = self._child.finish(_ENDING)
        self._broken = PipeBroken(problem, ended.errors.decode("utf-8", "replace"), ended.exit_status)
        return self._broken

    def get_name(self) -> str:
        return "ssh"

    def settimeout(self, timeout: float | None) -> None:
        """Do nothing: `limited` sets the limits."""

    def close(self) -> None:
        """End ssh. It ends by itself when its input does."""
        if self._broken is None:
            self._break("the connection was closed")

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()
