"""The search screen."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from lifeboat_core.errors import NotRunning
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.history_search_screen import HistorySearchScreen
from lifeboat_tui.screens.timeline.timeline_screen import TimelineScreen
from support.tui.histories import ada_of, history, opened
from support.tui.pilots import SIZES, dashboard, notes, press, settled, text_of

pytestmark = pytest.mark.anyio

HITS = [
    {
        "kind": "file",
        "path": "notes/3.md",
        "line": 12,
        "snippet": "the red boat needs a [rudder]",
        "first": 3,
        "last": 5,
        "present": True,
    },
    {
        "kind": "memory",
        "id": "r-1",
        "snippet": "a [rudder] was ordered",
        "origin_file": "MEMORY.md",
        "memory_type": "semantic",
        "first": 2,
        "last": 4,
        "present": False,
        "sequence": 4,
    },
    {"kind": "memory", "id": "r-2", "snippet": "\x1b[31m[bold]", "memory_type": "episodic", "first": 1, "last": 1},
]


def _link(hits: list[dict[str, object]] | None = None, **more: object) -> RecordedLink:
    link = history()
    document = {"history": True, "truncated": False, "hits": HITS if hits is None else hits, **more}
    link.answers(["search", ada_of(link)], document)
    return link


@contextlib.asynccontextmanager
async def _shown(link: RecordedLink | None = None, *typed: str, **options: object) -> AsyncIterator[Pilot[None]]:
    link = link or _link()
    async with dashboard(link, **options) as pilot:  # type: ignore[arg-type]
        pilot.app.push_screen(HistorySearchScreen(ada_of(link)))
        await settled(pilot)
        if typed:
            await press(pilot, *typed, "enter")
        yield pilot


async def test_nothing_is_asked_before_words_are_typed() -> None:
    link = _link()
    async with _shown(link) as pilot:
        assert "Type words and press enter" in text_of(pilot)
        assert isinstance(pilot.app.focused, Input)
        await press(pilot, "enter")
        assert not [words for words, _ in link.asked if words[0] == "search"]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_places_say_where_and_in_which_sequences_words_stood(size: tuple[int, int]) -> None:
    async with _shown(None, *"rudder", size=size) as pilot:
        said = text_of(pilot)
        assert "notes/3.md:12" in said and "[rudder]" in said and "there" in said and "gone" in said
        await press(pilot, "down")
        assert "The match is in sequences 2 to 4. It was removed afterwards." in text_of(pilot)


async def test_the_command_that_finds_the_same_is_copied() -> None:
    async with _shown(None, *"red", "space", *"boat") as pilot:
        await press(pilot, "y")
        assert pilot.app.clipboard == "lifeboat search ada red boat --history --limit 500"


async def test_a_dash_in_front_makes_no_option_of_a_word() -> None:
    link = _link()
    async with _shown(link, *"--help", "space", "-"):
        assert link.asked[-1][0][2:] == ("help", "--history", "--limit", "500")


async def test_words_that_stand_nowhere_are_said_to() -> None:
    async with _shown(_link([]), *"nowhere") as pilot:
        assert "No sequence of ada contains these words" in text_of(pilot)
        await press(pilot, "tab")
        for key in ("r",):
            await press(pilot, key)
            assert "no match is selected" in notes(pilot)[-1]


async def test_more_than_is_shown_is_said() -> None:
    async with _shown(_link(truncated=True), *"rudder") as pilot:
        assert "the newest 3" in text_of(pilot)


async def test_enter_goes_to_the_sequence_where_it_stood_last() -> None:
    async with _shown(None, *"rudder") as pilot:
        await press(pilot, "down", "enter")
        screen = pilot.app.screen
        assert isinstance(screen, TimelineScreen)
        assert screen.chosen is not None and screen.chosen.sequence == 4


async def test_enter_goes_to_where_it_came_if_it_is_still_there() -> None:
    async with _shown(None, *"rudder") as pilot:
        await press(pilot, "enter")
        screen = pilot.app.screen
        assert isinstance(screen, TimelineScreen) and screen.chosen is not None and screen.chosen.sequence == 3


async def test_figures_are_whole_when_a_scrollbar_stands_beside_them() -> None:
    many = [{**HITS[0], "line": line, "last": 4321} for line in range(60)]
    async with _shown(_link(many), *"rudder", size=(80, 24)) as pilot:
        assert text_of(pilot).count("4321") > 5


async def test_r_brings_the_file_back_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = opened(monkeypatch)
    async with _shown(None, *"rudder") as pilot:
        await press(pilot, "r", "escape", "down", "r", "escape", "down", "r")
        assert [(call["at"], call["paths"]) for call in calls] == [
            ("5", ("notes/3.md",)),
            ("4", ("MEMORY.md",)),
            ("1", ()),
        ]


async def test_other_words_can_be_searched_for() -> None:
    link = _link()
    async with _shown(link, *"rudder") as pilot:
        await press(pilot, "F", "home", "x", "enter")
        assert link.asked[-1][0][2] == "xrudder"


async def test_a_search_that_fails_is_said_and_can_be_left() -> None:
    link = _link()
    link.fails(["search", ada_of(link)], NotRunning("the index is away"))
    async with _shown(link, *"rudder") as pilot:
        assert "the index is away" in text_of(pilot)
        await press(pilot, "escape")
        assert not isinstance(pilot.app.screen, HistorySearchScreen)


async def test_hostile_snippets_do_not_reach_the_terminal() -> None:
    async with _shown(None, *"rudder") as pilot:
        await press(pilot, "down", "down")
        said = text_of(pilot)
        assert "\x1b" not in said and "[bold]" in said
