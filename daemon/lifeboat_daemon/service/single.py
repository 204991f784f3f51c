"""One daemon for one home: a lock of the kernel, which ends with the process that held it, however that ended."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from lifeboat_alf import times
from lifeboat_alf.seams.files import read_all
from lifeboat_daemon.context import Context
from lifeboat_daemon.errors import AlreadyRunning, of_system
from lifeboat_daemon.home import Home

_NAME = "daemon"
_LOOKING = 0.5
"""Seconds. Who only looks whether a daemon is there (`holder`) has the lock for a moment, too."""
_PATIENCE = 30.0
"""Seconds between two looks at who holds the lock. The lock itself is waited for in the kernel, or nearly."""


class Holder(msgspec.Struct, frozen=True):
    """The daemon of a home. `started_at` is a timestamp."""

    pid: int
    started_at: str
    release: str


def holder(home: Home) -> Holder | None:
    """Who serves a home now, None when nobody does. Says so of a daemon that is just starting or ending, too."""
    lock = _lock(home)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return _note(home) or Holder(0, "", "")
    except OSError:
        return None
    lock.release()
    return None


@contextlib.contextmanager
def service_lock(
    context: Context, release: str, *, wait: bool = False, waiting: Callable[[Holder], None] = lambda _: None
) -> Iterator[None]:
    """Be the daemon of this home. With `wait`, stay until the other one ends, and call `waiting` with who that is.

    Raises AlreadyRunning, which names the other one and since when it runs.
    """
    lock = _lock(context.home)
    _acquire(context, lock, wait, waiting)
    try:
        _write_note(context, Holder(os.getpid(), context.now(), release))
        yield
    finally:
        with contextlib.suppress(OSError):
            context.files.remove(_note_path(context.home))
        lock.release()


def _acquire(context: Context, lock: FileLock, wait: bool, waiting: Callable[[Holder], None]) -> None:
    while True:
        try:
            lock.acquire(timeout=0 if wait else _LOOKING)
            return
        except OSError as error:
            if not isinstance(error, Timeout):
                raise of_system(error) from error
        other = _note(context.home) or Holder(0, "", "")
        if not wait:
            raise AlreadyRunning(_sentence(context, other))
        waiting(other)
        with contextlib.suppress(Timeout):
            lock.acquire(timeout=_PATIENCE, poll_interval=0.5)
            return


def _sentence(context: Context, other: Holder) -> str:
    if not other.pid:
        return f"a process that is starting or ending serves {context.home.folder}"
    since = (context.clock.now() - times.parse(other.started_at)).total_seconds()
    return f"process {other.pid} serves {context.home.folder}, for {max(0, int(since))} seconds now"


def _lock(home: Home) -> FileLock:
    return FileLock(f"{home.locks_folder / _NAME}.lock", mode=0o600)


def _note_path(home: Home) -> Path:
    return home.locks_folder / f"{_NAME}.json"


def _write_note(context: Context, note: Holder) -> None:
    """Not synced: it means nothing after a power cut. On a full disk there is none, and the lock holds all the same."""
    temporary = _note_path(context.home).with_name(f"{_NAME}.json.tmp")
    with contextlib.suppress(OSError):
        context.files.remove(temporary)
    with contextlib.suppress(OSError):
        context.files.write_new(temporary, msgspec.json.encode(note), mode=0o600, sync=False)
        context.files.replace(temporary, _note_path(context.home))


def _note(home: Home) -> Holder | None:
    from lifeboat_alf.seams.files import SystemFiles

    try:
        return msgspec.json.decode(read_all(SystemFiles(), _note_path(home)), type=Holder)
    except (OSError, msgspec.DecodeError):
        return None
