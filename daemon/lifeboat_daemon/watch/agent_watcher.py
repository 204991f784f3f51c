"""Watch agents' files for the daemon: events are hints that start a scan, and events that may have been missed are
reported.

Three kinds of threads meet here. The thread of the event loop calls the methods and receives the signals. watchdog's
threads bring events, and only note that something happened. One keeper thread, which lives while there is work, does
what may take long: walking directories to watch them, and checking them.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_daemon.watch import inotify_limits
from lifeboat_daemon.watch.event_filter import EventFilter
from lifeboat_daemon.watch.folder_watches import FolderListener, FolderToWatch, FolderWatches, FolderWatchState
from lifeboat_daemon.watch.loop_mailbox import LoopMailbox
from lifeboat_daemon.watch.overflow_log import OverflowLog
from lifeboat_daemon.watch.silent_mounts import MountTable
from lifeboat_daemon.watch.watch_plan import PlannedFolder, WatchPlan
from lifeboat_daemon.watch.watch_signals import (
    CHANGED,
    EVENTS,
    GONE,
    NONE,
    PARTIAL,
    POLLING,
    RESCAN,
    WatchCoverage,
    WatchSignal,
)

__all__ = ["CHANGED", "GONE", "RESCAN", "AgentWatcher", "WatchCoverage", "WatchSignal"]

POLL_EVERY = 60.0
"""Seconds between scans of what is not watched completely."""
_REBUILD_EVERY = 10.0
"""Seconds. While changes exceed the system's queue, watching everything again immediately would not help."""
_PATIENCE = 5.0
"""Seconds."""
_BEING_SET_UP = "Lifeboat is still setting up the watches"


@dataclass(frozen=True, slots=True)
class _ChangeListener:
    """A listener for the relevant events in a directory."""

    interest: EventFilter
    tell: Callable[[], None]

    def hear(self, path: str) -> None:
        if self.interest.matters(path):
            self.tell()

    def skips(self, path: str) -> bool:
        return self.interest.skips(path)

    def left_out(self) -> Collection[str]:
        return list(self.interest.left_out())


@dataclass(frozen=True, slots=True)
class _ParentListener:
    """A listener in the parent directory: it reports when `path` appears or disappears."""

    path: str
    disturbed: Callable[[], None]

    def hear(self, path: str) -> None:
        if path == self.path:
            self.disturbed()

    def skips(self, path: str) -> bool:
        return False

    def left_out(self) -> Collection[str]:
        return ()


@dataclass(slots=True)
class _WatchedPlan:
    """The plan of one agent, or of some files (`agent` is None, `tell` is called). `wants` are the directories in the
    order of the plan, empty until the keeper has run; `told` is their state at the last report."""

    watched: tuple[PlannedFolder, ...]
    agent: str | None = None
    tell: Callable[[], None] | None = None
    wants: tuple[FolderToWatch, ...] = ()
    told: tuple[FolderWatchState, ...] = ()
    now: tuple[FolderWatchState, ...] = ()
    is_settled: bool = False
    interests: dict[PlannedFolder, EventFilter] = field(default_factory=dict)

    def interest(self, watched: PlannedFolder) -> EventFilter:
        """Return the rules of a directory, computed once."""
        if watched not in self.interests:
            self.interests[watched] = EventFilter(watched)
        return self.interests[watched]

    @property
    def places(self) -> list[tuple[str, bool]]:
        """The watched directories, regardless of their rules."""
        return [(one.folder, one.recursive) for one in self.watched]


class AgentWatcher:
    """Watches the directories of agents. Created, called and calling back in the thread of the event loop. `tell`
    receives a signal immediately, and the next one of its kind after a fifth of a second at the earliest."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, tell: Callable[[WatchSignal], None], *, poll_every: float = POLL_EVERY
    ) -> None:
        self._tell = tell
        self._mail = LoopMailbox(loop)
        self._loop = loop
        self._poll_every = poll_every
        self._polled = 0.0
        self._lock = threading.Lock()
        self._followed: dict[Hashable, _WatchedPlan] = {}
        self._spots = FolderWatches(self._lost, self._settle)
        self._keeper: threading.Thread | None = None
        self._is_due = self._is_stopped = self._has_lost = self._is_rebuild_set = False
        self._rebuilt = 0.0
        self._overflows = OverflowLog(self._lost)

    def follow(self, agent: str, plan: WatchPlan) -> None:
        """Watch an agent by a plan, which replaces the former one. A RESCAN follows when a directory is newly watched,
        because earlier changes are unknown. Returns immediately."""
        self._put(agent, _WatchedPlan(plan.folders, agent=agent))

    def leave(self, agent: str) -> None:
        """Stop watching an agent. No signal about it follows."""
        with self._lock:
            known = self._followed.pop(agent, None)
        if known is not None:
            self._settle()

    def watch_files(self, folder: Path, names: Collection[str], tell: Callable[[], None]) -> None:
        """Call `tell` when a file in a directory changes whose name matches one of some globs, when the directory
        itself appears or disappears, and once when watching begins. The directory need not exist. Another call for the
        same directory and `tell` replaces the names."""
        watched = PlannedFolder(str(folder), recursive=False, only=tuple(sorted(names)))
        self._put((str(folder), tell), _WatchedPlan((watched,), tell=tell))

    def check(self) -> None:
        """Check all watches; to be called regularly (60 s). Agents that are not completely watched get a RESCAN."""
        now = time.monotonic()
        if now - self._polled >= self._poll_every:
            self._polled = now
            for agent in [key for key in self._followed if isinstance(key, str)]:
                if self._needs_polling(agent):
                    self._post(agent, RESCAN)
        self._settle()

    def coverage(self, agent: str) -> WatchCoverage:
        """Return how completely an agent is watched now."""
        with self._lock:
            known = self._followed.get(agent)
            if known is None:
                return WatchCoverage(NONE)
            if not known.is_settled:
                return WatchCoverage(NONE, reason=_BEING_SET_UP)
            return _coverage(known.now if self._keeper is not None else tuple(map(self._spots.standing, known.wants)))

    def stop(self) -> None:
        """End all watching. No signal follows. A keeper thread that is blocked by a file system is left alone."""
        with self._lock:
            self._is_stopped = True
            self._followed.clear()
            keeper = self._keeper
        self._mail.close()
        self._overflows.remove()
        if keeper is not None:
            keeper.join(_PATIENCE)
        if keeper is None or not keeper.is_alive():
            self._spots.stop()

    # Events -----------------------------------------------------------------------------------------------------

    def _post(self, agent: str, kind: str) -> None:
        signal = WatchSignal(agent, kind)
        self._mail.post(signal, lambda: self._deliver(signal), latest=kind != CHANGED)

    def _deliver(self, signal: WatchSignal) -> None:
        if signal.agent in self._followed:
            self._tell(signal)

    def _lost(self) -> None:
        """Handle lost events, which may concern any agent."""
        with self._lock:
            self._has_lost = True
            everyone = list(self._followed.values())
        for one in everyone:
            self._missed(one)
        self._settle()

    def _missed(self, one: _WatchedPlan) -> None:
        if one.agent is not None:
            self._post(one.agent, RESCAN)
        elif one.tell is not None:
            self._mail.post(id(one), one.tell)

    def _needs_polling(self, agent: str) -> bool:
        found = self.coverage(agent)
        return found.mode in (PARTIAL, POLLING) or (found.mode == NONE and not found.is_missing)

    # The keeper -------------------------------------------------------------------------------------------------

    def _put(self, key: Hashable, followed: _WatchedPlan) -> None:
        with self._lock:
            known = self._followed.get(key)
            if known is not None and known.watched == followed.watched and known.tell == followed.tell:
                return
            if known is not None:
                followed.wants, followed.told, followed.now = known.wants, known.told, known.now
                followed.is_settled = known.is_settled and known.places == followed.places
            self._followed[key] = followed
        self._settle()

    def _settle(self) -> None:
        """Let the keeper check everything soon. Can be called from any thread."""
        with self._lock:
            if self._is_stopped:
                return
            self._is_due = True
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, name="watch-keeper", daemon=True)
                self._keeper.start()

    def _keep(self) -> None:
        try:
            while (followed := self._next()) is not None:
                self._keep_once(followed)
        finally:
            with self._lock:
                if self._keeper is threading.current_thread():
                    self._keeper = None

    def _next(self) -> list[_WatchedPlan] | None:
        """Return what to check now. Return None, and end the keeper, if there is nothing to do."""
        with self._lock:
            if not self._is_due or self._is_stopped:
                self._keeper = None
                return None
            self._is_due = False
            return list(self._followed.values())

    def _keep_once(self, followed: list[_WatchedPlan]) -> None:
        wanted: dict[FolderToWatch, tuple[FolderListener, ...]] = {}
        mounts = MountTable()
        places = [self._places(one, mounts) for one in followed]
        for place in places:
            for want, listener in place:
                wanted[want] = (*wanted.get(want, ()), listener)
        folders = list(wanted)
        gates = self._gates(folders, mounts)
        for want, gate in gates:
            wanted[want] = (*wanted.get(want, ()), gate)
        self._spots.settle(wanted, mounts, afresh=self._may_rebuild())
        for one, place in zip(followed, places, strict=True):
            self._settled(one, tuple(dict.fromkeys(want for want, _ in place)))
        # A directory that came or went before its parent was watched caused no event.
        if self._gates(folders, mounts) != gates or not all(map(self._spots.is_current, wanted)):
            self._settle()

    def _places(self, one: _WatchedPlan, mounts: MountTable) -> list[tuple[FolderToWatch, FolderListener]]:
        found: list[tuple[FolderToWatch, FolderListener]] = []
        for watched in one.watched:
            folder = _real(watched.folder, mounts)
            real = PlannedFolder(folder, watched.recursive, watched.only, watched.ignored, watched.noise)
            found.append(
                (FolderToWatch(folder, watched.recursive), _ChangeListener(one.interest(real), self._teller(one)))
            )
        return found

    def _teller(self, one: _WatchedPlan) -> Callable[[], None]:
        agent, tell = one.agent, one.tell
        if agent is not None:
            return lambda: self._post(agent, CHANGED)
        return lambda: self._mail.post(id(one), tell or (lambda: None))

    def _gates(
        self, folders: Iterable[FolderToWatch], mounts: MountTable
    ) -> list[tuple[FolderToWatch, FolderListener]]:
        """Return listeners for the appearance of directories, each in the nearest existing parent."""
        found: list[tuple[FolderToWatch, FolderListener]] = []
        for folder in folders:
            path, above = folder.folder, os.path.dirname(folder.folder)
            if mounts.silent(path) is not None:
                continue
            while above != path and not os.path.isdir(above):
                path, above = above, os.path.dirname(above)
            if above != path:
                found.append((FolderToWatch(above, False), _ParentListener(path, self._settle)))
        return found

    def _may_rebuild(self) -> bool:
        """Return whether to restart all watches because events were lost. If it is too soon, schedule it."""
        with self._lock:
            if not self._has_lost:
                return False
            wait = self._rebuilt + _REBUILD_EVERY - time.monotonic()
            if not self._rebuilt or wait <= 0:
                self._has_lost, self._rebuilt = False, time.monotonic()
                return True
            if not self._is_rebuild_set:
                self._is_rebuild_set = True
                with contextlib.suppress(RuntimeError):  # The loop is closed.
                    self._loop.call_soon_threadsafe(self._loop.call_later, wait, self._rebuild)
            return False

    def _rebuild(self) -> None:
        self._is_rebuild_set = False
        self._settle()

    def _settled(self, one: _WatchedPlan, wants: tuple[FolderToWatch, ...]) -> None:
        """Store the states of an agent's directories and send the resulting signals."""
        now = tuple(map(self._spots.standing, wants))
        with self._lock:
            before = dict(zip(one.wants, one.told, strict=True))
            first = not one.told
            one.wants, one.told, one.now, one.is_settled = wants, now, now, True
        was_missing = not first and before.get(wants[0], FolderWatchState()).missing if wants else False
        if wants and now[0].missing and one.agent is not None:
            if not was_missing:
                self._post(one.agent, GONE)
            return
        if any(_is_other(before.get(want), standing) for want, standing in zip(wants, now, strict=True)):
            self._missed(one)


def _real(folder: str, mounts: MountTable) -> str:
    """Return the real path of a directory. Return it unchanged if resolving could block forever, or if it is not a
    valid path."""
    try:
        return folder if mounts.silent(folder) else os.path.realpath(folder)
    except ValueError:
        return folder


def _is_other(before: FolderWatchState | None, now: FolderWatchState) -> bool:
    """Return whether changes may have been missed between two states of a directory."""
    if before is None:
        return not now.missing
    return now.since != before.since or now.missing != before.missing


def _coverage(standings: tuple[FolderWatchState, ...]) -> WatchCoverage:
    first = standings[0] if standings else FolderWatchState(missing=True)
    if first.missing:
        return WatchCoverage(NONE, reason="the folder does not exist", is_missing=True)
    errors = [one.error for one in standings if one.error is not None]
    watches = sum(one.watches for one in standings)
    refused = sum(max(one.refused, one.error is not None) for one in standings)
    folders = watches + refused
    silent = next((one.silent for one in standings if one.silent is not None), None)
    if first.error is not None:
        return WatchCoverage(NONE, folders, watches, first.error)
    if refused:
        return WatchCoverage(PARTIAL, folders, watches, errors[0] if errors else _refused(folders, watches))
    if silent is not None:
        return WatchCoverage(
            POLLING,
            folders,
            watches,
            f"{silent} does not report changes to files, so Lifeboat scans the folder every minute",
        )
    return WatchCoverage(EVENTS, folders, watches)


def _refused(folders: int, watches: int) -> str:
    return (
        f"Lifeboat watches {watches} of {folders} folders: "
        f"{inotify_limits.explain_watch_error(OSError(errno.ENOSPC, ''))}"
    )
