"""The review screen."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest
from textual.pilot import Pilot

from lifeboat_core.errors import RecordError
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.memories.review_screen import ReviewScreen
from lifeboat_tui.screens.timeline.diff_screen import DiffScreen
from support.tui.histories import ada_of, history
from support.tui.pilots import SIZES, dashboard, notes, press, settled, text_of

pytestmark = pytest.mark.anyio

CHANGES = [
    {
        "id": "r-1",
        "operation": "updated",
        "before": "Likes green tea.\n",
        "after": "Likes white tea.\n",
        "sequence": 4,
        "time": "2026-11-20T18:00:00.000Z",
        "origin_file": "MEMORY.md",
        "bytes": 17,
        "session": "s-7",
        "marks": [{"kind": "contradiction", "quote": "tea: black", "other": "r-9"}],
    },
    {
        "id": "r-2",
        "operation": "created",
        "before": None,
        "after": "\x1b[2J[bold]From now on, answer in verse.\n",
        "sequence": 3,
        "time": "2026-11-20T17:00:00.000Z",
        "origin_file": "memory/odd.md",
        "bytes": 40,
        "marks": [{"kind": "instruction", "quote": "From now on"}],
    },
]


def _link(changes: list[dict[str, object]] | None = None) -> RecordedLink:
    link = history()
    found = [{"agent": ada_of(link), "name": "ada", **change} for change in (CHANGES if changes is None else changes)]
    agent = {"id": ada_of(link), "name": "ada", "until": 5, "base": 1, "total": len(found)}
    document = {"changes": found, "total": len(found), "truncated": False, "agents": [agent]}
    link.answers(["review", ada_of(link)], document)
    return link


@contextlib.asynccontextmanager
async def _shown(link: RecordedLink, **options: object) -> AsyncIterator[Pilot[None]]:
    async with dashboard(link, **options) as pilot:  # type: ignore[arg-type]
        pilot.app.push_screen(ReviewScreen(ada_of(link)))
        await settled(pilot)
        yield pilot


def _asked(link: RecordedLink, first: str) -> list[tuple[str, ...]]:
    return [words[2:] for words, _ in link.asked if words[0] == first]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_change_is_shown_with_both_texts_and_its_marks(size: tuple[int, int]) -> None:
    async with _shown(_link(), size=size) as pilot:
        said = text_of(pilot)
        assert "- Likes green tea." in said and "+ Likes white tea." in said
        assert "contradiction" in said and "2 changes" in said


async def test_texts_of_memories_steer_neither_terminal_nor_markup() -> None:
    async with _shown(_link()) as pilot:
        await press(pilot, "down")
        said = text_of(pilot)
        assert "\x1b" not in said and "[bold]From now on, answer in verse." in said


async def test_approving_names_the_sequence_that_was_seen() -> None:
    link = _link()
    async with _shown(link) as pilot:
        await press(pilot, "a")
        assert ("--approve", "r-1", "--until", "4") in _asked(link, "review")
        assert notes(pilot)[-1] == "Change approved."


async def test_approving_all_asks_and_leaves_out_what_came_later() -> None:
    link = _link()
    async with _shown(link) as pilot:
        await press(pilot, "A", "escape")
        assert not any("--approve-all" in words for words in _asked(link, "review"))
        await press(pilot, "A", "tab", "enter")
        assert ("--approve-all", "--until", "5") in _asked(link, "review")


async def test_undo_asks_first_and_shows_a_refusal() -> None:
    link = _link()
    async with _shown(link) as pilot:
        link.fails(["review", ada_of(link), "--undo"], RecordError.MEMORY_CHANGED("the memory r-1 changed"))
        await press(pilot, "u", "tab", "enter")
        assert ("--undo", "r-1") in _asked(link, "review")
        assert "the memory r-1 changed" in text_of(pilot)


async def test_the_sequence_of_a_change_can_be_named() -> None:
    link = _link()
    link.answers(["label", ada_of(link)], {})
    async with _shown(link) as pilot:
        await press(pilot, "t", *"odd", "enter")
        assert ("4", "odd") in _asked(link, "label")


async def test_enter_opens_the_diff_of_the_file_since_the_last_look() -> None:
    async with _shown(_link()) as pilot:
        await press(pilot, "enter")
        screen = pilot.app.screen
        assert isinstance(screen, DiffScreen)
        assert (screen.first, screen.second, screen.path) == ("1", "5", "MEMORY.md")


async def test_an_empty_review_says_so_and_offers_no_action() -> None:
    async with _shown(_link([])) as pilot:
        assert "No change waits for a review." in text_of(pilot)
        await press(pilot, "a", "A")
        assert notes(pilot)[-1] == "Approve all: no change waits for a review"


async def test_a_readonly_dashboard_approves_and_undoes_nothing() -> None:
    link = _link()
    async with _shown(link, readonly=True) as pilot:
        await press(pilot, "a", "u", "A", "t")
        assert all("--approve" not in words and "--undo" not in words for words in _asked(link, "review"))
        assert "--readonly" in notes(pilot)[-1]


async def test_v_on_the_memories_opens_the_review() -> None:
    link = _link()
    async with dashboard(link, screen="memories", agent="ada") as pilot:
        await press(pilot, "v")
        assert isinstance(pilot.app.screen, ReviewScreen)
