"""Random lives of an agent: every kept sequence comes back from every place that keeps it, as a model says that no code
of the product made. A failure names the seed; `LIFEBOAT_ORACLE_SEED=SEED` repeats that round alone."""

from __future__ import annotations

import os

import pytest

from support.oracle.choosing import SEED, chosen_seeds, play
from support.oracle.kinds_of_change import KINDS
from support.prepared_folders import PreparedFolders

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="processes are killed as forks, which this system lacks"
)

BLOCKS, ROUNDS = 10, 10


@pytest.mark.parametrize("block", range(BLOCKS))
def test_whatever_happened_every_sequence_comes_back(prepared_folders: PreparedFolders, block: int) -> None:
    if block and os.environ.get(SEED):
        pytest.skip(f"{SEED} repeats one round")
    for seed in chosen_seeds(f"fast {block}", ROUNDS):
        print(f"{SEED}={seed}")
        play(prepared_folders, seed, thorough=False)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_change_alone_comes_back(prepared_folders: PreparedFolders, kind: str) -> None:
    play(prepared_folders, 1, thorough=False, kinds=frozenset({"notes", kind}))
