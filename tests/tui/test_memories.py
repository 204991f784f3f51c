"""The list of memories with its filters, the memory under the cursor, and the actions on a memory."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from textual.pilot import Pilot

from lifeboat_core.errors import Busy, UnknownRecord
from lifeboat_tui.link import LinkStage, LinkStatus
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.dashboard_screen import DashboardScreen
from lifeboat_tui.screens.memories.memories_screen import MemoriesScreen
from lifeboat_tui.screens.memories.memory_screen import MemoryScreen
from lifeboat_tui.screens.purge.purge_wizard import PurgeWizard
from lifeboat_tui.screens.timeline.timeline_screen import TimelineScreen
from support.tui.memories_home import agent_id, memory, page, remembering, shown
from support.tui.pilots import SIZES, dashboard, notes, press, recorded, settled, text_of

pytestmark = pytest.mark.anyio


def _open(link: RecordedLink | None = None, **options: Any) -> Any:
    return dashboard(link or remembering(), screen="memories", agent="ada", **options)


def _asked(link: RecordedLink, *words: str) -> list[tuple[str, ...]]:
    return [each for each, _ in link.asked if each[: len(words)] == words]


def _lists(link: RecordedLink) -> list[tuple[str, ...]]:
    """Return the options of each list request, without the agent and the limit."""
    return [words[3:-2] for words in _asked(link, "records", "list")]


# What is shown ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_memories_stand_with_the_whole_of_the_one_under_the_cursor(size: tuple[int, int]) -> None:
    async with _open(size=size) as pilot:
        said = text_of(pilot)
        assert "Memories [3]" in said and "What number 2 says" in said and "All of it." in said


async def test_where_a_memory_comes_from_stands_beside_it() -> None:
    async with _open(size=(200, 50)) as pilot:
        said = text_of(pilot)
    for part in ("MEMORY.md in openclaw 2026.2, agent written", "session-7", "version 2", "harbour", "75%", "3 times"):
        assert part in said
    assert "from sequence 41 until now" in said and "about 2026-11-19 00:00" in said


async def test_the_cursor_reads_the_memory_on_which_it_rests() -> None:
    link = remembering()
    ada = agent_id(link)
    link.answers(["records", "show", ada, "m2"], shown("m2", "The third one."))
    async with _open(link) as pilot:
        await press(pilot, "G")
        assert "The third one." in text_of(pilot)
        await press(pilot, "g", "G")
    assert len(_asked(link, "records", "show", ada, "m2")) == 1, "what was read is remembered"


async def test_who_holds_a_key_down_reads_only_the_last_one() -> None:
    link = remembering(50)
    async with _open(link) as pilot:
        table = pilot.app.screen.table  # type: ignore[attr-defined]
        for at in range(1, 31):
            table.cursor = at
            await asyncio.sleep(0)
        await settled(pilot)
        assert [words[-1] for words in _asked(link, "records", "show")] == ["m0", "m30"]


async def test_a_memory_that_cannot_be_read_keeps_its_beginning_and_says_why() -> None:
    link = remembering()
    link.fails(["records", "show"], Busy("another process has the vault"))
    async with _open(link, size=(200, 50)) as pilot:
        said = text_of(pilot)
        assert "another process" in said and said.count("What number 0 says") == 2


async def test_what_an_agent_wrote_does_not_steer_the_terminal() -> None:
    link = remembering()
    link.answers(["records", "show"], shown(text="before\x1b[31m[bold]after[/]\u202e"))
    async with _open(link) as pilot:
        said = text_of(pilot)
        assert "\x1b" not in said and "\u202e" not in said and "[bold]after[/]" in said


async def test_nothing_remembered_says_what_fills_the_list() -> None:
    async with _open(remembering(0)) as pilot:
        assert "No memories have been captured yet" in text_of(pilot)
        await press(pilot, "f")
        assert "select a memory first" in notes(pilot)[-1]


async def test_a_list_that_cannot_be_had_is_said_in_the_banner_and_asked_for_again() -> None:
    link = remembering()
    link.fails(["records", "list"], Busy("another process has the vault"))
    async with _open(link) as pilot:
        assert "another process has the vault" in text_of(pilot)
        link.answers(["records", "list"], page([memory(0)]))
        await press(pilot, "ctrl+r")
        assert "another process" not in text_of(pilot) and "What number 0 says" in text_of(pilot)


async def test_without_a_daemon_the_memories_are_there_all_the_same() -> None:
    link = remembering()
    link.connection = LinkStatus(LinkStage.DOWN)
    async with _open(link) as pilot:
        assert "The daemon is not running" in text_of(pilot) and "What number 0 says" in text_of(pilot)


async def test_a_capture_of_the_agent_brings_new_memories_and_leaves_the_cursor() -> None:
    link = remembering()
    async with _open(link) as pilot:
        await press(pilot, "down")
        link.answers(["records", "list"], page([memory(9, snippet="Brand new"), *map(memory, range(3))]))
        link.happens({"event": "capture", "agent": agent_id(link)})
        await settled(pilot)
        assert "Brand new" in text_of(pilot)
        assert pilot.app.screen.memory_id == "m1"  # type: ignore[attr-defined]


# Many memories ------------------------------------------------------------------------------------------------------


async def test_the_next_page_comes_when_the_cursor_nears_the_end() -> None:
    link = remembering(500, total=800, next="m499")
    link.answers(["records", "list", agent_id(link), "--limit", "1000"], page(map(memory, range(500, 800)), total=800))
    async with _open(link) as pilot:
        assert "Memories, the newest of 800 [500]" in text_of(pilot)
        await press(pilot, "G")
        assert "Memories [800]" in text_of(pilot)
        assert _asked(link, "records", "list")[-1][-2:] == ("--after", "m499")
        await press(pilot, "G")
        assert "What number 799 says" in text_of(pilot)


async def test_ten_thousand_memories_do_not_make_the_keys_wait() -> None:
    async with _open(remembering(10_000)) as pilot:
        assert "Memories [10000]" in text_of(pilot)
        begun = time.process_time()
        for key in ("G", "g", "pagedown", "down", "up", "G"):
            await pilot.press(key)
        assert time.process_time() - begun < 3.0
        await settled(pilot)
        assert "What number 9999 says" in text_of(pilot)


# Filters ------------------------------------------------------------------------------------------------------------


async def test_a_type_is_chosen_with_its_count_and_stands_in_the_title() -> None:
    link = remembering()
    async with _open(link) as pilot:
        await press(pilot, "T")
        assert "episodic  (1)" in text_of(pilot)
        await press(pilot, "down", "down", "enter")
        assert "Memories · type: episodic" in text_of(pilot)
    assert _lists(link)[-1] == ("--type", "episodic")


async def test_deleted_ones_are_shown_when_asked_for() -> None:
    link = remembering()
    async with _open(link) as pilot:
        await press(pilot, "D", "end", "enter")
        assert _lists(link)[-1] == ("--status", "deleted") and "state: deleted" in text_of(pilot)


async def test_versions_of_the_identity_are_offered_by_number() -> None:
    link = remembering()
    async with _open(link) as pilot:
        await press(pilot, "I", "down", "enter")
    assert _lists(link)[-1] == ("--identity-version", "2")


async def test_words_are_looked_for_in_everything() -> None:
    link = remembering()
    async with _open(link) as pilot:
        await press(pilot, "w", *"red boat", "enter")
        assert _lists(link)[-1] == ("--words", "red boat") and "words: red boat" in text_of(pilot)
        await press(pilot, "down")
        assert pilot.app.screen.memory_id == "m1"  # type: ignore[attr-defined]


async def test_words_are_looked_for_when_one_stops_typing() -> None:
    link = remembering()
    async with _open(link) as pilot:
        await press(pilot, "w", *"tea")
        await pilot.pause(0.6)
        await settled(pilot)
        assert _lists(link)[-1] == ("--words", "tea")


async def test_esc_takes_back_one_after_the_other_the_last_first() -> None:
    link = remembering()
    async with _open(link) as pilot:
        await press(pilot, "T", "down", "enter", "D", "down", "enter", "w", *"x", "enter", "slash", *"2", "enter")
        assert "[1 of 3]" in text_of(pilot)
        expected = [
            ("--type", "semantic", "--status", "active", "--words", "x"),
            ("--type", "semantic", "--status", "active"),
            ("--type", "semantic"),
            (),
        ]
        for narrowed in expected:
            await press(pilot, "escape")
            assert _lists(link)[-1] == narrowed
        assert isinstance(pilot.app.screen, MemoriesScreen)
        await press(pilot, "escape")


async def test_a_list_that_is_narrowed_begins_at_its_top() -> None:
    link = remembering(30)
    async with _open(link) as pilot:
        await press(pilot, "G")
        link.answers(["records", "list"], page(map(memory, range(10))))
        await press(pilot, "T", "down", "enter")
        assert pilot.app.screen.memory_id == "m0"  # type: ignore[attr-defined]


async def test_what_fits_nothing_says_how_to_go_back() -> None:
    link = remembering()
    link.answers(["records", "list", agent_id(link), "--status"], page([]))
    async with _open(link) as pilot:
        await press(pilot, "D", "down", "enter")
        assert "No memory matches the filters. Press esc" in text_of(pilot)


# Actions ------------------------------------------------------------------------------------------------------------


async def test_a_forgotten_memory_stays_in_sight_and_is_brought_back_by_the_same_key() -> None:
    link = remembering()
    ada = agent_id(link)
    link.answers(["records", "forget"], {"sequence": 45, "changed": True})
    link.answers(["records", "restore"], {"sequence": 46, "changed": True})
    link.answers(["records", "show", ada, "m1"], shown("m1b", status="deleted", forgotten=True))
    async with _open(link) as pilot:
        await press(pilot, "down", "f")
        assert notes(pilot)[-1] == "Memory forgotten. Press f to show it again."
        assert "forgotten" in text_of(pilot).split("What number 1 says")[0].splitlines()[-1]
        await press(pilot, "p")
        assert "this memory was forgotten or deleted" in notes(pilot)[-1]
        link.answers(["records", "show", ada, "m1b"], shown("m1c"))
        await press(pilot, "f")
        assert notes(pilot)[-1] == "Memory restored."
        assert pilot.app.screen.memory_id == "m1c"  # type: ignore[attr-defined]
    assert _asked(link, "records", "restore") == [("records", "restore", ada, "m1b")]


async def test_p_pins_and_takes_the_pin_away() -> None:
    link = remembering()
    link.answers(["records", "pin"], {"sequence": 45, "changed": True})
    link.answers(["records", "unpin"], {"sequence": 46, "changed": False})
    async with _open(link) as pilot:
        link.answers(["records", "show"], shown("m0", pinned=True))
        await press(pilot, "p")
        assert "Lifeboat archives it instead of deleting it" in notes(pilot)[-1] and "pinned" in text_of(pilot)
        await press(pilot, "p")
        assert notes(pilot)[-1] == "The memory was already in this state, so nothing changed."


async def test_a_change_that_fails_is_said_and_changes_nothing_in_sight() -> None:
    link = remembering()
    link.fails(["records", "forget"], UnknownRecord("it was purged"))
    async with _open(link) as pilot:
        await press(pilot, "f")
        assert "it was purged" in notes(pilot)[-1] and "it was purged" in text_of(pilot)
        assert "forgotten" not in text_of(pilot)


async def test_a_dashboard_that_only_looks_changes_no_memory() -> None:
    link = remembering()
    async with _open(link, readonly=True) as pilot:
        await press(pilot, "f", "p")
        assert "--readonly" in notes(pilot)[-1]
    assert {words[1] for words in _asked(link, "records")} == {"list", "show"}


async def test_o_opens_the_timeline_at_the_sequence_that_wrote_it() -> None:
    async with _open(recorded()) as pilot:
        await press(pilot, "o")
        assert isinstance(pilot.app.screen, TimelineScreen)
        assert pilot.app.screen.chosen is not None and pilot.app.screen.chosen.sequence == 44


async def test_o_says_when_no_sequence_is_known() -> None:
    link = remembering()
    link.answers(["records", "show"], shown(first_sequence=None, last_sequence=None))
    async with _open(link) as pilot:
        assert "not in any stored sequence" in text_of(pilot)
        await press(pilot, "o")
        assert "no longer stored" in notes(pilot)[-1]


async def test_capital_p_opens_the_purge_of_this_memory() -> None:
    async with _open() as pilot:
        await press(pilot, "P")
        assert isinstance(pilot.app.screen, PurgeWizard)


async def test_y_copies_the_command_that_shows_the_memory_or_the_list() -> None:
    async with _open() as pilot:
        await press(pilot, "y")
        assert pilot.app.clipboard == "lifeboat records show ada m0"
    link = remembering(0)
    async with _open(link) as pilot:
        await press(pilot, "w", *"red boat", "enter", "y")
        assert pilot.app.clipboard == "lifeboat records list ada --words 'red boat'"


# The screen of one memory -------------------------------------------------------------------------------------------


def _chained() -> RecordedLink:
    link = remembering()
    chain = [
        {"id": "old", "sequence": None, "time": None, "current": False, "purged": True},
        {"id": "mid", "sequence": 30, "time": "2026-11-15T10:00:00Z", "current": False, "purged": False},
        {"id": "m0", "sequence": 41, "time": "2026-11-19T10:00:00Z", "current": True, "purged": False},
    ]
    links = [
        {"id": "x", "relation": "supports", "target": "m2", "state": "present", "snippet": "The third"},
        {"id": "y", "relation": "refines", "target": None, "state": "missing", "snippet": ""},
        {"id": "z", "relation": "refines", "target": None, "state": "purged", "snippet": ""},
    ]
    link.answers(["records", "show", agent_id(link), "m0"], shown(chain=chain, links=links))
    link.answers(["records", "show", agent_id(link), "m2"], shown("m2", "The third one, whole."))
    return link


async def _opened(pilot: Pilot[None], *keys: str) -> str:
    await press(pilot, "enter", *keys)
    return text_of(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_enter_opens_the_memory_with_what_it_was_and_what_it_leads_to(size: tuple[int, int]) -> None:
    async with _open(_chained(), size=size) as pilot:
        said = await _opened(pilot)
        assert isinstance(pilot.app.screen, MemoryScreen)
        assert "All of it." in said and "EARLIER VERSIONS" in said


async def test_links_say_whether_their_target_is_there() -> None:
    async with _open(_chained()) as pilot:
        said = await _opened(pilot)
        assert "● there" in said and "? missing" in said and "✖ purged" in said


async def test_enter_on_a_link_goes_to_its_target_and_esc_comes_back() -> None:
    async with _open(_chained()) as pilot:
        said = await _opened(pilot, "down", "down", "enter")
        assert "The third one, whole." in said
        await press(pilot, "escape")
        assert "All of it." in text_of(pilot)
        await press(pilot, "down", "enter")
        assert "linked memory is missing" in notes(pilot)[-1]


async def test_enter_on_an_earlier_text_opens_the_timeline_where_it_was_said() -> None:
    async with _open(_chained()) as pilot:
        await _opened(pilot, "down", "enter")
        assert "this version was destroyed by a purge" in notes(pilot)[-1]
        await press(pilot, "up", "enter")
        assert isinstance(pilot.app.screen, TimelineScreen)
        assert pilot.app.screen.chosen is not None and pilot.app.screen.chosen.sequence == 30


async def test_a_text_of_any_length_is_shown_and_what_is_left_out_is_said() -> None:
    link = remembering()
    link.answers(["records", "show"], shown(text="word " * 60_000))
    async with _open(link) as pilot:
        await _opened(pilot)
        area = pilot.app.screen.query_one("#words")
        assert "all 300000 characters" in area.text  # type: ignore[attr-defined]


async def test_what_is_changed_on_its_own_screen_is_changed_in_the_list() -> None:
    link = remembering()
    link.answers(["records", "pin"], {"sequence": 45, "changed": True})
    async with _open(link) as pilot:
        await _opened(pilot)
        link.answers(["records", "show"], shown("m0", pinned=True))
        link.answers(["records", "list"], page([memory(0, pinned=True)]))
        await press(pilot, "p")
        assert "pinned, semantic" in text_of(pilot)
        await press(pilot, "escape")
        assert "pinned" in text_of(pilot) and "Memories [1]" in text_of(pilot)


async def test_without_an_agent_the_dashboard_comes_instead() -> None:
    link = recorded()
    link.answers(["status"], {"verdict": "no agent is protected yet", "agents": []})
    async with dashboard(link, screen="memories") as pilot:
        assert isinstance(pilot.app.screen, DashboardScreen)
