"""The timeline screen: its rows, the preview of the row under the cursor, every key, and its failures."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from lifeboat_core.errors import Cancelled, DaemonError, NothingToRestore, NotRunning
from lifeboat_daemon.control.command_runner import CommandProgress
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.dashboard_screen import DashboardScreen
from lifeboat_tui.screens.history_search_screen import HistorySearchScreen
from lifeboat_tui.screens.timeline.diff_screen import DiffScreen
from lifeboat_tui.screens.timeline.timeline_screen import TimelineScreen
from lifeboat_tui.widgets.bar_chart import BarChart
from lifeboat_tui.widgets.progress_display import ProgressDisplay
from lifeboat_tui.widgets.question_dialogs import ChoiceDialog, TextDialog
from support.tui.histories import ada_of, difference, entry, file, history, opened, timeline
from support.tui.pilots import SIZES, dashboard, notes, press, settled, text_of

pytestmark = pytest.mark.anyio


@contextlib.asynccontextmanager
async def _shown(link: RecordedLink | None = None, **options: object) -> AsyncIterator[Pilot[None]]:
    async with dashboard(link or history(), screen="timeline", agent="ada", **options) as pilot:  # type: ignore[arg-type]
        yield pilot


def _screen(pilot: Pilot[None]) -> TimelineScreen:
    screen = pilot.app.screen
    assert isinstance(screen, TimelineScreen)
    return screen


def _here(pilot: Pilot[None]) -> str:
    row = _screen(pilot).table.current
    assert row is not None
    return row.key


def _keys(pilot: Pilot[None]) -> list[str]:
    return [row.key for row in _screen(pilot).table.rows if not row.heading]


def _asked(link: RecordedLink, word: str) -> list[tuple[str, ...]]:
    return [words for words, _ in link.asked if words[0] == word]


_FRAMES = "╭╮╰╯│─▁▂▃▄▅▆▇█▌▎▊…"
"""Frames drawn by Textual, and the sign of shortened text."""


# What is shown ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_sequences_stand_under_their_days_at_every_size(size: tuple[int, int]) -> None:
    async with _shown(size=size) as pilot:
        said = text_of(pilot)
        assert said.index("TODAY") < said.index("YESTERDAY") < said.index("WED 2026-11-18")
        assert "✓ this disk" in said and "restored: 3 files" in said
        assert "captures/hour" in said


async def test_names_and_pins_stand_beside_sequences_where_there_is_room() -> None:
    async with _shown(size=(200, 50)) as pilot:
        said = text_of(pilot)
        assert "before the move" in said and "release" in said


async def test_the_cursor_is_on_the_newest_and_the_workspace_stands_above_it() -> None:
    async with _shown() as pilot:
        assert _here(pilot) == "5"
        assert [row.key for row in _screen(pilot).table.rows if not row.heading] == [
            "workspace",
            "5",
            "4",
            "3",
            "2",
            "1",
        ]
        assert "not captured" in text_of(pilot)


async def test_a_workspace_that_is_as_kept_has_no_line() -> None:
    link = history()
    link.answers(["diff", ada_of(link)], difference(link, 5, None))
    async with _shown(link) as pilot:
        assert "workspace" not in _keys(pilot)


async def test_what_changed_follows_the_cursor() -> None:
    async with _shown() as pilot:
        assert "the note of 5" in text_of(pilot) and "this is the newest sequence on stick" in text_of(pilot)
        await press(pilot, "down")
        said = text_of(pilot)
        assert "the note of 4" in said and "changed by the user" in said and "the note of 5" not in said


async def test_a_sequence_that_was_seen_is_not_compared_again() -> None:
    link = history()
    async with _shown(link) as pilot:
        await press(pilot, "down", "up", "down")
        assert len([words for words in _asked(link, "diff") if "--limit" in words]) == 2


async def test_who_holds_a_key_down_compares_only_where_the_cursor_comes_to_rest() -> None:
    link = history()
    async with _shown(link) as pilot:
        link.asked.clear()
        table = _screen(pilot).table
        for _ in range(3):
            table.action_move(1)
        await settled(pilot)
        assert [words[2:4] for words in _asked(link, "diff")] == [("1", "2")]


async def test_the_first_sequence_has_nothing_before_it() -> None:
    async with _shown() as pilot:
        await press(pilot, "end")
        assert "This is the oldest stored sequence" in text_of(pilot)
        await press(pilot, "enter")
        assert (
            isinstance(pilot.app.screen, TimelineScreen) and "no earlier sequence to compare with" in notes(pilot)[-1]
        )


async def test_what_is_not_captured_is_told_on_the_line_of_the_workspace() -> None:
    async with _shown() as pilot:
        await press(pilot, "home")
        assert _here(pilot) == "workspace"
        shown = text_of(pilot)
        assert "The current changes are not captured yet." in shown and "Press s to capture them." in shown


async def test_a_comparison_that_was_cut_says_how_to_see_all() -> None:
    link = history()
    much = difference(link, 4, 5, files=[file("a.md", "changed", "@@ -1 +1 @@", "+x")], truncated=True)
    link.answers(["diff", ada_of(link), "4", "5"], much)
    async with _shown(link) as pilot:
        assert _screen(pilot).view.lines[-1].text.endswith("or run lifeboat diff ada 4 5")


async def test_an_agent_without_history_is_told_what_to_press() -> None:
    link = history()
    link.answers(["timeline", ada_of(link)], timeline(link, []))
    async with _shown(link) as pilot:
        assert "Press s to capture it now" in text_of(pilot)
        await press(pilot, "r")
        assert "the agent has no sequence yet" in notes(pilot)[-1]


async def test_what_cannot_be_answered_is_said_and_what_was_shown_stays() -> None:
    link = history()
    async with _shown(link) as pilot:
        link.fails(["timeline", ada_of(link)], NotRunning("the service went away"))
        await press(pilot, "ctrl+r")
        assert "the service went away" in text_of(pilot) and "TODAY" in text_of(pilot)


async def test_a_comparison_that_fails_is_said_beside_the_sequence() -> None:
    link = history()
    link.fails(["diff", ada_of(link), "4", "5"], NothingToRestore("sequence 4 was purged meanwhile"))
    async with _shown(link) as pilot:
        assert "was purged" in text_of(pilot)


async def test_a_workspace_that_cannot_be_read_is_said_in_its_line() -> None:
    link = history()
    link.fails(["diff", ada_of(link)], NotRunning("the folder is away"))
    async with _shown(link, size=(200, 50)) as pilot:
        assert "the workspace cannot be read" in text_of(pilot)


async def test_missing_fields_and_hostile_texts_are_survived() -> None:
    link = history()
    ada = ada_of(link)
    sparse = {"sequence": 7, "created_at": "2026-11-20T10:00:00Z", "label": "\x1b[31m[bold]red", "kind": "unheard of"}
    link.answers(["timeline", ada], {"agent": ada, "entries": [sparse]})
    async with _shown(link, size=(200, 50)) as pilot:
        said = text_of(pilot)
        assert "unheard of" in said and "[bold]red" in said and "\x1b" not in said


async def test_an_ascii_terminal_gets_letters_only() -> None:
    async with _shown(ascii=True) as pilot:
        await press(pilot, "m")
        said = text_of(pilot).translate(str.maketrans("", "", _FRAMES))
        assert {sign for sign in said if ord(sign) > 126} == set()


# Keys ---------------------------------------------------------------------------------------------------------------


async def test_enter_opens_the_whole_comparison_and_escape_comes_back() -> None:
    async with _shown() as pilot:
        await press(pilot, "enter")
        screen = pilot.app.screen
        assert isinstance(screen, DiffScreen) and (screen.first, screen.second) == ("4", "5")
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, TimelineScreen)


async def test_enter_on_the_workspace_compares_it_with_the_newest() -> None:
    async with _shown() as pilot:
        await press(pilot, "home", "enter")
        screen = pilot.app.screen
        assert isinstance(screen, DiffScreen) and (screen.first, screen.second) == ("5", "workspace")


async def test_d_compares_a_sequence_with_the_workspace() -> None:
    async with _shown() as pilot:
        await press(pilot, "down", "down", "d")
        screen = pilot.app.screen
        assert isinstance(screen, DiffScreen) and (screen.first, screen.second) == ("3", "workspace")


async def test_two_marks_compare_the_earlier_with_the_later() -> None:
    async with _shown() as pilot:
        await press(pilot, "m")
        assert "m1" in text_of(pilot)
        await press(pilot, "down", "down", "m")
        screen = pilot.app.screen
        assert isinstance(screen, DiffScreen) and (screen.first, screen.second) == ("3", "5")


async def test_the_workspace_can_be_marked_and_is_the_later_one() -> None:
    async with _shown() as pilot:
        await press(pilot, "home", "m", "down", "down", "m")
        screen = pilot.app.screen
        assert isinstance(screen, DiffScreen) and (screen.first, screen.second) == ("4", "workspace")


async def test_escape_takes_marks_away_before_it_leaves() -> None:
    async with dashboard(history(), agent="ada") as pilot:
        await press(pilot, "2", "m", "escape")
        assert isinstance(pilot.app.screen, TimelineScreen) and "m1" not in text_of(pilot)
        await press(pilot, "m", "m")
        assert "m1" not in text_of(pilot), "m takes its own mark away, too"


async def test_escape_clears_a_filter_and_keeps_the_mark() -> None:
    async with _shown() as pilot:
        await press(pilot, "m", "slash", *"move")
        assert _keys(pilot) == ["3"] and "1 of 6" in text_of(pilot)
        await press(pilot, "escape")
        assert "m1" in text_of(pilot) and len(_screen(pilot).table.rows) > 6


@pytest.mark.parametrize(("typed", "left"), [("restored", ["4"]), ("wednesday", ["2", "1"]), ("stick", ["5"])])
async def test_a_filter_knows_kinds_days_and_copies(typed: str, left: list[str]) -> None:
    async with _shown() as pilot:
        await press(pilot, "slash", *typed)
        assert _keys(pilot) == left


async def test_r_restores_from_the_sequence_under_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = opened(monkeypatch)
    async with _shown() as pilot:
        await press(pilot, "down", "r")
        assert [call["at"] for call in calls] == ["4"]


async def test_who_comes_back_from_a_restore_sees_what_has_become_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    opened(monkeypatch)
    link = history()
    async with _shown(link) as pilot:
        await press(pilot, "r")
        link.answers(["timeline", ada_of(link)], timeline(link, [entry(link, 6, 0, kind="restore")]))
        await press(pilot, "escape")
        assert "6" in _keys(pilot)


async def test_the_workspace_is_nothing_to_restore_name_or_verify() -> None:
    async with _shown() as pilot:
        await press(pilot, "home")
        for key in "rtv":
            await press(pilot, key)
            assert "select a sequence" in notes(pilot)[-1]


async def test_a_history_that_gave_way_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = opened(monkeypatch)
    aside = {"from": "aside", "since": "2026-11-18T10:00:00Z", "until": "2026-12-18T10:00:00Z"}
    async with _shown(history(set_aside=[aside])) as pilot:
        assert "An earlier history of this agent, which was replaced, is kept until 2026-12-18" in text_of(pilot)
        await press(pilot, "H")
        assert [call["remote"] for call in calls] == ["aside"]


async def test_of_several_that_gave_way_one_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = opened(monkeypatch)
    aside = [{"from": f"aside-{nth}", "since": "2026-11-18T10:00:00Z", "until": None} for nth in (1, 2)]
    async with _shown(history(set_aside=aside)) as pilot:
        await press(pilot, "H")
        assert isinstance(pilot.app.screen, ChoiceDialog)
        await press(pilot, "down", "enter")
        assert [call["remote"] for call in calls] == ["aside-2"]


async def test_without_one_that_gave_way_the_key_says_so() -> None:
    async with _shown() as pilot:
        await press(pilot, "H")
        assert "no earlier history of this agent was replaced" in notes(pilot)[-1]


async def test_a_sequence_gets_a_name() -> None:
    link = history()
    link.answers(["label", ada_of(link)], {"entry": entry(link, 5, 1)})
    async with _shown(link) as pilot:
        await press(pilot, "t")
        assert isinstance(pilot.app.screen, TextDialog)
        await press(pilot, *"calm", "enter")
        assert _asked(link, "label") == [("label", ada_of(link), "5", "calm")]
        assert "Sequence 5 is now named: calm" in notes(pilot)


async def test_an_empty_name_takes_it_away() -> None:
    link = history()
    link.answers(["label", ada_of(link)], {"entry": entry(link, 3, 26)})
    async with _shown(link) as pilot:
        await press(pilot, "down", "down", "t")
        field = pilot.app.screen.query_one(Input)
        assert field.value == "before the move"
        field.value = ""
        await press(pilot, "enter")
        assert _asked(link, "label") == [("label", ada_of(link), "3", "--remove")]


async def test_a_name_that_would_be_an_option_is_refused_before_anything_is_run() -> None:
    link = history()
    async with _shown(link) as pilot:
        await press(pilot, "t", *"-x", "enter")
        assert "cannot begin with -" in text_of(pilot)
        await press(pilot, "escape")
        assert _asked(link, "label") == []


async def test_a_name_that_is_refused_is_said() -> None:
    link = history()
    link.fails(["label", ada_of(link)], DaemonError.BAD_LABEL("that is no name"))
    async with _shown(link) as pilot:
        await press(pilot, "t", "x", "enter")
        assert "that is no name" in text_of(pilot)


async def test_only_looking_neither_names_nor_syncs() -> None:
    link = history()
    async with _shown(link, readonly=True) as pilot:
        for key in "ts":
            await press(pilot, key)
            assert "--readonly" in notes(pilot)[-1]
        assert _asked(link, "label") == _asked(link, "sync") == []


async def test_the_chart_is_drawn_by_days_on_demand() -> None:
    async with _shown() as pilot:
        await press(pilot, "D")
        assert "captures/day" in text_of(pilot)
        await press(pilot, "y")
        assert pilot.app.clipboard == "lifeboat timeline ada --days 60"
        await press(pilot, "D", "y")
        assert pilot.app.clipboard == "lifeboat timeline ada"


async def test_the_search_in_history_is_one_key_away_and_leads_to_a_sequence() -> None:
    link = history()
    hit = {"kind": "file", "path": "notes/2.md", "line": 1, "snippet": "[rudder]", "first": 2, "last": 2}
    link.answers(["search", ada_of(link), "rudder"], {"hits": [hit], "truncated": False})
    async with _shown(link) as pilot:
        await press(pilot, "F")
        assert isinstance(pilot.app.screen, HistorySearchScreen)
        await press(pilot, *"rudder", "enter", "enter")
        assert _here(pilot) == "2"


async def test_a_sequence_that_was_thinned_gives_way_to_the_one_before() -> None:
    link = history()
    entries = [entry(link, 9, 1), entry(link, 4, 30)]
    link.answers(["timeline", ada_of(link)], timeline(link, entries))
    async with _shown(link) as pilot:
        _screen(pilot).show_sequence(7)
        await settled(pilot)
        assert _here(pilot) == "4" and "7 is no longer stored" in notes(pilot)[-1]


# Long-running commands ------------------------------------------------------------------------------------------------


async def test_v_verifies_that_sequence_and_says_how_it_ended() -> None:
    link = history()
    progress = (CommandProgress("Reading back", 1, 2), CommandProgress("Comparing", 2, 2))
    link.answers(["verify", ada_of(link)], {"sequence": 4, "mismatches": []}, progress=progress)
    async with _shown(link) as pilot:
        await press(pilot, "down", "v")
        assert _asked(link, "verify") == [("verify", ada_of(link), "--at", "4")]
        assert "sequence 4 verified, every byte matches" in notes(pilot)[-1]
        assert not _screen(pilot).query_one(ProgressDisplay).has_class("-shown")


async def test_damage_that_is_found_is_an_error() -> None:
    link = history()
    link.answers(["verify", ada_of(link)], {"sequence": 5, "mismatches": ["a file differs"]}, status=1)
    async with _shown(link) as pilot:
        await press(pilot, "v")
        last = list(pilot.app._notifications)[-1]
        assert last.severity == "error" and "1 difference found" in last.message


class _Slow(RecordedLink):
    """Link whose verification runs until it is stopped."""

    async def run(self, *words: str, **more: object):  # type: ignore[no-untyped-def, override]
        if words[0] == "verify":
            self.asked.append((words, ""))
            more["tell"](CommandProgress("Reading back", 3, 8))  # type: ignore[operator]
            await asyncio.Event().wait()
        return await super().run(*words, **more)  # type: ignore[arg-type]


@contextlib.asynccontextmanager
async def _verifying(then: str = "v") -> AsyncIterator[tuple[Pilot[None], RecordedLink]]:
    link = history()
    link.__class__ = _Slow
    async with dashboard(link, agent="ada") as pilot:
        await press(pilot, "2")
        await pilot.press(then)
        await pilot.pause()
        yield pilot, link


async def test_work_shows_how_far_it_is_and_x_stops_it() -> None:
    async with _verifying() as (pilot, _):
        assert "Reading back" in text_of(pilot) and "3 of 8" in text_of(pilot)
        await press(pilot, "x")
        assert "stopped" in notes(pilot)[-1]
        assert not _screen(pilot).query_one(ProgressDisplay).has_class("-shown")
        await press(pilot, "x")
        assert "no command is running" in notes(pilot)[-1]


async def test_nothing_else_is_started_while_something_runs() -> None:
    async with _verifying() as (pilot, link):
        await pilot.press("s")
        await pilot.pause()
        assert "a command is running" in notes(pilot)[-1] and _asked(link, "sync") == []
        await press(pilot, "x")


async def test_work_goes_on_when_one_leaves_the_screen() -> None:
    async with _verifying() as (pilot, _):
        await pilot.press("1")
        await pilot.pause()
        assert isinstance(pilot.app.screen, DashboardScreen)
        running = [each for each in pilot.app.workers if each.group == "run" and each.is_running]
        assert len(running) == 1
        running[0].cancel()
        await settled(pilot)
        assert "stopped" in notes(pilot)[-1]


async def test_s_syncs_and_shows_what_is_new() -> None:
    link = history()
    link.answers(["sync", ada_of(link)], {"agents": [{"sequence": 6, "changed": True, "remotes": []}]})
    async with _shown(link) as pilot:
        before = len(_asked(link, "timeline"))
        await press(pilot, "s")
        assert "captured sequence 6" in notes(pilot)[-1] and len(_asked(link, "timeline")) > before


async def test_work_that_fails_says_what_helps() -> None:
    link = history()
    link.fails(["sync", ada_of(link)], Cancelled("somebody stopped it"))
    async with _shown(link) as pilot:
        await press(pilot, "s")
        assert "somebody stopped it" in text_of(pilot)


# Live updates ---------------------------------------------------------------------------------------------------------


async def test_a_capture_comes_in_by_itself_and_the_cursor_stays() -> None:
    link = history()
    ada = ada_of(link)
    async with _shown(link) as pilot:
        newer = [entry(link, 6, 0.1), entry(link, 5, 1), entry(link, 4, 2)]
        link.answers(["timeline", ada], timeline(link, newer))
        link.happens({"event": "capture", "agent": ada, "sequence": 6})
        await settled(pilot)
        await settled(pilot)
        said = text_of(pilot)
        assert _here(pilot) == "5" and any(line.lstrip("│▸ ").startswith("6 ") for line in said.splitlines())


async def test_what_happens_to_other_agents_asks_for_nothing() -> None:
    link = history()
    async with _shown(link) as pilot:
        before = len(_asked(link, "timeline"))
        link.happens({"event": "capture", "agent": "another"})
        await settled(pilot)
        assert len(_asked(link, "timeline")) == before


async def test_a_sequence_that_was_verified_by_the_service_is_asked_for_again() -> None:
    link = history()
    async with _shown(link) as pilot:
        before = len(_asked(link, "timeline"))
        status = await link.status()
        moment = (link.now() + timedelta(minutes=1)).isoformat()
        agents = [{**one, "last_verified_at": moment} for one in status["agents"]]
        link.answers(["status"], {**status, "agents": agents})
        link.happens({"event": "agent", "agent": {"id": ada_of(link)}})
        await settled(pilot)
        await settled(pilot)
        assert len(_asked(link, "timeline")) > before


async def test_five_thousand_sequences_open_and_scroll_without_lag() -> None:
    link = history()
    many = [entry(link, 5000 - nth, nth / 2) for nth in range(5000)]
    link.answers(["timeline", ada_of(link)], timeline(link, many))
    async with _shown(link) as pilot:
        began = time.process_time()
        _screen(pilot)._show()
        await pilot.pause()
        assert time.process_time() - began < 1.0
        await press(pilot, "end")
        assert _here(pilot) == "1"
        began = time.process_time()
        await pilot.press(*["pageup"] * 5)
        await pilot.pause()
        assert time.process_time() - began < 1.5


async def test_the_chart_shows_the_newest_where_there_is_little_room() -> None:
    async with _shown(size=(64, 20)) as pilot:
        chart = _screen(pilot).query_one(BarChart)
        said = str(chart.render())
        assert "▂▄  █ ▂▂" in said and "since Thu" in said, said
