"""The process ends at every step of thinning. Every sequence that is kept still restores to its digest."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_cli.demo.tree_comparison import read_tree
from lifeboat_vault.vault import Retention, ThinReport
from support.core import invariants
from support.core.harbour import Harbour, harbour
from support.killing import killed_at, steps_of
from support.prepared_folders import PreparedFolders

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks, which this system lacks")

STEPS = [step for step in CrashPoint if step.name.startswith("THIN_")]
SEQUENCES = 24


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Harbour:
    return prepared_folders.restore("ada with two dozen sequences", _ada_with_two_dozen_sequences)


def _ada_with_two_dozen_sequences(folder: Path) -> Harbour:
    """Two dozen sequences of one note and of a large file, each a patch away from the one before."""
    made = harbour(folder)
    chart = bytearray(os.urandom(150_000).hex().encode())
    for number in range(1, SEQUENCES):
        with (made.workspace / "MEMORY.md").open("a") as note:
            note.write(f"\n## Tide {number}\n\nHigh water at {number} o'clock.\n")
        if number % 4 == 0:
            chart[number * 100 : number * 100 + 8] = os.urandom(4).hex().encode()
            (made.workspace / "TOOLS.md").write_bytes(chart)
        assert made.capture() == number
    return made


def thin(ada: Harbour) -> ThinReport:
    """A month later: all but the last of the day may go, a tenth at a time."""
    later = ada.context.clock.now() + timedelta(days=30)
    with ada.context.vault(ada.agent.id) as vault:
        return vault.thin(Retention(), later)


@pytest.mark.parametrize("step", STEPS)
def test_thinning_that_is_killed_leaves_every_kept_sequence_whole(ada: Harbour, step: CrashPoint) -> None:
    reached = 0
    for nth in range(1, 40):
        if not killed_at(lambda: thin(ada), step, nth):
            break
        reached += 1
        invariants.every_kept_sequence_has_its_digest(ada.context, ada.agent)
        invariants.the_audit_chain_is_whole(ada.context, ada.agent)
    assert reached, f"{step} was never reached"
    invariants.always(ada.context, ada.agent, ada.trees)


def test_every_named_step_of_thinning_is_reached(ada: Harbour) -> None:
    assert set(STEPS) == set(steps_of(lambda: thin(ada)))


def test_thinning_to_the_end_keeps_what_is_left_restorable(ada: Harbour) -> None:
    for _ in range(SEQUENCES):
        thin(ada)
    with ada.context.vault(ada.agent.id) as vault:
        kept = [row.number for row in vault.sequences()]
    assert len(kept) < SEQUENCES
    assert kept[-1] == SEQUENCES - 1
    invariants.always(ada.context, ada.agent, ada.trees)


def test_a_capture_after_a_killed_thinning_goes_on(ada: Harbour) -> None:
    assert killed_at(lambda: thin(ada), CrashPoint.THIN_ROWS_DROPPED)
    (ada.workspace / "after.md").write_text("still here\n")
    number = ada.capture()
    assert ada.trees[number] == read_tree(ada.workspace)
    invariants.always(ada.context, ada.agent, ada.trees)


def test_a_clock_ten_years_ahead_costs_at_most_a_tenth(ada: Harbour) -> None:
    ahead = replace(ada.context, clock=invariants.Stopped(ada.context.clock.now() + timedelta(days=3650)))
    with ahead.vault(ada.agent.id) as vault:
        before = len(vault.sequences())
        vault.thin(Retention(), ahead.clock.now())
        assert len(vault.sequences()) >= before - max(1, before // 10)
    invariants.every_kept_sequence_has_its_digest(ada.context, ada.agent)
