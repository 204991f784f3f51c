"""watchdog's inotify behind a door: what it does not say is said here, and what it must not do is kept from it.

Left alone, watchdog 7.1 answers an overflow by removing and adding every watch. Removing one makes an event itself, so
with more folders than the queue has places it never ends. It says nothing of folders that it could not watch below the
first, and takes one that it may not read for watched.
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
"""Seconds in which the reader takes what removing watches put into its queue of, mostly, 16,384 places."""
_FULL = (errno.ENOSPC, errno.ENOMEM, errno.EMFILE)

# A folder made within a folder that was made just now is found twice; watchdog warns of it on standard error.
warnings.filterwarnings("ignore", message="Callback with id", category=RuntimeWarning)


@dataclass(slots=True)
class WatchTally:
    """How the watching of one folder, with those below it, went. `refused` counts folders for which there was no watch
    left, `denied` names those that may not be read."""

    skips: Callable[[str], bool]
    refused: set[bytes] = field(default_factory=set)
    denied: set[bytes] = field(default_factory=set)
    group: InotifyWatchGroup | None = None

    @property
    def watches(self) -> int:
        """Folders that are watched now."""
        return len(getattr(self.group, "_active_callbacks_by_path", ()))


class SkippedFolder(FileNotFoundError):
    """A folder that nobody wants watched. watchdog goes on with the next."""


class InotifyDescriptor(InotifyFD):
    """One inotify instance. `tallies` by folder and whether with those below. Raises OSError when made."""

    def __init__(self, lost: Callable[[], None]) -> None:
        super().__init__()
        self.tallies: dict[tuple[str, bool], WatchTally] = {}
        self.lost = lost

    @classmethod
    def _create_inotify_fd(cls) -> int:
        """Raises OSError. Unlike every file that Python opens, this one would stay open in a program that takes the
        place of this one, as after an upgrade."""
        descriptor = super()._create_inotify_fd()
        os.set_inheritable(descriptor, False)
        return descriptor

    def expect(self, key: tuple[str, bool], skips: Callable[[str], bool]) -> None:
        """Begin to count what becomes of a folder that is watched next; `skips` says what to leave out below it."""
        self.tallies[key] = WatchTally(skips)

    def add_callback(self, path: bytes, mask: Mask, callback: WatchCallback, id_: CallbackId) -> WatchDescriptor:
        """Watch one folder. Raises OSError; watchdog takes that for a reason to leave this one out."""
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
        """Give watches back, so slowly that the events this makes find a place."""
        for start in range(0, len(callbacks), _REMOVED_AT_ONCE):
            if start:
                time.sleep(_PAUSE)
            super().remove_callbacks(callbacks[start : start + _REMOVED_AT_ONCE])

    def handle_event(self, event: InotifyEvent) -> None:
        """Hand an event to who watches. An error in doing so ends this thread, and with it all watching: what is known
        of the folders is not what they are, as after an overflow."""
        if event.is_queue_overflow:
            self.lost()
            return
        try:
            super().handle_event(event)
        except Exception:
            self.lost()


class SteadyInotifyEmitter(InotifyEmitter):
    """One that goes on where watchdog's ends."""

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
    """An observer with its own inotify instance; `lost` is called, from any thread, when events were lost. Raises
    OSError when made."""

    def __init__(self, lost: Callable[[], None]) -> None:
        self.descriptor = InotifyDescriptor(lost)
        self.descriptor.start()
        super().__init__(SteadyInotifyEmitter, inotify_fd=self.descriptor)

    def on_thread_stop(self) -> None:
        # First, so that no watch is given back by itself: that would be an event for each of them.
        self.descriptor.stop()
        super().on_thread_stop()
        self.descriptor.join()
