"""The directories that are watched now, and what keeps them watched.

One thread at a time uses this module (the watcher's keeper). File events arrive in threads of watchdog.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from watchdog import events
from watchdog.observers.api import BaseObserver, EventEmitter, ObservedWatch

from lifeboat_daemon.watch import inotify_limits
from lifeboat_daemon.watch.silent_mounts import MountTable

if TYPE_CHECKING:
    from lifeboat_daemon.watch.inotify_observer import WatchTally

FILTER: list[type[events.FileSystemEvent]] = [
    *(events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent),
    *(events.FileClosedEvent, events.FileAttribEvent),
    *(events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent),
]
"""The requested events. Opening, reading and closing after reading are not among them, because a capture causes them.
The list is the same for all: the system has one per directory."""
SIDE_FILES = ("-wal", "-shm", "-journal")
"""SQLite opens the files beside a database for writing even to read it, and as root gives them the owner of the
database each time. Closing such a file is ignored, because a write into it caused an event before. Otherwise each
capture that reads a database would cause the next one."""
_BY_READING = (events.FileClosedEvent, events.FileAttribEvent)
RETRY = 600.0
"""Seconds until a directory without a free watch is tried again, unless the limit is raised before."""


class FolderListener(Protocol):
    """Receives the events of a directory. It is called in threads of watchdog, for every event."""

    def hear(self, path: str) -> None: ...

    def skips(self, path: str) -> bool: ...

    def left_out(self) -> Iterable[str]:
        """Return the directories for which `skips` is known to be true."""
        ...


class FolderToWatch(NamedTuple):
    """A directory to watch, with or without everything below it."""

    folder: str
    recursive: bool


@dataclass(frozen=True, slots=True)
class FolderWatchState:
    """The state of a watched directory. `since` counts how often watching it began: if the number changed, events may
    have been missed. `silent` is the type of a file system that reports no events."""

    since: int = 0
    missing: bool = False
    silent: str | None = None
    error: str | None = None
    watches: int = 0
    refused: int = 0


class _ListenerDispatch(events.FileSystemEventHandler):
    """Passes the paths of events to the listeners of one directory. Must not raise, because that would end the
    observer."""

    def __init__(self, folder: str, closed: Callable[[], None]) -> None:
        self.listeners: tuple[FolderListener, ...] = ()
        self._folder, self._closed = folder, closed

    def dispatch(self, event: events.FileSystemEvent) -> None:
        if isinstance(event, _BY_READING) and os.fsdecode(event.src_path).endswith(SIDE_FILES):
            return
        for path in (event.src_path, event.dest_path):
            if path:
                self._hear(os.fsdecode(path), event)

    def _hear(self, path: str, event: events.FileSystemEvent) -> None:
        if path == self._folder:
            if isinstance(event, events.DirDeletedEvent | events.DirMovedEvent):
                self._closed()
            return
        for listener in self.listeners:
            listener.hear(path)

    def skips(self, path: str) -> bool:
        return bool(self.listeners) and all(listener.skips(path) for listener in self.listeners)


@dataclass(slots=True)
class _FolderWatch:
    """One watched directory. `watch` and `emitter` are None while it is not watched; `error` says why."""

    want: FolderToWatch
    ear: _ListenerDispatch
    since: int = 0
    identity: tuple[int, int] | None = None
    silent: str | None = None
    watch: ObservedWatch | None = None
    emitter: EventEmitter | None = None
    error: OSError | None = None
    tried: float = 0.0
    limits: tuple[int | None, ...] = ()


class FolderWatches:
    """All watched directories, on one observer. `lost` is called, from any thread, when events were lost; `disturbed`
    when a watched directory disappeared. Both must return quickly."""

    def __init__(self, lost: Callable[[], None], disturbed: Callable[[], None]) -> None:
        self._lost, self._disturbed = lost, disturbed
        self._observer: BaseObserver | None = None
        self._spots: dict[FolderToWatch, _FolderWatch] = {}
        self._count = 0
        self._mounts: MountTable

    def settle(
        self, wanted: Mapping[FolderToWatch, tuple[FolderListener, ...]], mounts: MountTable, *, afresh: bool = False
    ) -> None:
        """Start and end watches to match `wanted`, and restart those whose directory was replaced or whose thread has
        died. `afresh`: restart all."""
        self._mounts = mounts
        if afresh or self._is_dead():
            self._end()
        for want in [want for want in self._spots if want not in wanted]:
            self._release(self._spots.pop(want))
        for want, listeners in wanted.items():
            spot = self._spots.get(want)
            if spot is None:
                spot = self._spots[want] = _FolderWatch(want, _ListenerDispatch(want.folder, self._disturbed))
            uncovered = _uncovers(spot.ear.listeners, listeners)
            spot.ear.listeners = listeners
            if uncovered or not self._holds(spot):
                self._begin(spot)

    def standing(self, want: FolderToWatch) -> FolderWatchState:
        """Return the state of a directory."""
        spot = self._spots.get(want)
        if spot is None:
            return FolderWatchState()
        tally = self._tally(want)
        watches = 0 if spot.emitter is None else 1 if tally is None else tally.watches
        return FolderWatchState(
            since=spot.since,
            missing=spot.identity is None and spot.silent is None,
            silent=spot.silent,
            error=None if spot.error is None else inotify_limits.explain_watch_error(spot.error),
            watches=watches,
            refused=0 if tally is None else len(tally.refused),
        )

    def is_current(self, want: FolderToWatch) -> bool:
        """Return whether a directory is still the same as at the last check."""
        spot = self._spots.get(want)
        return spot is None or spot.silent is not None or _identity(want.folder) == spot.identity

    def stop(self) -> None:
        """End all watches."""
        self._end()
        self._spots.clear()

    # One directory ----------------------------------------------------------------------------------------------

    def _holds(self, spot: _FolderWatch) -> bool:
        """Return whether a watch is in order, or cannot be improved now."""
        if spot.silent is not None:
            return self._mounts.silent(spot.want.folder) == spot.silent
        identity = _identity(spot.want.folder)
        if identity != spot.identity:
            return False
        if identity is None:
            return True
        if spot.error is not None:
            return not _may_retry(spot)
        if spot.emitter is None or not spot.emitter.is_alive():
            return False
        tally = self._tally(spot.want)
        if tally is None:
            return True
        return not (tally.refused and _may_retry(spot)) and not any(map(_is_readable, tally.denied))

    def _begin(self, spot: _FolderWatch) -> None:
        self._release(spot)
        folder = spot.want.folder
        spot.error, spot.tried = None, time.monotonic()
        spot.limits = _limits()
        spot.silent = self._mounts.silent(folder)
        spot.identity = None if spot.silent else _identity(folder)
        if spot.silent or spot.identity is None:
            return
        try:
            self._schedule(spot)
        except RuntimeError as error:
            spot.error = OSError(errno.EAGAIN, str(error))  # The system has no more threads.
            return
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                spot.identity = None
            else:
                spot.error = error
            return
        self._count += 1
        spot.since = self._count
        if _identity(folder) != spot.identity:  # The directory was replaced in the meantime.
            self._disturbed()

    def _schedule(self, spot: _FolderWatch) -> None:
        observer = self._observer or self._start()
        descriptor = getattr(observer, "descriptor", None)
        if descriptor is not None:
            descriptor.expect(spot.want, spot.ear.skips)
        watch = observer.schedule(
            spot.ear, spot.want.folder, recursive=spot.want.recursive, event_filter=FILTER, follow_symlink=False
        )
        spot.watch = watch
        spot.emitter = next((one for one in observer.emitters if one.watch == watch), None)

    def _release(self, spot: _FolderWatch) -> None:
        if spot.watch is not None and self._observer is not None:
            with contextlib.suppress(KeyError):
                self._observer.unschedule(spot.watch)
            descriptor = getattr(self._observer, "descriptor", None)
            if descriptor is not None:
                descriptor.tallies.pop(spot.want, None)
        spot.watch = spot.emitter = None

    # The observer -----------------------------------------------------------------------------------------------

    def _start(self) -> BaseObserver:
        """Start the observer. Raises OSError if there is no instance left."""
        observer = _new_observer(self._lost)
        observer.start()
        self._observer = observer
        return observer

    def _is_dead(self) -> bool:
        observer = self._observer
        if observer is None:
            return False
        descriptor = getattr(observer, "descriptor", None)
        return not observer.is_alive() or (descriptor is not None and not descriptor.is_alive())

    def _end(self) -> None:
        observer, self._observer = self._observer, None
        for spot in self._spots.values():
            spot.watch = spot.emitter = None
        if observer is not None:
            observer.stop()
            observer.join()

    def _tally(self, want: FolderToWatch) -> WatchTally | None:
        descriptor = getattr(self._observer, "descriptor", None)
        return None if descriptor is None else descriptor.tallies.get(want)


def _new_observer(lost: Callable[[], None]) -> BaseObserver:
    """Return the observer of this platform. Raises OSError."""
    if sys.platform == "linux":
        from lifeboat_daemon.watch.inotify_observer import InotifyObserver

        return InotifyObserver(lost)
    from watchdog.observers import Observer

    return Observer()


def _identity(folder: str) -> tuple[int, int] | None:
    """Return device and inode, or None if it is not a directory. A replaced directory has others."""
    try:
        found = os.stat(folder)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def _uncovers(former: Iterable[FolderListener], now: Iterable[FolderListener]) -> bool:
    """Return whether a directory that was left out is wanted now and exists."""
    left_out = {folder for listener in former for folder in listener.left_out()}
    return any(os.path.isdir(one) for one in left_out if not all(listener.skips(one) for listener in now))


def _limits() -> tuple[int | None, ...]:
    return inotify_limits.read_inotify_limit(inotify_limits.WATCHES), inotify_limits.read_inotify_limit(
        inotify_limits.INSTANCES
    )


def _may_retry(spot: _FolderWatch) -> bool:
    return _limits() != spot.limits or time.monotonic() - spot.tried >= RETRY


def _is_readable(path: bytes) -> bool:
    return os.access(path, os.R_OK)
