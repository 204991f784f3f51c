"""Time limits for events that tests wait for, after which a wait counts as a hang.

No limit here is a requirement. A test waits for an event, and uses `patience()` only so that a hang ends.
"""

from __future__ import annotations

import os

VARIABLE = "LIFEBOAT_TEST_PATIENCE"
SHORTEST = 60.0
"""Seconds; a busy machine may suspend a process for a long time."""


def factor() -> float:
    """Return the factor for limits: the variable if it is set, otherwise the load per processor, at least 1."""
    given = os.environ.get(VARIABLE)
    if given:
        return float(given)
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def patience(seconds: float = SHORTEST) -> float:
    """Return a time limit in seconds, at least 60, for a wait that takes at most `seconds` on an idle machine."""
    return max(SHORTEST, seconds) * factor()
