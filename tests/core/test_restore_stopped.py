"""Ctrl-C during a restore: all old or all new, no lock held, nothing left over, and a correct message."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_cli.demo.tree_comparison import list_differences, read_tree
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.processes.defer_interrupt import defer_interrupt
from lifeboat_core.restore import RestoreOptions, recover_restores, restore_agent, undo_restore
from lifeboat_core.restore.restore_run import TOO_LATE
from lifeboat_core.verify import samples_and_drills
from support.core.harbour import Harbour, harbour_after_a_day
from support.prepared_folders import PreparedFolders


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Harbour:
    return prepared_folders.restore("ada after a day", harbour_after_a_day)


@pytest.fixture(autouse=True)
def interruptible() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def pressed(monkeypatch: pytest.MonkeyPatch) -> Callable[[CrashPoint], list[CrashPoint]]:
    """Press Ctrl-C when a crash point is reached, once; the list says whether it was."""

    def at(wanted: CrashPoint) -> list[CrashPoint]:
        met: list[CrashPoint] = []

        def hook(step: CrashPoint) -> None:
            if step is wanted and not met:
                met.append(step)
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(crash_points, "hook", hook)
        return met

    return at


def nothing_is_left(ada: Harbour) -> None:
    assert recover_restores(ada.context) == []
    assert list(ada.workspace.parent.glob(".*lifeboat-stage*")) == []
    with agent_lock(ada.context, ada.agent.id, "test"):
        pass


OLD = RestoreOptions(at=0, yes=True, reindex=False)


@pytest.mark.parametrize(
    "step", [CrashPoint.RESTORE_PLANNED, CrashPoint.RESTORE_SAFETY_CAPTURED, CrashPoint.RESTORE_STAGED]
)
def test_before_the_first_move_everything_stays_as_it_was(
    ada: Harbour, pressed: Callable[[CrashPoint], list[CrashPoint]], step: CrashPoint
) -> None:
    before, met = read_tree(ada.workspace), pressed(step)
    with pytest.raises(KeyboardInterrupt):
        restore_agent(ada.context, ada.agent, OLD)
    assert met
    assert list_differences(before, read_tree(ada.workspace)) == []
    nothing_is_left(ada)


def test_while_files_are_written_everything_stays_as_it_was(ada: Harbour, monkeypatch: pytest.MonkeyPatch) -> None:
    before, written = read_tree(ada.workspace), []

    def tell(text: str, done: int, total: int | None) -> None:
        if text == "Writing files" and done == 2:
            written.append(done)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        restore_agent(ada.context, ada.agent, OLD, tell)
    assert written == [2]
    assert list_differences(before, read_tree(ada.workspace)) == []
    nothing_is_left(ada)


@pytest.mark.parametrize(
    "step",
    [
        CrashPoint.RESTORE_JOURNAL_WRITTEN,
        CrashPoint.RESTORE_MOVED_ASIDE,
        CrashPoint.RESTORE_MOVED_IN,
        CrashPoint.RESTORE_JOURNAL_REMOVED,
    ],
)
def test_from_the_first_move_on_it_is_done_to_its_end_and_said_so(
    ada: Harbour, pressed: Callable[[CrashPoint], list[CrashPoint]], step: CrashPoint
) -> None:
    met = pressed(step)
    report = restore_agent(ada.context, ada.agent, OLD)
    assert met
    assert TOO_LATE in report.warnings
    assert list_differences(ada.trees[0], read_tree(ada.workspace)) == []
    nothing_is_left(ada)


def test_into_a_new_folder_it_is_whole_or_not_there(
    ada: Harbour, pressed: Callable[[CrashPoint], list[CrashPoint]], tmp_path: Path
) -> None:
    for step, there in ((CrashPoint.RESTORE_STAGED, False), (CrashPoint.RESTORE_RENAMED, True)):
        target = tmp_path / step.replace(".", "-") / "copy"
        met = pressed(step)
        options = RestoreOptions(at=0, to=target, reindex=False)
        if there:
            assert TOO_LATE in restore_agent(ada.context, ada.agent, options).warnings
        else:
            with pytest.raises(KeyboardInterrupt):
                restore_agent(ada.context, ada.agent, options)
        assert met
        assert target.exists() == there
        nothing_is_left(ada)


def test_an_undo_that_moves_is_done_to_its_end(ada: Harbour, pressed: Callable[[CrashPoint], list[CrashPoint]]) -> None:
    before = read_tree(ada.workspace)
    restore_agent(ada.context, ada.agent, OLD)
    met = pressed(CrashPoint.RESTORE_MOVED_ASIDE)
    assert TOO_LATE in undo_restore(ada.context, ada.agent).warnings
    assert met
    assert list_differences(before, read_tree(ada.workspace)) == []
    nothing_is_left(ada)


def test_a_drill_that_is_stopped_leaves_nothing(ada: Harbour) -> None:
    def tell(text: str, done: int, total: int | None) -> None:
        if text == "Comparing every byte" and done:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        samples_and_drills.drill_vault(ada.context, ada.agent, tell=tell)
    nothing_is_left(ada)
    assert samples_and_drills.drill_vault(ada.context, ada.agent).ok


# Holding it back ---------------------------------------------------------------------------------------------------


def test_what_is_held_back_comes_at_the_end() -> None:
    reached = []
    with pytest.raises(KeyboardInterrupt), defer_interrupt() as outer:
        with defer_interrupt():
            signal.raise_signal(signal.SIGINT)
            reached.append("inner")
        assert outer
        reached.append("outer")
    assert reached == ["inner", "outer"]


def test_what_was_taken_stops_nobody() -> None:
    with defer_interrupt() as pressed:
        assert not pressed.take()
        signal.raise_signal(signal.SIGINT)
        assert pressed.take()
        assert not pressed.take()


def test_an_error_within_is_not_hidden() -> None:
    with pytest.raises(ValueError, match="broken"), defer_interrupt():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("broken")
