"""Random lives of an agent: every kept sequence comes back from every place that keeps it, as a model says that no code
of the product made. A failure names the seed; `LIFEBOAT_ORACLE_SEED=SEED` repeats that round alone."""

from __future__ import annotations

import os

import pytest

from support.oracle.choosing import SEED, chosen_seeds, play
from support.oracle.kinds_of_change import KINDS, OFF
from support.prepared_folders import PreparedFolders

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="processes are killed as forks, which this system lacks"
)

BLOCKS, ROUNDS = 10, 10


@pytest.mark.parametrize("block", range(BLOCKS))
def test_whatever_happened_every_sequence_comes_back(prepared_folders: PreparedFolders, block: int) -> None:
    if block and os.environ.get(SEED):
        pytest.skip(f"{SEED} repeats one round")
    for seed in chosen_seeds(ROUNDS):
        print(f"{SEED}={seed}")
        play(prepared_folders, seed, thorough=False)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_change_alone_comes_back(prepared_folders: PreparedFolders, kind: str) -> None:
    if kind in OFF:
        pytest.skip(f"{kind}: {OFF[kind]}")
    play(prepared_folders, 1, thorough=False, kinds=frozenset({"notes", kind}))


def test_every_kind_that_is_off_is_one_that_there_is() -> None:
    assert OFF.keys() <= KINDS.keys()
    assert all(OFF.values())
