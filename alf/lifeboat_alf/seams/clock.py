"""The clock as a parameter."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol


class Clock(Protocol):
    """Wall time, time since boot (it goes on during sleep where the system can tell) and which boot it is."""

    def now(self) -> datetime: ...

    def since_boot(self) -> float: ...

    def boot_id(self) -> str: ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def since_boot(self) -> float:
        """Seconds. CLOCK_BOOTTIME counts sleep, CLOCK_MONOTONIC (elsewhere) does not."""
        if hasattr(time, "CLOCK_BOOTTIME"):
            return time.clock_gettime(time.CLOCK_BOOTTIME)
        return time.monotonic()

    def boot_id(self) -> str:
        try:
            return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            return ""
