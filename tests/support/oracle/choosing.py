"""Choice of the oracle's rounds in a run: those of the commit, or the one that `LIFEBOAT_ORACLE_SEED` repeats.

Each commit determines its rounds, so a failing commit fails again.
"""

from __future__ import annotations

import functools
import os
import random
import subprocess

import pytest

from support.oracle.copies import make_copies
from support.oracle.kinds_of_change import KINDS
from support.oracle.random_rounds import Round
from support.paths import ROOT
from support.prepared_folders import PreparedFolders

SEED = "LIFEBOAT_ORACLE_SEED"
KINDS_IN_A_ROUND = 0.5
"""Share of the kinds of change that happen in one round."""
ROUNDS_IN_A_BLOCK = 25
"""Thorough rounds per block, about a minute of one processor. All blocks together have two thousand, for `make
everything`."""
ROUNDS_IN_A_BLOCK_OF_CI = 2
"""Rounds per block in CI. Every CI run plays a quarter of the blocks, with separate rounds."""


def chosen_seeds(block: str, count: int) -> list[int]:
    """Return the seeds of the rounds in a block, or the one to be repeated."""
    if named := os.environ.get(SEED):
        return [int(named)]
    chance = random.Random(f"{_commit()} {block}")
    return [chance.randrange(10**9) for _ in range(count)]


@functools.cache
def _commit() -> str:
    """Return the tested commit, or a random text if git does not know it."""
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or str(random.SystemRandom().random())


def rounds_in_a_block() -> int:
    return ROUNDS_IN_A_BLOCK_OF_CI if os.environ.get("CI_BEGUN") else ROUNDS_IN_A_BLOCK


def play_block(folders: PreparedFolders, block: int) -> None:
    """Play thorough rounds. A repeated round is played in block 0 only. Raises AssertionError."""
    if block and os.environ.get(SEED):
        pytest.skip(f"{SEED} repeats one round")
    for seed in chosen_seeds(f"soak {block}", rounds_in_a_block()):
        print(f"{SEED}={seed}")
        play(folders, seed, thorough=True)


def play(folders: PreparedFolders, seed: int, *, thorough: bool, kinds: frozenset[str] | None = None) -> None:
    """Play one round with `kinds` or a random choice of them. Raises AssertionError, which names the seed."""
    chance = random.Random(seed)
    chosen = kinds or frozenset(kind for kind in sorted(KINDS) if chance.random() < KINDS_IN_A_ROUND)
    copies = folders.restore("an agent with every remote", make_copies)
    with pytest.MonkeyPatch.context() as patch:
        copies.install(patch)
        Round(seed, chosen, copies, thorough=thorough).run()
