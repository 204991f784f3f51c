"""How far long work is: figures, how seldom they are passed on, and the bar of a terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from lifeboat_cli.terminal import output
from lifeboat_cli.terminal.progress_bar import abbreviate_number, describe_pace, show_progress_bar
from lifeboat_core.processes.progress import (
    ProgressSteps,
    StepProgress,
    ThrottledProgress,
    compute_progress,
    count_units,
)
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_core.verify import samples_and_drills
from support.core.harbour import harbour


class Watch:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


Said = list[tuple[str, int, int | None]]


def test_the_pace_and_what_is_left_follow_from_what_was_done() -> None:
    assert compute_progress("Writing", 20, 100, 10.0) == StepProgress("Writing", 20, 100, 2.0, 40)
    assert compute_progress("Writing", 100, 100, 10.0) == StepProgress("Writing", 100, 100, 10.0, 0)


def test_nothing_is_guessed_before_anything_is_done() -> None:
    assert compute_progress("Writing", 0, 100, 10.0) == StepProgress("Writing", 0, 100, None, None)
    assert compute_progress("Writing", 3, None, 0.01) == StepProgress("Writing", 3, None, None, None)
    assert compute_progress("Writing", 30, None, 10.0).seconds_left is None


def test_each_step_is_timed_by_itself() -> None:
    watch, heard = Watch(), list[StepProgress]()
    steps = ProgressSteps("Restoring", heard.append, watch)
    steps("Writing", 0, 10)
    watch.now += 10
    steps("Writing", 10, 10)
    steps("Moving", 0, 10)
    watch.now += 1
    steps("Moving", 5, 10)
    assert [each.rate for each in heard] == [None, 1.0, None, 5.0]


def test_a_step_without_words_has_those_of_the_work() -> None:
    heard = list[StepProgress]()
    ProgressSteps("Restoring", heard.append)("", 1, 2)
    assert heard[0].text == "Restoring"


def test_the_first_comes_at_once_the_last_at_the_end_and_few_between() -> None:
    watch, heard = Watch(), list[StepProgress]()
    seldom = ThrottledProgress(heard.append, 0.2, watch)
    for number in range(101):
        seldom(compute_progress("Writing", number, 100, 1.0))
        watch.now += 0.01
    seldom.finish()
    seldom.finish()
    done = [each.done for each in heard]
    assert done[0] == 0 and done[-1] == 100 and 5 <= len(done) <= 7


def test_units_are_counted_to_their_total() -> None:
    said: Said = []
    one_more = count_units(lambda *each: said.append(each), "Writing", 2)
    one_more()
    one_more()
    assert said == [("Writing", 0, 2), ("Writing", 1, 2), ("Writing", 2, 2)]


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (StepProgress("x", 0, 10, None, None), ""),
        (StepProgress("x", 120, 4100, 35.0, 114), "120 of 4.1k, 35/s, 114 s left"),
        (StepProgress("x", 3_200_000, 12_000_000, 1_500_000.0, 600), "3.2M of 12.0M, 1.5M/s, 10 min left"),
        (StepProgress("x", 7, None, 2.0, None), "7, 2/s"),
    ],
)
def test_the_pace_in_words(told: StepProgress, text: str) -> None:
    assert describe_pace(told) == text


def test_large_numbers_are_short() -> None:
    assert [abbreviate_number(number) for number in (0, 999, 1000, 2.5e6, 3e9)] == ["0", "999", "1.0k", "2.5M", "3.0G"]


def test_a_terminal_shows_a_bar_and_keeps_nothing_of_it() -> None:
    said = io.StringIO()
    with show_progress_bar(Console(file=said, force_terminal=True, width=120), "Restoring") as tell:
        tell("Writing [files]", 3, 10)
    assert "Writing [files]" in said.getvalue() and "3 of 10" in said.getvalue()


def test_where_there_is_no_terminal_nothing_is_said() -> None:
    said = io.StringIO()
    with show_progress_bar(Console(file=said, force_terminal=False), "Restoring") as tell:
        tell("Writing", 3, 10)
    assert said.getvalue() == ""


def test_whoever_listens_hears_figures_in_place_of_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = list[StepProgress]()
    monkeypatch.setattr(output, "listener", heard.append)
    with output.CommandOutput(as_json=True).progress("Restoring") as tell:
        for number in range(1000):
            tell("Writing", number + 1, 1000)
    assert (heard[0].text, heard[0].done) == ("Restoring", 0)
    assert (heard[-1].text, heard[-1].done, heard[-1].total) == ("Writing", 1000, 1000)
    assert len(heard) < 20


def _steps(said: Said) -> list[str]:
    """The words of each step once; each has to count from 0 to its total."""
    names = list(dict.fromkeys(text for text, _, _ in said))
    for name in names:
        counts = [(done, total) for text, done, total in said if text == name]
        assert counts[0][0] == 0
        if counts[0][1] is not None:
            assert counts[-1] == (counts[0][1], counts[0][1])
    return names


def test_a_restore_tells_of_every_file(tmp_path: Path) -> None:
    ada, said = harbour(tmp_path), list[tuple[str, int, int | None]]()
    ada.day_passes()
    restore_agent(
        ada.context, ada.agent, RestoreOptions(at=0, yes=True, reindex=False), lambda *each: said.append(each)
    )
    assert _steps(said) == [
        "Capturing the workspace first",
        "Writing files",
        "Moving the restored files into place",
        "Capturing the restored workspace",
    ]


def test_a_restore_into_a_new_folder_counts_to_its_end(tmp_path: Path) -> None:
    ada, said = harbour(tmp_path), list[tuple[str, int, int | None]]()
    options = RestoreOptions(to=tmp_path / "copy", reindex=False)
    restore_agent(ada.context, ada.agent, options, lambda *each: said.append(each))
    assert _steps(said)[-2:] == ["Moving the restored files into place", "Capturing the restored workspace"]


def test_a_drill_tells_of_every_file(tmp_path: Path) -> None:
    ada, said = harbour(tmp_path), list[tuple[str, int, int | None]]()
    drill = samples_and_drills.drill_vault(ada.context, ada.agent, tell=lambda *each: said.append(each))
    assert _steps(said) == ["Reading every sequence", "Restoring into a temporary folder", "Comparing every byte"]
    assert said[-1] == ("Comparing every byte", drill.files, drill.files)
