"""What is due: a sample, a whole verification, a sign of life. Pure; times in seconds, moments with a zone."""

from __future__ import annotations

from datetime import datetime

import msgspec

from lifeboat_alf import times
from lifeboat_daemon.health.standing import UNVERIFIED_FOR, Facts

SAMPLE, WHOLE = "sample", "whole"
LONGEST_DEFERRED = 14 * 86400
"""A whole verification waits for the mains for so long and no longer."""
NOT_AGAIN_FOR = 3600
"""After a verification that failed or was deferred, the next one is tried this much later."""


class Intervals(msgspec.Struct, frozen=True):
    """The settings `verify.every` and `verify.whole_every`, in seconds."""

    every: float = 86400.0
    whole_every: float = 30 * 86400.0


def due(
    facts: Facts, added_at: str | None, intervals: Intervals, now: datetime, *, tried_at: str | None = None
) -> str | None:
    """Which verification to make now: `sample`, `whole`, or None for none. Arguments as for `seconds_until`."""
    if seconds_until(facts, added_at, intervals, now, tried_at=tried_at) != 0:
        return None
    return WHOLE if _until_whole(facts, added_at, intervals, now) <= 0 else SAMPLE


def seconds_until(
    facts: Facts, added_at: str | None, intervals: Intervals, now: datetime, *, tried_at: str | None = None
) -> float | None:
    """Seconds until a verification is due: 0 for now, None when there is nothing to verify.

    `added_at` is when the agent was added: its first whole verification is due that much later. `tried_at` is when a
    verification last came to nothing.
    """
    if facts.sequence is None or facts.unreadable is not None:
        return None
    left = min(_until_sample(facts, intervals, now), _until_whole(facts, added_at, intervals, now))
    return max(0.0, left, _left(tried_at, NOT_AGAIN_FOR, now, never=0.0))


def may_defer(facts: Facts, added_at: str | None, intervals: Intervals, now: datetime) -> bool:
    """Whether a whole verification that is due can wait for better days."""
    return _until_whole(facts, added_at, intervals, now) > -LONGEST_DEFERRED


def _until_sample(facts: Facts, intervals: Intervals, now: datetime) -> float:
    return _left(facts.last_verified_at, intervals.every, now, never=0.0)


def _until_whole(facts: Facts, added_at: str | None, intervals: Intervals, now: datetime) -> float:
    """An agent from before there were dates of being added was never whole: it is due now."""
    return _left(facts.last_whole_at or added_at or None, intervals.whole_every, now, never=0.0)


def _left(since: str | None, interval: float, now: datetime, *, never: float) -> float:
    """Seconds until an interval has passed. What happened in the future happened under a wrong clock: never."""
    if since is None or times.parse(since) > now + UNVERIFIED_FOR:
        return never
    return interval - max(0.0, (now - times.parse(since)).total_seconds())


# A sign of life -------------------------------------------------------------------------------------------------


def seconds_until_ping(pinged_at: str | None, every: float, now: datetime) -> float:
    """Seconds until `ping.url` is to be called again, 0 for now."""
    return max(0.0, _left(pinged_at, every, now, never=0.0))
