"""One daemon for one home: a lock of the kernel, which ends with the process that held it, however that ended."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from lifeboat_alf.common import times
from lifeboat_alf.seams.file_operations import SystemFiles, read_all
from lifeboat_core.agents.locks import write_holder_note
from lifeboat_core.errors import ServiceError
from lifeboat_core.home.context import Context
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.system_refusals import convert_system_error

_NAME = "daemon"
_LOOKING = 0.5
"""Seconds. Who only looks whether a daemon is there (`holder`) has the lock for a moment, too."""
_PATIENCE = 30.0
"""Seconds between two looks at who holds the lock. The lock itself is waited for in the kernel, or nearly."""


LOST = 3
"""Looks in a row at which another process has the lock, until this daemon gives way."""


class LockHolder(msgspec.Struct, frozen=True):
    """The daemon of a home. `started_at` is a timestamp."""

    pid: int
    started_at: str
    release: str


def find_lock_holder(home: Home) -> LockHolder | None:
    """Who serves a home now, None when nobody does. Says so of a daemon that is just starting or ending, too."""
    lock = _lock(home)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return _note(home) or LockHolder(0, "", "")
    except OSError:
        return None
    lock.release()
    return None


class DaemonLock:
    """The place of the one daemon, which this process has."""

    def __init__(self, context: Context, lock: FileLock, release: str) -> None:
        self._context = context
        self._locks = [lock]
        self._lost = 0
        self._here = LockHolder(os.getpid(), context.now(), release)
        self._took()

    def _took(self) -> None:
        self._file = _file(self._context.home)
        write_holder_note(self._context, _note_path(self._context.home), msgspec.json.encode(self._here))

    def is_ours(self) -> bool:
        """Whether this is still the daemon of its home; for the tick. Somebody may have removed the file of the lock:
        then it is made and taken again, unless another daemon was there before. That one serves, if it is still there
        a few looks later: who only begins holds the lock until it finds that this one answers."""
        home = self._context.home
        if _file(home) == self._file or not home.exists():  # where the home is gone, nobody else can be its daemon
            return True
        lock = _lock(self._context.home)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            self._lost += 1
            return self._lost < LOST
        except OSError:
            return True  # a full disk, or no folder: then nobody else can take it either
        self._lost = 0
        self._locks.append(lock)
        self._took()
        return True

    def leave(self) -> None:
        """Give the place to whoever comes next."""
        if _note(self._context.home) in (None, self._here):
            with contextlib.suppress(OSError):
                self._context.files.remove(_note_path(self._context.home))
        for lock in self._locks:
            lock.release()


@contextlib.contextmanager
def hold_daemon_lock(
    context: Context, release: str, *, wait: bool = False, waiting: Callable[[LockHolder], None] = lambda _: None
) -> Iterator[DaemonLock]:
    """Be the daemon of this home. With `wait`, stay until the other one ends, and call `waiting` with who that is.

    Raises ServiceError.ALREADY_RUNNING, which names the other one and since when it runs.
    """
    lock = _lock(context.home)
    _acquire(context, lock, wait, waiting)
    single = DaemonLock(context, lock, release)
    try:
        yield single
    finally:
        single.leave()


def _acquire(context: Context, lock: FileLock, wait: bool, waiting: Callable[[LockHolder], None]) -> None:
    while True:
        try:
            lock.acquire(timeout=0 if wait else _LOOKING)
            return
        except OSError as error:
            if not isinstance(error, Timeout):
                raise convert_system_error(error) from error
        other = _note(context.home) or LockHolder(0, "", "")
        if not wait:
            raise ServiceError.ALREADY_RUNNING(_sentence(context, other))
        waiting(other)
        with contextlib.suppress(Timeout):
            lock.acquire(timeout=_PATIENCE, poll_interval=0.5)
            return


def _sentence(context: Context, other: LockHolder) -> str:
    if not other.pid:
        return f"a process that is starting or ending serves {context.home.folder}"
    since = (context.clock.now() - times.parse_time(other.started_at)).total_seconds()
    return f"process {other.pid} serves {context.home.folder}, for {max(0, int(since))} seconds now"


def _lock(home: Home) -> FileLock:
    return FileLock(_lock_path(home), mode=0o600)


def _lock_path(home: Home) -> Path:
    return home.locks_folder / f"{_NAME}.lock"


def _file(home: Home) -> tuple[int, int] | None:
    """Which file the lock is on, None when there is none."""
    try:
        found = os.stat(_lock_path(home))
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _note_path(home: Home) -> Path:
    return home.locks_folder / f"{_NAME}.json"


def _note(home: Home) -> LockHolder | None:
    try:
        return msgspec.json.decode(read_all(SystemFiles(), _note_path(home)), type=LockHolder)
    except (OSError, msgspec.DecodeError):
        return None
