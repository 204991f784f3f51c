"""The activity screen: log entries, service events, filters, and new entries."""

from __future__ import annotations

from typing import Any

import pytest

from lifeboat_core.errors import Busy
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.activity.activity_screen import ActivityScreen
from lifeboat_tui.screens.activity.activity_texts import find_cause_and_fix
from lifeboat_tui.screens.purge.receipts_screen import ReceiptsScreen
from lifeboat_tui.screens.timeline.timeline_screen import TimelineScreen
from support.tui.memories_home import agent_id
from support.tui.pilots import SIZES, dashboard, notes, press, recorded, settled, text_of

pytestmark = pytest.mark.anyio


def _entry(number: int, kind: str = "capture", **more: Any) -> dict[str, Any]:
    """Return a log entry; a larger number is newer."""
    return {
        "time": f"2026-11-{10 + number // 60:02}T10:{number % 60:02}:00.000Z",
        "agent": "a1",
        "name": "ada",
        "kind": kind,
        "text": f"thing {number} was done",
        "sequence": None,
        "receipt": None,
        "details": {},
    } | more


def _log(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"entries": list(entries)}


def _event(number: int, level: str = "info", **more: Any) -> dict[str, Any]:
    return {"time": f"2026-11-20T10:{number:02}:00Z", "level": level, "kind": f"event_{number}"} | more


def _doing(*entries: dict[str, Any], noted: tuple[dict[str, Any], ...] = ()) -> RecordedLink:
    link = recorded()
    link.answers(["log"], _log(*entries))
    link.answers(["daemon", "log"], {"events": list(noted)})
    return link


def _open(link: RecordedLink, **options: Any) -> Any:
    return dashboard(link, screen="activity", **options)


def _logs(link: RecordedLink, *words: str) -> list[tuple[str, ...]]:
    words = words or ("log",)
    return [each for each, _ in link.asked if each[: len(words)] == words and "12" not in each]


@pytest.mark.parametrize("size", SIZES)
async def test_what_was_done_stands_newest_first_under_its_day(size: tuple[int, int]) -> None:
    async with _open(_doing(_entry(61), _entry(1)), size=size) as pilot:
        said = text_of(pilot)
        places = [said.index(word) for word in ("2026-11-11", "thing 61", "2026-11-10", "thing 1 was")]
        assert places == sorted(places)


async def test_the_pane_says_every_field_and_what_it_means_and_what_helps() -> None:
    entry = _entry(5, "held", name="my agent", details={"reason": "6 of 8"}, sequence=14)
    async with _open(_doing(entry), size=(120, 50)) as pilot:
        said = text_of(pilot)
        assert "may be an accident" in said and "lifeboat restore 'my agent'" in said
        assert "6 of 8" in said and "sequence    14" in said


async def test_enter_makes_room_for_the_details_and_esc_takes_it_back() -> None:
    long = _entry(1, details={f"field{number}": number for number in range(40)})
    async with _open(_doing(long)) as pilot:
        before = pilot.app.screen.query_one("#detail").size.height
        await press(pilot, "enter")
        assert pilot.app.screen.query_one("#detail").size.height > before
        await press(pilot, "end")
        await settled(pilot)
        await press(pilot, "escape")
        assert pilot.app.screen.query_one("#detail").size.height == before
        assert pilot.app.screen.table.has_focus  # type: ignore[attr-defined]


async def test_a_line_of_a_sequence_opens_the_timeline_there() -> None:
    link = recorded()
    link.answers(["log"], _log(_entry(1, agent=agent_id(link), sequence=40)))
    async with _open(link) as pilot:
        await press(pilot, "o")
        assert isinstance(pilot.app.screen, TimelineScreen)
        assert pilot.app.screen.chosen is not None and pilot.app.screen.chosen.sequence == 40


async def test_a_purge_opens_its_receipt_and_other_lines_say_that_they_lead_nowhere() -> None:
    async with _open(_doing(_entry(2, "thin"), _entry(1, "purge"))) as pilot:
        await press(pilot, "o")
        assert "does not belong to a single sequence" in notes(pilot)[-1]
        await press(pilot, "down", "o")
        assert isinstance(pilot.app.screen, ReceiptsScreen)


async def test_nothing_done_says_what_will_stand_here() -> None:
    async with _open(_doing()) as pilot:
        assert "No events yet" in text_of(pilot)
        await press(pilot, "enter", "o", "K")
        assert "there are no events yet" in notes(pilot)[-1]


async def test_a_log_that_cannot_be_had_is_said() -> None:
    link = _doing()
    link.fails(["log"], Busy("another process has the vault"))
    async with _open(link) as pilot:
        assert "another process has the vault" in text_of(pilot)


# Filters ------------------------------------------------------------------------------------------------------------


async def test_a_kind_is_chosen_with_its_count() -> None:
    link = _doing(_entry(3), _entry(2), _entry(1, "restore"))
    async with _open(link) as pilot:
        await press(pilot, "K")
        assert "capture  (2)" in text_of(pilot)
        await press(pilot, "end", "enter")
        assert "Events · restore" in text_of(pilot)
        assert _logs(link)[-1][-2:] == ("--kind", "restore")
        await press(pilot, "y")
        assert pilot.app.clipboard == "lifeboat log --limit 300 --kind restore"


async def test_an_agent_is_chosen_and_esc_takes_back_the_last_first() -> None:
    link = _doing(_entry(1))
    ada = agent_id(link)
    async with _open(link) as pilot:
        await press(pilot, "K", "down", "enter", "A", "down", "enter")
        assert _logs(link)[-1] == ("log", ada, "--limit", "300", "--kind", "capture")
        assert "Events · capture · ada" in text_of(pilot)
        await press(pilot, "escape")
        assert _logs(link)[-1] == ("log", "--limit", "300", "--kind", "capture")
        await press(pilot, "escape")
        assert _logs(link)[-1] == ("log", "--limit", "300")
        assert isinstance(pilot.app.screen, ActivityScreen)


async def test_a_filter_shows_lines_with_the_words() -> None:
    async with _open(_doing(_entry(2), _entry(1, "restore"))) as pilot:
        await press(pilot, "slash", *"REST", "enter")
        assert "[1 of 2]" in text_of(pilot) and "thing 2 was" not in text_of(pilot)


# New entries --------------------------------------------------------------------------------------------------------


async def test_new_lines_come_by_themselves_stand_out_and_leave_the_cursor() -> None:
    link = _doing(_entry(2), _entry(1))
    async with _open(link) as pilot:
        await press(pilot, "down")
        link.answers(["log"], _log(_entry(3), _entry(2), _entry(1)))
        link.happens({"event": "capture", "agent": "a1"})
        await settled(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, ActivityScreen) and "thing 3 was done" in text_of(pilot)
        assert screen.entry is not None and screen.entry.text == "thing 1 was done"
        assert [key.split()[-4] for key in screen.table._flashing] == ["3"]


async def test_held_still_new_lines_wait_until_one_wants_them() -> None:
    link = _doing(_entry(1))
    async with _open(link) as pilot:
        await press(pilot, "f")
        link.answers(["log"], _log(_entry(2), _entry(1)))
        link.happens({"event": "capture", "agent": "a1"})
        await settled(pilot)
        assert "thing 2 was done" not in text_of(pilot)
        await press(pilot, "f")
        assert "thing 2 was done" in text_of(pilot)


async def test_a_storm_of_events_is_few_questions() -> None:
    link = _doing(_entry(1))
    async with _open(link) as pilot:
        before = len(_logs(link))
        for _ in range(100):
            link.happens({"event": "capture", "agent": "a1"})
        await settled(pilot)
        assert len(_logs(link)) < before + 60


async def test_two_lines_that_are_the_same_in_all_are_two() -> None:
    async with _open(_doing(_entry(1), _entry(1))) as pilot:
        assert "[2]" in text_of(pilot)
        await press(pilot, "down")
        assert pilot.app.screen.table.cursor == 2  # type: ignore[attr-defined]


async def test_older_lines_come_when_the_cursor_nears_the_end() -> None:
    link = _doing(*[_entry(number) for number in range(599, 299, -1)])
    async with _open(link) as pilot:
        link.answers(["log", "--limit", "900"], _log(*[_entry(number) for number in range(599, -1, -1)]))
        await press(pilot, "G")
        assert "Events [600]" in text_of(pilot)


# The log of the service ---------------------------------------------------------------------------------------------


async def test_capital_l_shows_what_the_service_noted_newest_first_and_comes_back() -> None:
    link = _doing(_entry(1), noted=(_event(1), _event(2, "error")))
    async with _open(link) as pilot:
        await press(pilot, "L")
        said = text_of(pilot)
        assert said.index("event_2") < said.index("event_1") and "✖ error" in said and "thing 1" not in said
        await press(pilot, "A")
        assert "cannot be limited to one agent" in notes(pilot)[-1]
        await press(pilot, "escape")
        assert "thing 1 was done" in text_of(pilot)


async def test_an_error_that_was_noted_has_its_cause_and_what_helps() -> None:
    link = _doing(noted=(_event(1, "error", agent="nobody", code="busy"),))
    async with _open(link) as pilot:
        await press(pilot, "L")
        said = text_of(pilot)
        assert Busy.title in said and "fix  " in said


async def test_a_code_that_nobody_knows_leads_to_the_doctor() -> None:
    assert find_cause_and_fix("never_heard_of") == ("never heard of", "press 8 to open the doctor")


async def test_the_services_log_is_narrowed_by_level() -> None:
    link = _doing(noted=(_event(1),))
    async with _open(link) as pilot:
        await press(pilot, "L", "K", "down", "down", "enter")
        assert "warning and above" in text_of(pilot)
        await press(pilot, "y")
        assert pilot.app.clipboard == "lifeboat daemon log --lines 300 --level warning"
        await press(pilot, "escape")
        assert _logs(link, "daemon", "log")[-1] == ("daemon", "log", "--lines", "300")


async def test_a_service_that_noted_nothing_and_lines_without_a_time_are_shown() -> None:
    link = _doing()
    async with _open(link) as pilot:
        await press(pilot, "L")
        assert "The daemon's log is empty" in text_of(pilot)
        link.answers(["daemon", "log"], {"events": [{"kind": "odd\x1b[31m", "at": ["here:1"]}]})
        await press(pilot, "ctrl+r")
        assert "odd" in text_of(pilot) and "\x1b" not in text_of(pilot)


async def test_names_of_agents_stand_for_their_ids() -> None:
    link = recorded()
    async with _open(link) as pilot:
        await press(pilot, "L")
        assert "agent=researcher" in text_of(pilot)
