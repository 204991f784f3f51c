"""The process ends at every step of a restore and of an undo, between the moves too. Afterwards the workspace is
wholly the old one or wholly the new one, and everything else that must hold holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_cli.demo.tree_comparison import list_differences, read_tree
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.restore import RestoreOptions, recover_restores, restore_agent, undo_restore
from support.core import invariants
from support.core.harbour import Harbour, harbour
from support.killing import RESTORE_STEPS, killed_at, steps_of
from support.prepared_folders import PreparedFolders

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="processes are killed as forks, which this system lacks"
)

INTO_A_FOLDER = (
    CrashPoint.RESTORE_STAGED,
    CrashPoint.RESTORE_JOURNAL_WRITTEN,
    CrashPoint.RESTORE_RENAMED,
    CrashPoint.RESTORE_JOURNAL_REMOVED,
)


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Harbour:
    return prepared_folders.restore("ada with three sequences", _ada_with_three_sequences)


def _ada_with_three_sequences(folder: Path) -> Harbour:
    """Three sequences; the workspace is as at the last."""
    made = harbour(folder)
    made.day_passes()
    made.another_day_passes()
    return made


def back_to(ada: Harbour, number: int) -> None:
    restore_agent(ada.context, ada.agent, RestoreOptions(at=number, yes=True, reindex=False))
    assert list_differences(ada.trees[number], read_tree(ada.workspace)) == []


@pytest.mark.parametrize("step", RESTORE_STEPS)
def test_a_restore_in_place_that_is_killed_is_all_old_or_all_new(ada: Harbour, step: CrashPoint) -> None:
    newest = ada.head
    outcomes = []
    for nth in range(1, 100):
        back_to(ada, newest)

        def go_back() -> None:
            restore_agent(ada.context, ada.agent, RestoreOptions(at=0, yes=True, reindex=False))

        if not killed_at(go_back, step, nth):
            break
        outcomes.append(invariants.is_all_old_or_all_new(ada.context, ada.workspace, ada.trees[newest], ada.trees[0]))
        invariants.every_kept_sequence_has_its_digest(ada.context, ada.agent)
        assert nothing_is_left_over(ada)
    assert outcomes, f"{step} was never reached"
    early = (
        CrashPoint.RESTORE_PLANNED,
        CrashPoint.RESTORE_SAFETY_CAPTURED,
        CrashPoint.RESTORE_STAGED,
        CrashPoint.RESTORE_JOURNAL_WRITTEN,
    )
    assert set(outcomes) == {"old" if step in early else "new"}
    invariants.always(ada.context, ada.agent, ada.trees)


def nothing_is_left_over(ada: Harbour) -> bool:
    beside = [name for name in os.listdir(ada.workspace.parent) if "lifeboat-stage" in name]
    inside = [name for name in os.listdir(ada.workspace) if "lifeboat" in name and name != ".lifeboatignore"]
    journals = [name for name in os.listdir(ada.context.home.restore_folder) if name.endswith(".json")]
    return beside == inside == journals == []


def test_every_named_step_of_an_in_place_restore_is_reached(ada: Harbour) -> None:
    seen = steps_of(lambda: restore_agent(ada.context, ada.agent, RestoreOptions(at=0, yes=True, reindex=False)))
    assert set(RESTORE_STEPS) <= set(seen)
    assert seen.count(CrashPoint.RESTORE_MOVED_ASIDE) > 2
    assert seen.count(CrashPoint.RESTORE_MOVED_IN) > 2


@pytest.mark.parametrize("step", INTO_A_FOLDER)
def test_a_restore_into_a_folder_that_is_killed_is_nothing_or_everything(
    ada: Harbour, tmp_path: Path, step: CrashPoint
) -> None:
    target = tmp_path / "copies" / "ada"

    def copy() -> None:
        restore_agent(ada.context, ada.agent, RestoreOptions(to=target, reindex=False))

    assert killed_at(copy, step)
    said = recover_restores(ada.context)
    assert len(said) == 1
    found = read_tree(target) if target.exists() else {}
    assert found == {} or list_differences(ada.trees[ada.head], found) == []
    assert [path.name for path in target.parent.glob("*")] == (["ada"] if found else [])
    assert bool(found) is (step in (CrashPoint.RESTORE_RENAMED, CrashPoint.RESTORE_JOURNAL_REMOVED))
    copy_again = restore_agent(ada.context, ada.agent, RestoreOptions(to=target, yes=True, reindex=False))
    assert copy_again.files["created"] + copy_again.files["same"] > 10


@pytest.mark.parametrize(
    "step", [CrashPoint.RESTORE_JOURNAL_WRITTEN, CrashPoint.RESTORE_MOVED_ASIDE, CrashPoint.RESTORE_MOVED_IN]
)
def test_an_undo_that_is_killed_is_all_old_or_all_new(ada: Harbour, step: CrashPoint) -> None:
    newest = ada.head
    for nth in range(1, 100):
        back_to(ada, newest)
        back_to(ada, 0)
        if not killed_at(lambda: undo_restore(ada.context, ada.agent), step, nth):
            break
        found = invariants.is_all_old_or_all_new(ada.context, ada.workspace, ada.trees[0], ada.trees[newest])
        assert found == ("old" if step is CrashPoint.RESTORE_JOURNAL_WRITTEN else "new")
    assert nth > 1, f"{step} was never reached"
    invariants.always(ada.context, ada.agent, ada.trees)


def test_a_recovery_that_is_killed_too_is_finished_by_the_next(ada: Harbour) -> None:
    newest = ada.head

    def go_back() -> None:
        restore_agent(ada.context, ada.agent, RestoreOptions(at=0, yes=True, reindex=False))

    assert killed_at(go_back, CrashPoint.RESTORE_MOVED_IN, 2)
    assert killed_at(lambda: recover_restores(ada.context), CrashPoint.RESTORE_MOVED_IN, 2)
    assert invariants.is_all_old_or_all_new(ada.context, ada.workspace, ada.trees[newest], ada.trees[0]) == "new"


def test_what_the_agent_writes_while_it_is_interrupted_is_kept(ada: Harbour) -> None:
    def go_back() -> None:
        restore_agent(ada.context, ada.agent, RestoreOptions(at=0, yes=True, reindex=False))

    assert killed_at(go_back, CrashPoint.RESTORE_MOVED_IN, 1)
    memory = ada.workspace / "MEMORY.md"
    memory.write_text("written while nobody looked\n")
    recover_restores(ada.context)
    assert memory.read_text() != "written while nobody looked\n"
    kept = [path.read_text() for path in ada.workspace.parent.glob(".workspace.lifeboat-undo-*/MEMORY.md*")]
    assert "written while nobody looked\n" in kept


def test_a_capture_between_crash_and_recovery_does_not_stop_the_recovery(ada: Harbour) -> None:
    newest = ada.head

    def go_back() -> None:
        restore_agent(ada.context, ada.agent, RestoreOptions(at=0, yes=True, reindex=False))

    assert killed_at(go_back, CrashPoint.RESTORE_MOVED_IN, 2)
    capture_agent(ada.context, ada.agent)
    assert invariants.is_all_old_or_all_new(ada.context, ada.workspace, ada.trees[newest], ada.trees[0]) == "new"
    invariants.always(ada.context, ada.agent, ada.trees)
