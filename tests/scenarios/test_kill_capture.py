"""The process ends at every step of a capture. Afterwards the newest sequence is the old one or the whole new one, the
next capture completes the work, and everything else that must hold holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_cli.demo import demo_workspace as demo
from lifeboat_cli.demo.tree_comparison import read_tree
from lifeboat_core.capture.capture_run import capture_agent
from support.core import invariants
from support.core.harbour import TODAY, Harbour
from support.killing import killed_at, steps_of

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks, which this system lacks")

STEPS = [step for step in CrashPoint if step.name.startswith("CAPTURE_")]
BEFORE_THE_COMMIT = (
    CrashPoint.CAPTURE_SCANNED,
    CrashPoint.CAPTURE_READ,
    CrashPoint.CAPTURE_DERIVED,
    CrashPoint.CAPTURE_BODIES_WRITTEN,
    CrashPoint.CAPTURE_ROWS_WRITTEN,
)


@pytest.fixture
def ada(protected_ada: Harbour) -> Harbour:
    return protected_ada


def a_day(ada: Harbour) -> None:
    """Notes change, one goes, and a file comes that is too large to lie in the database."""
    demo.change_workspace(ada.workspace, TODAY)
    (ada.workspace / "chart.md").write_bytes(os.urandom(400_000).hex().encode())


@pytest.mark.parametrize("step", STEPS)
def test_a_capture_that_is_killed_kept_all_or_nothing(ada: Harbour, step: CrashPoint) -> None:
    a_day(ada)
    day_tree = read_tree(ada.workspace)
    reached = 0
    for nth in range(1, 10):
        if not killed_at(lambda: capture_agent(ada.context, ada.agent), step, nth):
            break
        reached += 1
        if step in BEFORE_THE_COMMIT:
            assert ada.head == 0
        invariants.every_kept_sequence_has_its_digest(ada.context, ada.agent)
        invariants.the_audit_chain_is_whole(ada.context, ada.agent)
    assert reached, f"{step} was never reached"
    capture_agent(ada.context, ada.agent)
    assert ada.head == 1
    ada.trees[1] = day_tree
    invariants.always(ada.context, ada.agent, ada.trees)
    invariants.a_drill_succeeds(ada.context, ada.agent)


@pytest.mark.parametrize("step", STEPS)
def test_the_first_capture_that_is_killed_is_made_again(ada: Harbour, tmp_path: Path, step: CrashPoint) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        folder = ada.context.home.vault_folder(ada.agent.id)
        assert vault.head() is not None
    for path in (folder, ada.context.home.state_file(ada.agent.id)):
        path.rename(tmp_path / f"old-{path.name}")
    ada.context.create_vault(ada.agent.id).close()
    assert killed_at(lambda: capture_agent(ada.context, ada.agent), step)
    capture_agent(ada.context, ada.agent)
    assert ada.head == 0
    invariants.always(ada.context, ada.agent, ada.trees)


def test_every_named_step_of_a_capture_is_reached(ada: Harbour) -> None:
    a_day(ada)
    assert set(STEPS) == set(steps_of(lambda: capture_agent(ada.context, ada.agent)))


def test_no_body_without_a_row_is_left_behind(ada: Harbour) -> None:
    a_day(ada)
    assert killed_at(lambda: capture_agent(ada.context, ada.agent), CrashPoint.CAPTURE_ROWS_WRITTEN)
    ada.capture()
    bodies = [path for path in ada.context.home.vault_folder(ada.agent.id).rglob("*") if path.stat().st_size > 300_000]
    assert len([path for path in bodies if "objects" in path.parts]) <= 1
