"""What is due: a sample, a whole verification, a ping. Pure; intervals are in seconds, times are timestamps."""

from __future__ import annotations

import zlib
from datetime import datetime

from lifeboat_alf.common import times
from lifeboat_core.health.agent_status import UNVERIFIED_FOR

SAMPLE, WHOLE = "sample", "whole"
LONGEST_DEFERRED = 14 * 86400.0
"""How long a whole verification waits for mains power."""


def choose_due_verification(
    last_verified_at: str | None,
    last_whole_at: str | None,
    every: float,
    whole_every: float,
    now: datetime,
    *,
    added_at: str | None = None,
) -> str | None:
    """Return the verification to make now: `sample`, `whole`, or None.

    `every` and `whole_every` are the settings `verify.every` and `verify.whole_every`. The first whole one is due
    `whole_every` after the agent was added, if that is known; before it there is a sample, which is quick.
    """
    is_first = last_verified_at is None
    if not is_first and is_past(last_whole_at or added_at or None, whole_every, now):
        return WHOLE
    return SAMPLE if is_past(last_verified_at, every, now) else None


def can_defer_whole(last_whole_at: str | None, added_at: str | None, whole_every: float, now: datetime) -> bool:
    """Return whether a whole verification that is due can wait for mains power."""
    return not is_past(last_whole_at or added_at or None, whole_every + LONGEST_DEFERRED, now)


def is_remote_due(verified_at: str | None, every: float, now: datetime, *, share: float) -> bool:
    """Return whether a remote has to be verified again.

    `share` (0 to 1, see `compute_share`) spreads several remotes over the last fifth of the interval, so that all of
    them are verified by its end.
    """
    return is_past(verified_at, every * (0.8 + 0.15 * share), now)


def compute_share(*ids: str) -> float:
    """Return a share from 0 to 1, always the same for the same ids."""
    return zlib.crc32(" ".join(ids).encode()) / 0xFFFFFFFF


def is_ping_due(pinged_at: str | None, every: float, now: datetime) -> bool:
    """Return whether `ping.url` has to be called again. `every` is the setting `ping.every`."""
    return is_past(pinged_at, every, now)


def is_past(since: str | None, interval: float, now: datetime) -> bool:
    """Return whether an interval is over. An event in the future happened under a wrong clock: its interval is over."""
    if since is None or times.parse_time(since) > now + UNVERIFIED_FOR:
        return True
    return (now - times.parse_time(since)).total_seconds() >= interval
