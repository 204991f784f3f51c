"""How long a test waits for something that must come, before it calls that a hang.

No limit here is a requirement: a test that needs one waits for an event and uses `patience()` only so that a hang ends.
"""

from __future__ import annotations

import os

VARIABLE = "LIFEBOAT_TEST_PATIENCE"
SHORTEST = 60.0
"""Seconds; a busy machine may stop a process for a long time."""


def factor() -> float:
    """Return what limits are multiplied by: the variable if it is set, else the load of each processor, at least 1."""
    given = os.environ.get(VARIABLE)
    if given:
        return float(given)
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def patience(seconds: float = SHORTEST) -> float:
    """Return a time limit in seconds for a wait that takes `seconds` at most on an idle machine: 60 or more."""
    return max(SHORTEST, seconds) * factor()
