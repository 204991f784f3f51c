"""Detect sleep of the machine and jumps of its wall clock by comparing clocks.

The system does not report sleep reliably to a process. The daemon therefore compares its clocks once a minute. After
sleep, the clock that counts sleep is ahead of the one that does not. After a jump, the wall clock differs from both.
The change to summer time is neither, because the wall clock is UTC.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from lifeboat_alf.seams.system_clock import Clock

SHORTEST_SLEEP = 5.0
"""Seconds. Shorter sleep is added up until it reaches this."""
SMALLEST_JUMP = 10.0
"""Seconds between two looks. A smaller difference is the normal correction of a clock and changes no plan."""


class ClockGap(NamedTuple):
    """What happened since the last look, in seconds. `jumped` is negative if the clock was set back. After sleep,
    workspaces have to be scanned; a jump alone affects schedules only."""

    slept: float
    jumped: float


class ClockGapDetector:
    """Compares the clocks with their state at the last look."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._boot, self._asleep, self._wall = self._read()
        self._stands = False

    def look(self) -> ClockGap | None:
        """Return what happened since the last look, or None. A wall clock that stands still counts as one jump back."""
        boot, asleep, wall = self._read()
        slept = asleep - self._asleep
        jumped = (wall - self._wall).total_seconds() - (boot - self._boot)
        was_standing, self._stands = self._stands, wall == self._wall and boot > self._boot
        self._boot, self._wall = boot, wall
        if abs(jumped) < SMALLEST_JUMP or (was_standing and self._stands):
            jumped = 0.0
        if slept < SHORTEST_SLEEP:
            slept = 0.0
        else:
            self._asleep = asleep
        return ClockGap(slept, jumped) if slept or jumped else None

    def _read(self) -> tuple[float, float, datetime]:
        """Return the seconds since boot, how many of them asleep, and the wall clock."""
        awake = self._clock.monotonic()
        boot = self._clock.since_boot()
        return boot, boot - awake, self._clock.now()
