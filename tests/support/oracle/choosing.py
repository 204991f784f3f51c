"""Which rounds of the oracle a run plays: random ones, or the one that `LIFEBOAT_ORACLE_SEED` repeats."""

from __future__ import annotations

import os
import random

import pytest

from support.oracle.copies import make_copies
from support.oracle.kinds_of_change import ON
from support.oracle.random_rounds import Round
from support.prepared_folders import PreparedFolders

SEED = "LIFEBOAT_ORACLE_SEED"
KINDS_IN_A_ROUND = 0.5
"""The share of the kinds that happen in one round."""


def chosen_seeds(count: int) -> list[int]:
    """Return as many seeds as rounds are wanted, or the one that is to be repeated."""
    named = os.environ.get(SEED)
    return [int(named)] if named else [random.SystemRandom().randrange(10**9) for _ in range(count)]


def play(folders: PreparedFolders, seed: int, *, thorough: bool, kinds: frozenset[str] | None = None) -> None:
    """Play one round, with `kinds` or a random choice of those that are on. Raises AssertionError, which names the
    seed."""
    chance = random.Random(seed)
    chosen = kinds or frozenset(kind for kind in sorted(ON) if chance.random() < KINDS_IN_A_ROUND)
    copies = folders.restore("an agent with every remote", make_copies)
    with pytest.MonkeyPatch.context() as patch:
        copies.install(patch)
        Round(seed, chosen, copies, thorough=thorough).run()
