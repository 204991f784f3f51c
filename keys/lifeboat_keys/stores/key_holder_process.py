"""The process that holds a key open (see `key_holder`). It reads everything from standard input, listens, detaches, and
ends at its time, when told to, or when its home or its socket disappears."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_keys import hardening
from lifeboat_keys.stores import socket_peer
from lifeboat_keys.stores.key_holder import read_line

_Identity = tuple[int, int, int]

_LOOK_SECONDS = 2.0
"""Seconds between checks whether there is still a reason to hold the key."""
_REQUEST_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _HoldPeriod:
    """A held key and its time limit: by the wall clock, which goes on during sleep, and by the running time, which
    cannot be set back."""

    place: Path
    place_id: _Identity
    folder: Path
    folder_id: _Identity
    until: float
    last_moment: float
    key_id: str
    secret: str = field(repr=False)

    def goes_on(self) -> bool:
        in_time = time.time() < self.until and time.monotonic() < self.last_moment
        return in_time and _folder_id(self.folder) == self.folder_id and _socket_id(self.place) == self.place_id

    def wait_seconds(self) -> float:
        return max(0.01, min(_LOOK_SECONDS, self.until - time.time(), self.last_moment - time.monotonic()))


def main() -> None:
    hardening.disable_core_dumps()
    request = json.load(sys.stdin)
    place, folder = Path(request["socket"]), Path(request["folder"])
    until = math.inf if request["until"] is None else float(request["until"])
    last_moment = time.monotonic() + until - time.time()
    is_ready = _leave()
    _end_on_signals()
    server = _listen(place)
    place_id, folder_id = _socket_id(place), _folder_id(folder)
    if place_id is None or folder_id is None:
        raise SystemExit(1)
    duty = _HoldPeriod(place, place_id, folder, folder_id, until, last_moment, request["key_id"], request["secret"])
    _serve(server, duty, is_ready)


def _listen(place: Path) -> socket.socket:
    """Open the socket. The folder is private and the caller holds the lock, so an existing file belongs to a process
    that has ended."""
    os.umask(0o177)
    with contextlib.suppress(FileNotFoundError):
        place.unlink()
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(place))
    server.listen(8)
    return server


def _leave() -> Callable[[], None]:
    """Detach from the starting process and its standard streams. The first process exits when this one calls the
    returned function, or has failed."""
    reading, writing = os.pipe()
    if os.fork():
        os.close(writing)
        os._exit(0 if os.read(reading, 1) else 1)
    os.close(reading)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.close(nothing)

    def is_ready() -> None:
        os.write(writing, b"!")
        os.close(writing)

    return is_ready


def _serve(server: socket.socket, duty: _HoldPeriod, is_ready: Callable[[], None]) -> None:
    try:
        is_ready()  # handle signals before the caller learns of this process, so that an early one ends it cleanly too
        while duty.goes_on():
            server.settimeout(duty.wait_seconds())
            with contextlib.suppress(TimeoutError):
                connection, _ = server.accept()
                with connection:
                    if _meet(connection, duty):
                        return
    except SystemExit:  # the session ends
        pass
    _clean(duty)


def _end_on_signals() -> None:
    for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(each, lambda number, frame: sys.exit())


def _meet(connection: socket.socket, duty: _HoldPeriod) -> bool:
    """Answer one connection; return whether it told the process to end. The socket is removed before the answer,
    because the caller may start a new process at once, and not touched afterwards."""
    ends = False
    with contextlib.suppress(OSError, ValueError, RecursionError):
        request = _request(connection)
        ends = request.get("do") == "lock"
        if ends:
            _clean(duty)
        answer = {} if ends else _answer(request, duty)
        connection.sendall(json.dumps(answer).encode() + b"\n")
    return ends


def _request(connection: socket.socket) -> JsonObject:
    """Read a request. Raises ValueError, and OSError for a process of another user."""
    if not socket_peer.is_same_user(connection):
        raise ValueError("another user")
    request = json.loads(read_line(connection, _REQUEST_SECONDS))
    if not isinstance(request, dict):
        raise ValueError("not a request")
    return request


def _answer(request: JsonObject, duty: _HoldPeriod) -> JsonObject:
    if request.get("key_id") != duty.key_id or not duty.goes_on():
        return {}
    return {"secret": duty.secret, "until": None if math.isinf(duty.until) else duty.until}


def _clean(duty: _HoldPeriod) -> None:
    with contextlib.suppress(OSError):
        if _socket_id(duty.place) == duty.place_id:
            duty.place.unlink()
            duty.place.parent.rmdir()


def _socket_id(place: Path) -> _Identity | None:
    """Return inode and time of the socket. Inode numbers are soon reused."""
    return _identity(place, lambda found: found.st_mtime_ns)


def _folder_id(folder: Path) -> _Identity | None:
    return _identity(folder, lambda found: 0)


def _identity(path: Path, time_of: Callable[[os.stat_result], int]) -> _Identity | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, time_of(found)


if __name__ == "__main__":
    main()
