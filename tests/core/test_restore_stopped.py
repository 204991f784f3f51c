"""Ctrl-C in the middle of a restore: all old or all new, no lock held, nothing left over, and honest words."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_alf.seams import steps
from lifeboat_alf.seams.steps import Step
from lifeboat_cli.demo.tree import differences, read_tree
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.processes.held_back import held_back
from lifeboat_core.restore import RestoreOptions, recover, restore, undo
from lifeboat_core.restore.run import TOO_LATE
from lifeboat_core.verify import verification
from support.core.harbour import Harbour, harbour_after_a_day
from support.prepared_folders import PreparedFolders


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Harbour:
    return prepared_folders.restore("ada after a day", harbour_after_a_day)


@pytest.fixture(autouse=True)
def interruptible() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def pressed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Step], list[Step]]:
    """Press Ctrl-C when a step is reached, once; the list says whether it was."""

    def at(wanted: Step) -> list[Step]:
        met: list[Step] = []

        def hook(step: Step) -> None:
            if step is wanted and not met:
                met.append(step)
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(steps, "hook", hook)
        return met

    return at


def nothing_is_left(ada: Harbour) -> None:
    assert recover(ada.context) == []
    assert list(ada.workspace.parent.glob(".*lifeboat-stage*")) == []
    with agent_lock(ada.context, ada.agent.id, "test"):
        pass


OLD = RestoreOptions(at=0, yes=True, reindex=False)


@pytest.mark.parametrize("step", [Step.RESTORE_PLANNED, Step.RESTORE_SAFETY_CAPTURED, Step.RESTORE_STAGED])
def test_before_the_first_move_everything_stays_as_it_was(
    ada: Harbour, pressed: Callable[[Step], list[Step]], step: Step
) -> None:
    before, met = read_tree(ada.workspace), pressed(step)
    with pytest.raises(KeyboardInterrupt):
        restore(ada.context, ada.agent, OLD)
    assert met
    assert differences(before, read_tree(ada.workspace)) == []
    nothing_is_left(ada)


def test_while_files_are_written_everything_stays_as_it_was(ada: Harbour, monkeypatch: pytest.MonkeyPatch) -> None:
    before, written = read_tree(ada.workspace), []

    def tell(text: str, done: int, total: int | None) -> None:
        if text == "Writing files" and done == 2:
            written.append(done)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        restore(ada.context, ada.agent, OLD, tell)
    assert written == [2]
    assert differences(before, read_tree(ada.workspace)) == []
    nothing_is_left(ada)


@pytest.mark.parametrize(
    "step",
    [
        Step.RESTORE_JOURNAL_WRITTEN,
        Step.RESTORE_MOVED_ASIDE,
        Step.RESTORE_MOVED_IN,
        Step.RESTORE_JOURNAL_REMOVED,
    ],
)
def test_from_the_first_move_on_it_is_done_to_its_end_and_said_so(
    ada: Harbour, pressed: Callable[[Step], list[Step]], step: Step
) -> None:
    met = pressed(step)
    report = restore(ada.context, ada.agent, OLD)
    assert met
    assert TOO_LATE in report.warnings
    assert differences(ada.trees[0], read_tree(ada.workspace)) == []
    nothing_is_left(ada)


def test_into_a_new_folder_it_is_whole_or_not_there(
    ada: Harbour, pressed: Callable[[Step], list[Step]], tmp_path: Path
) -> None:
    for step, there in ((Step.RESTORE_STAGED, False), (Step.RESTORE_RENAMED, True)):
        target = tmp_path / step.replace(".", "-") / "copy"
        met = pressed(step)
        options = RestoreOptions(at=0, to=target, reindex=False)
        if there:
            assert TOO_LATE in restore(ada.context, ada.agent, options).warnings
        else:
            with pytest.raises(KeyboardInterrupt):
                restore(ada.context, ada.agent, options)
        assert met
        assert target.exists() == there
        nothing_is_left(ada)


def test_an_undo_that_moves_is_done_to_its_end(ada: Harbour, pressed: Callable[[Step], list[Step]]) -> None:
    before = read_tree(ada.workspace)
    restore(ada.context, ada.agent, OLD)
    met = pressed(Step.RESTORE_MOVED_ASIDE)
    assert TOO_LATE in undo(ada.context, ada.agent).warnings
    assert met
    assert differences(before, read_tree(ada.workspace)) == []
    nothing_is_left(ada)


def test_a_drill_that_is_stopped_leaves_nothing(ada: Harbour) -> None:
    def tell(text: str, done: int, total: int | None) -> None:
        if text == "Comparing every byte" and done:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        verification.drill(ada.context, ada.agent, tell=tell)
    nothing_is_left(ada)
    assert verification.drill(ada.context, ada.agent).ok


# Holding it back ---------------------------------------------------------------------------------------------------


def test_what_is_held_back_comes_at_the_end() -> None:
    reached = []
    with pytest.raises(KeyboardInterrupt), held_back() as outer:
        with held_back():
            signal.raise_signal(signal.SIGINT)
            reached.append("inner")
        assert outer
        reached.append("outer")
    assert reached == ["inner", "outer"]


def test_what_was_taken_stops_nobody() -> None:
    with held_back() as pressed:
        assert not pressed.take()
        signal.raise_signal(signal.SIGINT)
        assert pressed.take()
        assert not pressed.take()


def test_an_error_within_is_not_hidden() -> None:
    with pytest.raises(ValueError, match="broken"), held_back():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("broken")
