"""Sleep of the machine, and jumps of its wall clock, found by comparing clocks.

Nobody tells a process reliably that the machine slept. So it looks at its clocks once a minute: the one that counts
sleep ran on against the one that does not, or the wall clock went another way than both. The change to summer time is
neither: the wall clock is UTC.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from lifeboat_alf.seams.system_clock import Clock

SHORTEST_SLEEP = 5.0
"""Seconds. Shorter naps are added up until they come to this."""
SMALLEST_JUMP = 10.0
"""Seconds between two looks. Less is a clock that is being kept right, and changes no plan."""


class ClockGap(NamedTuple):
    """What happened since the last look, in seconds. `jumped` is below 0 when the clock was set back. Who slept has to
    look for changes; a jump alone changes nothing but schedules."""

    slept: float
    jumped: float


class ClockGapDetector:
    """Looks at the clocks, and remembers how they stood."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._boot, self._asleep, self._wall = self._read()
        self._stands = False

    def look(self) -> ClockGap | None:
        """What happened since the last look; None when nothing did. A wall clock that stands still jumps back once."""
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
        """Seconds since boot, how many of them asleep, and the wall clock."""
        awake = self._clock.monotonic()
        boot = self._clock.since_boot()
        return boot, boot - awake, self._clock.now()
