"""When an agent is captured: the four cadences as one calculation, with no clock, no timer and no input or output.

All times are seconds of one clock that never goes back and counts sleep (`Clock.since_boot`).

    after_interaction   after `debounce` without a change, at the latest `at_most` after the first change
    after_session       after `idle` without a change
    scheduled           at the times of the schedule; changes alone start no capture
    manual              on request

The debounce is the wait after the last change (setting `capture.quiet`). In every cadence but `manual` a capture is
also due on request of another part (the start, the end of sleep, lost events), after every `scan_interval`, and again
after a capture that was not complete. A capture that deferred a large file is followed by another as soon as that file
may be captured, except in the cadence `scheduled`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from lifeboat_core.agents.agent import Agent
from lifeboat_core.settings.config_file import Config

AFTER_INTERACTION, AFTER_SESSION, SCHEDULED, MANUAL = "after_interaction", "after_session", "scheduled", "manual"
REQUEST, CHANGE, SESSION, RETRY, SCAN, LATE = "request", "change", "session", "retry", "scan", "late"
"""Why a capture is due. Callers of `wants_scan` pass reasons of their own; a `request` is obeyed in every cadence."""

_FIRST_RETRY, _LAST_QUICK_RETRY = 1.0, 60.0
"""Seconds."""
_QUICK_RETRIES = 16
"""The number of retries with at most a minute between them, about eleven minutes in all. Later retries are rarer."""


class CadenceSettings(NamedTuple):
    """The settings of one agent's cadence; times in seconds. `debounce` is the wait after the last change; `cron` is
    the schedule of the cadence `scheduled`. The values in force come from the settings, see `load_cadence_settings`."""

    cadence: str = AFTER_INTERACTION
    debounce: float = 2.0
    at_most: float = 60.0
    idle: float = 600.0
    scan_interval: float = 3600.0
    cron: str = "0 * * * *"


def load_cadence_settings(config: Config, agent: Agent) -> CadenceSettings:
    """Return the settings of an agent's cadence."""

    def seconds(name: str) -> float:
        return float(config.get(name, agent.settings).value)

    return CadenceSettings(
        cadence=config.get("cadence", agent.settings).value,
        debounce=seconds("capture.quiet"),
        at_most=seconds("capture.at_most"),
        idle=seconds("session.idle"),
        scan_interval=seconds("scan.interval"),
        cron=config.get("schedule", agent.settings).value,
    )


class DueCapture(NamedTuple):
    """When to begin a capture (now, if `at` is not in the future), and why."""

    at: float
    reason: str


@dataclass(slots=True)
class _UncapturedChanges:
    """The times of the first and the last change that no capture contains yet."""

    first: float
    last: float


class CapturePacer:
    """Decides when one agent is captured next. `timing` may be replaced at any time.

    A change that is seen while a capture runs may be too late for it, so it restarts the debounce. Captures do not
    follow each other closely: after one, the agent is left alone for as long as it took, at most `at_most`, and
    captures begin at least `debounce` apart. Only a request does not wait.
    """

    def __init__(self, timing: CadenceSettings) -> None:
        self.timing = timing
        self._changes: _UncapturedChanges | None = None
        self._request: float | None = None
        self._scan: DueCapture | None = None
        self._running = 0
        self._began = -inf
        self._ended = -inf
        self._failures = 0
        self._late: float | None = None
        """When a large file that the last capture deferred may be captured."""
        self._looked = inf
        """When the workspace was last scanned; infinity before the first scan, so that no interval runs."""

    def changed(self, now: float) -> None:
        """Note a change in the workspace."""
        if self._changes is None:
            self._changes = _UncapturedChanges(now, now)
        else:
            self._changes.last = max(self._changes.last, now)

    def wants_scan(self, now: float, reason: str) -> None:
        """Ask for a scan of the workspace as soon as possible, whether it changed or not."""
        if reason == REQUEST:
            self._request = now if self._request is None else self._request
        elif self._scan is None:
            self._scan = DueCapture(now, reason)

    def began(self, now: float) -> None:
        """Note the beginning of a capture, which contains the changes seen until now."""
        self._running += 1
        self._began = now
        self._changes = self._request = self._scan = self._late = None

    def ended(self, now: float, *, complete: bool, due_in: float | None = None) -> None:
        """Note the end of a capture. `due_in`: seconds until a large file that it deferred may be captured. A capture
        that is not complete (a file changed while it was read, another process had the lock, it failed) is repeated, at
        first soon and then ever more rarely."""
        self._running = max(0, self._running - 1)
        self._ended = self._looked = now
        self._failures = 0 if complete else self._failures + 1
        self._late = None if due_in is None else now + due_in

    def due(self, now: float) -> DueCapture | None:
        """Return when to begin next, and why; None while a capture runs or when nothing is due."""
        if self._running:
            return None
        return min(self._reasons(), key=lambda due: due.at, default=None)

    def _reasons(self) -> list[DueCapture]:
        found = [] if self._request is None else [DueCapture(self._request, REQUEST)]
        if self.timing.cadence == MANUAL:
            return found
        if self._scan is not None:
            found.append(DueCapture(max(self._scan.at, self._rested(), self._held_back()), self._scan.reason))
        if self._changes is not None:
            found += self._after_changes(self._changes)
        if self._late is not None and self.timing.cadence != SCHEDULED:
            found.append(DueCapture(max(self._late, self._rested(), self._held_back()), LATE))
        if self._failures:
            found.append(DueCapture(max(self._ended + self._retry_after(), self._rested()), RETRY))
        elif self._looked < inf:
            found.append(DueCapture(self._looked + self.timing.scan_interval, SCAN))
        return found

    def _after_changes(self, changes: _UncapturedChanges) -> list[DueCapture]:
        if self.timing.cadence == AFTER_INTERACTION:
            at = min(changes.last + self.timing.debounce, changes.first + self.timing.at_most)
            return [DueCapture(max(at, self._rested(), self._held_back()), CHANGE)]
        if self.timing.cadence == AFTER_SESSION:
            return [DueCapture(max(changes.last + self.timing.idle, self._rested(), self._held_back()), SESSION)]
        return []

    def _rested(self) -> float:
        """Return the earliest time of the next capture after the last one, unless one is requested."""
        took = max(0.0, self._ended - self._began) if self._ended > -inf else 0.0
        between = min(self.timing.debounce, self.timing.at_most)
        return max(self._began + between, self._ended + min(took, self.timing.at_most))

    def _held_back(self) -> float:
        """Return the earliest time while captures are not complete: before the retry no capture begins, except after
        `at_most` if that is sooner."""
        if not self._failures:
            return -inf
        return self._ended + min(self._retry_after(), _LAST_QUICK_RETRY, self.timing.at_most)

    def _retry_after(self) -> float:
        """Return the seconds until a retry: 1, 2, 4 to 60, then a minute each, then doubling, up to `scan_interval`."""
        number = self._failures - 1
        if number < _QUICK_RETRIES:
            return min(_FIRST_RETRY * 2.0**number, _LAST_QUICK_RETRY)
        slow = _LAST_QUICK_RETRY * 2.0 ** min(number - _QUICK_RETRIES + 1, 32)
        return max(_LAST_QUICK_RETRY, min(slow, self.timing.scan_interval))
