"""How long to wait before a failed attempt is retried. Pure."""

from __future__ import annotations

import random

FIRST, LONGEST = 60.0, 3600.0
"""Seconds."""
BY_CHANCE = 0.25
"""Up to this share of a pause is added at random, so that attempts that failed together are not retried together."""
_DOUBLINGS = 16


def compute_pause(failures: int, chance: random.Random, *, longest: float = LONGEST) -> float:
    """Return the seconds to wait after so many failures in a row: a minute, doubled each time, at most an hour or
    `longest`, plus up to a quarter of that."""
    seconds = min(FIRST * 2.0 ** min(max(failures, 1) - 1, _DOUBLINGS), longest)
    return seconds * (1.0 + BY_CHANCE * chance.random())
