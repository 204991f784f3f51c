"""Adapt watchdog's inotify observer: report what it does not report, and prevent what it must not do.

watchdog 7.1 answers an overflow by removing and adding every watch. Removing a watch causes an event, so with more
directories than the queue has slots the overflow repeats forever. It does not report directories below the first that
it could not watch, and counts an unreadable one as watched.
"""

from __future__ import annotations

import errno
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from watchdog.observers.api import BaseObserver, EventQueue, ObservedWatch
from watchdog.observers.inotify import InotifyEmitter, InotifyWatchGroup
from watchdog.observers.inotify_c import CallbackId, InotifyEvent, InotifyFD, Mask, WatchCallback, WatchDescriptor

_REMOVED_AT_ONCE = 2000
_PAUSE = 0.005
"""Seconds for the reader to take the events of removed watches from its queue of usually 16,384 slots."""
_FULL = (errno.ENOSPC, errno.ENOMEM, errno.EMFILE)

# A directory created inside a new directory is found twice; watchdog prints a warning about it to standard error.
warnings.filterwarnings("ignore", message="Callback with id", category=RuntimeWarning)


@dataclass(slots=True)
class WatchTally:
    """The result of watching one directory and those below it. `refused` counts directories for which no watch was
    left, `denied` names unreadable ones."""

    skips: Callable[[str], bool]
    refused: set[bytes] = field(default_factory=set)
    denied: set[bytes] = field(default_factory=set)
    group: InotifyWatchGroup | None = None

    @property
    def watches(self) -> int:
        """The number of watched directories."""
        return len(getattr(self.group, "_active_callbacks_by_path", ()))


class SkippedFolder(FileNotFoundError):
    """A directory that need not be watched. watchdog continues with the next one."""


class InotifyDescriptor(InotifyFD):
    """One inotify instance. `tallies` are keyed by directory and whether those below are included. Raises OSError when
    created."""

    def __init__(self, lost: Callable[[], None]) -> None:
        super().__init__()
        self.tallies: dict[tuple[str, bool], WatchTally] = {}
        self.lost = lost

    @classmethod
    def _create_inotify_fd(cls) -> int:
        """Create the descriptor. Raises OSError. Unlike files that Python opens, watchdog's descriptor would stay open
        in a program that replaces this process, as after an upgrade."""
        descriptor = super()._create_inotify_fd()
        os.set_inheritable(descriptor, False)
        return descriptor

    def expect(self, key: tuple[str, bool], skips: Callable[[str], bool]) -> None:
        """Begin the tally of the directory that is watched next; `skips` says what to leave out below it."""
        self.tallies[key] = WatchTally(skips)

    def add_callback(self, path: bytes, mask: Mask, callback: WatchCallback, id_: CallbackId) -> WatchDescriptor:
        """Watch one directory. Raises OSError, after which watchdog leaves this directory out."""
        if not isinstance(callback, InotifyWatchGroup):
            return super().add_callback(path, mask, callback, id_)
        tally = self.tallies.get((os.fsdecode(callback.path), callback.is_recursive))
        if tally is None:
            return super().add_callback(path, mask, callback, id_)
        tally.group = callback
        if path != callback.path and tally.skips(os.fsdecode(path)):
            raise SkippedFolder(errno.ENOENT, "not wanted", path)
        if not os.access(path, os.R_OK) and os.path.lexists(path):
            tally.denied.add(path)
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        try:
            return super().add_callback(path, mask, callback, id_)
        except OSError as error:
            if error.errno in _FULL:
                tally.refused.add(path)
            raise

    def remove_callbacks(self, callbacks: list[tuple[WatchDescriptor, CallbackId]]) -> None:
        """Remove watches slowly enough that the resulting events fit into the queue."""
        for start in range(0, len(callbacks), _REMOVED_AT_ONCE):
            if start:
                time.sleep(_PAUSE)
            super().remove_callbacks(callbacks[start : start + _REMOVED_AT_ONCE])

    def handle_event(self, event: InotifyEvent) -> None:
        """Pass an event to its callbacks. An error would end this thread and all watching, so it is handled like an
        overflow: the known directories may differ from the real ones."""
        if event.is_queue_overflow:
            self.lost()
            return
        try:
            super().handle_event(event)
        except Exception:
            self.lost()


class SteadyInotifyEmitter(InotifyEmitter):
    """An emitter that continues after errors at which watchdog's own ends."""

    def __init__(
        self, queue: EventQueue, watch: ObservedWatch, *, inotify_fd: InotifyDescriptor, **options: Any
    ) -> None:
        super().__init__(queue, watch, inotify_fd=inotify_fd, **options)
        self._descriptor = inotify_fd

    def queue_events(self, timeout: float, *, full_events: bool = False) -> None:
        try:
            super().queue_events(timeout, full_events=full_events)
        except Exception:
            self._descriptor.lost()


class InotifyObserver(BaseObserver):
    """An observer with its own inotify instance. `lost` is called, from any thread, when events were lost. Raises
    OSError when created."""

    def __init__(self, lost: Callable[[], None]) -> None:
        self.descriptor = InotifyDescriptor(lost)
        self.descriptor.start()
        super().__init__(SteadyInotifyEmitter, inotify_fd=self.descriptor)

    def on_thread_stop(self) -> None:
        # Close it first: otherwise each watch is removed separately, which causes an event each.
        self.descriptor.stop()
        super().on_thread_stop()
        self.descriptor.join()
