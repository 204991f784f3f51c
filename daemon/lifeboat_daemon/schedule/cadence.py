"""When an agent is captured: the four cadences as one calculation, with no clock, no timer and no input or output.

All times are seconds of one clock that never goes back and counts sleep (`Clock.since_boot`).

    after_interaction   when nothing changed for `quiet`, at the latest `at_most` after the first change
    after_session       when nothing changed for `idle`
    scheduled           when the schedule says so; changes alone start nothing
    manual              when somebody asks

In every cadence but `manual` the workspace is also looked through when something else asks for it (the start, the end
of sleep, lost events), after every `scan_interval`, and again after a capture that was not complete. One that left a
large file for later is followed by another as soon as that file may be captured, except in the cadence `scheduled`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from lifeboat_core.agents.agent import Agent
from lifeboat_core.settings.config_file import Config

AFTER_INTERACTION, AFTER_SESSION, SCHEDULED, MANUAL = "after_interaction", "after_session", "scheduled", "manual"
REQUEST, CHANGE, SESSION, RETRY, SCAN, LATE = "request", "change", "session", "retry", "scan", "late"
"""Why a capture is due. Whoever calls `wants_scan` gives reasons of its own; a `request` is obeyed in every cadence."""

_FIRST_RETRY, _LAST_QUICK_RETRY = 1.0, 60.0
"""Seconds."""
_QUICK_RETRIES = 16
"""So many retries come within a minute of each other, some eleven minutes in all; then they become seldom."""


class CadenceSettings(NamedTuple):
    """The settings of one agent's cadence; times in seconds. `cron` is the schedule of the cadence `scheduled`."""

    cadence: str = AFTER_INTERACTION
    quiet: float = 2.0
    at_most: float = 60.0
    idle: float = 600.0
    scan_interval: float = 3600.0
    cron: str = "0 * * * *"


def load_cadence_settings(config: Config, agent: Agent) -> CadenceSettings:
    """What the settings say for an agent."""

    def seconds(name: str) -> float:
        return float(config.get(name, agent.settings).value)

    return CadenceSettings(
        cadence=config.get("cadence", agent.settings).value,
        quiet=seconds("capture.quiet"),
        at_most=seconds("capture.at_most"),
        idle=seconds("session.idle"),
        scan_interval=seconds("scan.interval"),
        cron=config.get("schedule", agent.settings).value,
    )


class DueCapture(NamedTuple):
    """When to begin a capture (now, when `at` is not later than now), and why."""

    at: float
    reason: str


@dataclass(slots=True)
class _UncapturedChanges:
    """What was seen and is in no capture yet: when the first and the last of it was."""

    first: float
    last: float


class CapturePacer:
    """When one agent is captured next. `load_cadence_settings` may be replaced at any time.

    A change that is seen while a capture runs may have come too late for it, so it starts the clock anew. Two captures
    hardly ever touch: after one the agent is left alone for as long as it took, at most `at_most`, and never begins
    twice within `quiet`. Only a request does not wait.
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
        """When a large file may be captured that the last capture left for later."""
        self._looked = inf
        """When the workspace was last looked through; infinity: nobody has yet, so no interval runs."""

    def changed(self, now: float) -> None:
        """Something in the workspace changed."""
        if self._changes is None:
            self._changes = _UncapturedChanges(now, now)
        else:
            self._changes.last = max(self._changes.last, now)

    def wants_scan(self, now: float, reason: str) -> None:
        """The workspace should be looked through at once, whatever changed."""
        if reason == REQUEST:
            self._request = now if self._request is None else self._request
        elif self._scan is None:
            self._scan = DueCapture(now, reason)

    def began(self, now: float) -> None:
        """A capture begins: it takes what was seen until now."""
        self._running += 1
        self._began = now
        self._changes = self._request = self._scan = self._late = None

    def ended(self, now: float, *, complete: bool, due_in: float | None = None) -> None:
        """A capture ended. `due_in`: it left a large file that may be captured after so many seconds. One that is not
        complete (a file changed while it was read, another process had the lock, it failed) is made again, sooner at
        first and ever more seldom."""
        self._running = max(0, self._running - 1)
        self._ended = self._looked = now
        self._failures = 0 if complete else self._failures + 1
        self._late = None if due_in is None else now + due_in

    def due(self, now: float) -> DueCapture | None:
        """When to begin next, and why; None while a capture runs or when there is nothing to wait for."""
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
            at = min(changes.last + self.timing.quiet, changes.first + self.timing.at_most)
            return [DueCapture(max(at, self._rested(), self._held_back()), CHANGE)]
        if self.timing.cadence == AFTER_SESSION:
            return [DueCapture(max(changes.last + self.timing.idle, self._rested(), self._held_back()), SESSION)]
        return []

    def _rested(self) -> float:
        """From when on the agent may be captured again after the last time, unless somebody asks for it."""
        took = max(0.0, self._ended - self._began) if self._ended > -inf else 0.0
        between = min(self.timing.quiet, self.timing.at_most)
        return max(self._began + between, self._ended + min(took, self.timing.at_most))

    def _held_back(self) -> float:
        """While captures are not complete, none begins before the retry, or before `at_most` if that is sooner."""
        if not self._failures:
            return -inf
        return self._ended + min(self._retry_after(), _LAST_QUICK_RETRY, self.timing.at_most)

    def _retry_after(self) -> float:
        """Seconds: 1, 2, 4 to 60, then a minute each, then twice as long every time, up to `scan_interval`."""
        number = self._failures - 1
        if number < _QUICK_RETRIES:
            return min(_FIRST_RETRY * 2.0**number, _LAST_QUICK_RETRY)
        slow = _LAST_QUICK_RETRY * 2.0 ** min(number - _QUICK_RETRIES + 1, 32)
        return max(_LAST_QUICK_RETRY, min(slow, self.timing.scan_interval))
