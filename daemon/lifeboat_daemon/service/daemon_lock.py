"""One daemon per home: a kernel lock, which is released when its process ends for any reason."""

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
"""Seconds. `find_lock_holder` also takes the lock for a moment when it tests it."""
_PATIENCE = 30.0
"""Seconds between two tests of who holds the lock. The wait for the lock itself is done by the kernel where
possible."""


LOST = 3
"""Consecutive tests that find the lock in another process before this daemon gives up its place."""


class LockHolder(msgspec.Struct, frozen=True):
    """The daemon of a home. `started_at` is a timestamp."""

    pid: int
    started_at: str
    release: str


def find_lock_holder(home: Home) -> LockHolder | None:
    """Return the daemon of a home, or None. It may just be starting or ending."""
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
    """The lock, held by this process."""

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
        """Return whether this process is still the daemon of its home; called on every tick. If the lock file was
        removed, it is created and locked again, unless another daemon was faster. That daemon keeps the home if it
        still holds the lock a few tests later. A daemon that only starts holds the lock until it finds that this one
        answers."""
        home = self._context.home
        if _file(home) == self._file or not home.exists():  # If the home is gone, no other process can be its daemon.
            return True
        lock = _lock(self._context.home)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            self._lost += 1
            return self._lost < LOST
        except OSError:
            return True  # On a full disk or without the directory, no other process can take the lock either.
        self._lost = 0
        self._locks.append(lock)
        self._took()
        return True

    def leave(self) -> None:
        """Release the lock for the next daemon."""
        if _note(self._context.home) in (None, self._here):
            with contextlib.suppress(OSError):
                self._context.files.remove(_note_path(self._context.home))
        for lock in self._locks:
            lock.release()


@contextlib.contextmanager
def hold_daemon_lock(
    context: Context, release: str, *, wait: bool = False, waiting: Callable[[LockHolder], None] = lambda _: None
) -> Iterator[DaemonLock]:
    """Hold the lock as the daemon of this home. With `wait`, wait until the other daemon ends and call `waiting` with
    its description. Raises ServiceError.ALREADY_RUNNING, which names the other daemon and its start."""
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
        return f"another daemon for {context.home.folder} is starting or ending"
    since = (context.clock.now() - times.parse_time(other.started_at)).total_seconds()
    return f"process {other.pid} has been the daemon for {context.home.folder} for {max(0, int(since))} seconds"


def _lock(home: Home) -> FileLock:
    return FileLock(_lock_path(home), mode=0o600)


def _lock_path(home: Home) -> Path:
    return home.locks_folder / f"{_NAME}.lock"


def _file(home: Home) -> tuple[int, int] | None:
    """Return the identity of the lock file, or None if there is none."""
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
