"""Provide the clock as a parameter."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

TOLERANCE = timedelta(days=1)
LONGEST_OFF = timedelta(days=45)


class Clock(Protocol):
    """Wall time, time since boot (including sleep where the system can tell), time since boot without sleep, and an id
    of the boot."""

    def now(self) -> datetime: ...

    def since_boot(self) -> float: ...

    def monotonic(self) -> float: ...

    def boot_id(self) -> str: ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def since_boot(self) -> float:
        """Return seconds since boot including sleep: CLOCK_BOOTTIME on Linux, CLOCK_MONOTONIC on macOS, the tick count
        on Windows."""
        if hasattr(time, "CLOCK_BOOTTIME"):
            return time.clock_gettime(time.CLOCK_BOOTTIME)
        if sys.platform == "darwin":
            return time.clock_gettime(time.CLOCK_MONOTONIC)
        return time.monotonic()

    def monotonic(self) -> float:
        """Return seconds without sleep. `time.monotonic` excludes sleep on Linux and macOS, not on Windows."""
        if sys.platform == "win32":
            import ctypes

            ticks = ctypes.c_ulonglong()
            ctypes.windll.kernel32.QueryUnbiasedInterruptTime(ctypes.byref(ticks))
            return ticks.value / 10_000_000
        return time.monotonic()

    def boot_id(self) -> str:
        try:
            return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            return ""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A trusted moment. `since_boot` in seconds; `boot` identifies the boot ("" where the system cannot tell)."""

    wall: datetime
    since_boot: float
    boot: str


def is_believable(anchor: Anchor | None, wall: datetime, since_boot: float, boot: str) -> bool:
    """Return whether a wall clock fits an anchor. In the same boot it must agree with the elapsed time within a day.
    After a reboot the time spent off is unknown, so up to 45 days forward are accepted."""
    if anchor is None:
        return True
    same_boot = bool(boot) and boot == anchor.boot and since_boot >= anchor.since_boot
    if same_boot:
        expected = anchor.wall + timedelta(seconds=since_boot - anchor.since_boot)
        return abs(wall - expected) <= TOLERANCE
    return -TOLERANCE <= wall - anchor.wall <= LONGEST_OFF
