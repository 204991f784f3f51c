"""Processor time, for limits that must not depend on what else the machine does."""

from __future__ import annotations

import resource


def cpu_seconds() -> float:
    """Return the processor seconds that this process and its ended child processes have used."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
