"""Long histories, many memories and many agents: every screen opens, scrolls to the end and filters, and draws only
visible lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.timeline import timeline_screen as timeline_screen
from lifeboat_tui.widgets.row_table import RowTable
from support.tui.histories import ada_of, difference, entry, file, timeline
from support.tui.memories_home import agent_id, memory, page, shown
from support.tui.pilots import dashboard, press, recorded, settled, text_of

pytestmark = pytest.mark.anyio
SEQUENCES, MEMORIES, AGENTS = 5_000, 10_000, 50
LINES = 36
"""Lines of the terminal. A key draws every line at most twice: the cursor moves, then the view follows."""


def long_history() -> RecordedLink:
    link = recorded()
    ada = ada_of(link)
    entries = [entry(link, number, (SEQUENCES - number) / 12) for number in range(SEQUENCES, 0, -1)]
    link.answers(["timeline", ada], timeline(link, entries))
    link.answers(["diff", ada], difference(link, 1, 2, files=[file("a.md", "created", "@@ -0,0 +1,1 @@", "+a line")]))
    return link


def much_remembered() -> RecordedLink:
    """Return a link whose memories come in pages, as from the command."""
    link = recorded()
    ada = agent_id(link)
    every = [memory(number, created_at="2026-11-20T08:00:00.000Z") for number in range(MEMORIES)]
    first, rest = every[:500], every[500:]
    link.answers(["records", "list", ada], page(first, total=MEMORIES, next="500"))
    link.answers(["records", "list", ada, "--limit", "1000", "--after", "500"], page(rest, total=MEMORIES))
    link.answers(["records", "show", ada], shown())
    return link


def crowded() -> RecordedLink:
    link = recorded()
    status = link.remembered()
    assert status is not None
    one = status["agents"][0]
    agents = [{**one, "id": f"{one['id']}{number}", "name": f"agent-{number:02}"} for number in range(AGENTS)]
    link.answers(["status"], {**status, "agents": agents})
    link.answers(["log"], {"entries": []})
    return link


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets one element per drawn table line."""
    made: list[int] = []
    original = RowTable._line

    def line(self: RowTable, *arguments: object, **more: object) -> object:
        made.append(1)
        return original(self, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(RowTable, "_line", line)
    return made


def table_of(pilot: Pilot[None]) -> RowTable:
    return pilot.app.screen.query(RowTable).first()


CASES = [
    pytest.param(long_history, {"screen": "timeline", "agent": "ada"}, SEQUENCES, id="timeline"),
    pytest.param(much_remembered, {"screen": "memories", "agent": "ada"}, 500, id="memories"),
    pytest.param(crowded, {}, AGENTS, id="dashboard"),
]
Make = Callable[[], RecordedLink]


@pytest.mark.parametrize(("make", "where", "count"), CASES)
async def test_a_screen_with_very_much_draws_only_what_is_seen(
    make: Make, where: dict[str, str], count: int, drawn: list[int]
) -> None:
    async with dashboard(make(), **where) as pilot:
        assert sum(not row.heading for row in table_of(pilot).rows) >= count
        assert len(drawn) < 12 * LINES, "to open it draws what is seen a few times, and not what is there"


@pytest.mark.parametrize(("make", "where", "count"), CASES)
@pytest.mark.parametrize("key", ["down", "pagedown", "G", "pageup", "g"])
async def test_a_key_draws_a_bounded_number_of_lines(
    make: Make, where: dict[str, str], count: int, key: str, drawn: list[int]
) -> None:
    async with dashboard(make(), **where) as pilot:
        await press(pilot, "pagedown")
        drawn.clear()
        await pilot.press(key)
        await settled(pilot)
        assert 0 < len(drawn) <= 4 * LINES


@pytest.mark.parametrize(
    ("make", "where", "words", "left"),
    [
        pytest.param(long_history, {"screen": "timeline", "agent": "ada"}, "4321", "1 of", id="timeline"),
        pytest.param(
            much_remembered, {"screen": "memories", "agent": "ada"}, "number 9321", "1 of 10000", id="memories"
        ),
        pytest.param(crowded, {}, "agent-17", "1 of 50", id="dashboard"),
    ],
)
async def test_a_filter_finds_the_one_among_many(
    make: Make, where: dict[str, str], words: str, left: str, drawn: list[int]
) -> None:
    async with dashboard(make(), **where) as pilot:
        await press(pilot, "slash")
        drawn.clear()
        await press(pilot, *("space" if letter == " " else letter for letter in words))
        assert left in text_of(pilot)
        assert len(drawn) <= 3 * LINES * len(words)


async def test_the_oldest_of_five_thousand_sequences_is_one_key_away() -> None:
    async with dashboard(long_history(), screen="timeline", agent="ada") as pilot:
        await press(pilot, "G")
        here = table_of(pilot).current
        assert here is not None and here.key == "1"
        await press(pilot, "g")
        assert table_of(pilot).scroll_offset.y == 0


async def test_the_last_of_ten_thousand_memories_is_there_after_its_pages_were_asked_for() -> None:
    link = much_remembered()
    async with dashboard(link, screen="memories", agent="ada") as pilot:
        await press(pilot, "G", "G")
        here = table_of(pilot).current
        assert here is not None and here.key == f"m{MEMORIES - 1}"
        assert f"[{MEMORIES}]" in text_of(pilot)


async def test_a_moving_cursor_compares_only_where_it_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    link = long_history()

    def compared() -> int:
        return len([words for words, _ in link.asked if words[0] == "diff"])

    async with dashboard(link, screen="timeline", agent="ada") as pilot:
        before = compared()
        monkeypatch.setattr(timeline_screen, "PAUSE", 3600.0)
        for _ in range(20):
            await pilot.press("pagedown")
        assert compared() == before
        monkeypatch.setattr(timeline_screen, "PAUSE", 0.0)
        await press(pilot, "pagedown")
        assert compared() == before + 1


async def test_an_event_about_one_of_many_agents_draws_that_one_again(drawn: list[int]) -> None:
    link = crowded()
    async with dashboard(link) as pilot:
        drawn.clear()
        status = link.remembered()
        assert status is not None
        agents = list(status["agents"])
        agents[7] = {**agents[7], "name": "renamed-agent"}
        link.answers(["status"], {**status, "agents": agents})
        link.happens({"event": "agent", "agent": agents[7]["id"]})
        await settled(pilot)
        assert "renamed-agent" in text_of(pilot)
        assert 0 < len(drawn) <= 10
