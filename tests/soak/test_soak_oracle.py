"""Two thousand random lives of an agent. See `tests/scenarios/test_oracle.py`."""

from __future__ import annotations

import os

import pytest

from support.oracle.choosing import SEED, chosen_seeds, play
from support.prepared_folders import PreparedFolders

pytestmark = pytest.mark.timeout(1200)

BLOCKS, ROUNDS = 40, 50


@pytest.mark.parametrize("block", range(BLOCKS))
def test_whatever_happened_every_sequence_comes_back_from_everywhere(
    prepared_folders: PreparedFolders, block: int
) -> None:
    if block and os.environ.get(SEED):
        pytest.skip(f"{SEED} repeats one round")
    for seed in chosen_seeds(f"soak {block}", ROUNDS):
        print(f"{SEED}={seed}")
        play(prepared_folders, seed, thorough=True)
