"""How long to wait before something that failed is tried again. Pure."""

from __future__ import annotations

import random

FIRST, LONGEST = 60.0, 3600.0
"""Seconds."""
BY_CHANCE = 0.25
"""So much of a pause is added by chance at most: what failed together is not tried again together."""
_DOUBLINGS = 16


def compute_pause(failures: int, chance: random.Random, *, longest: float = LONGEST) -> float:
    """Seconds after so many failures in a row: a minute, then twice as long each time, an hour at most, or `longest`;
    and up to a quarter of that more."""
    seconds = min(FIRST * 2.0 ** min(max(failures, 1) - 1, _DOUBLINGS), longest)
    return seconds * (1.0 + BY_CHANCE * chance.random())
