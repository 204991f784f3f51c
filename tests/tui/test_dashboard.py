"""The dashboard screen: the sentence on everything, the agents, and the actions on the agent under the cursor."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from lifeboat_core.errors import Busy, WorkerFailed
from lifeboat_tui.link import LinkStage, LinkStatus
from lifeboat_tui.link.recorded_link import RecordedLink
from support.tui.pilots import dashboard, notes, press, recorded, settled, text_of

pytestmark = pytest.mark.anyio


def status_of(link: RecordedLink) -> dict[str, object]:
    return msgspec.json.decode(msgspec.json.encode(link._answers[("status",)].document))


def words_of(link: RecordedLink) -> list[tuple[str, ...]]:
    return [words for words, _ in link.asked]


async def test_the_first_line_is_the_verdict_and_every_agent_has_one() -> None:
    async with dashboard() as pilot:
        shown = text_of(pilot)
        assert "last verified" in shown.splitlines()[1]
        for name, state in (("ada", "● ok"), ("courier", "‖ paused"), ("researcher", "▲ held")):
            assert any(name in line and state in line for line in shown.splitlines())


async def test_the_detail_follows_the_cursor_without_enter() -> None:
    async with dashboard() as pilot:
        await press(pilot, "g")
        assert ".openclaw-ada/workspace" in text_of(pilot)
        await press(pilot, "down")
        assert ".openclaw-bookkeeper/workspace" in text_of(pilot)


async def test_the_cursor_begins_on_the_agent_that_needs_the_user_most() -> None:
    async with dashboard() as pilot:
        chosen = pilot.app.screen.chosen  # type: ignore[attr-defined]
        assert (chosen.name, chosen.state) == ("researcher", "held")


async def test_the_detail_says_why_an_agent_needs_the_user_and_which_key_helps() -> None:
    async with dashboard() as pilot:
        assert "memories were removed" in text_of(pilot) and "A to accept" in text_of(pilot)


async def test_without_agents_it_says_what_was_found_and_which_key_protects_it() -> None:
    link = recorded()
    offer = {"runtime": "openclaw", "name": "juniper", "workspace": "/srv/ada/.openclaw/workspace"}
    link.answers(["status"], {"verdict": "no agent is protected yet", "agents": [], "offers": [offer]})
    async with dashboard(link) as pilot:
        shown = text_of(pilot)
        assert "juniper (openclaw) in /srv/ada/.openclaw/workspace" in shown
        assert "Press a to protect these agents" in shown
        assert " a add agents" in shown
        await press(pilot, "s")
        assert "no agent is protected yet" in notes(pilot)[-1]
        assert ("sync",) not in words_of(link)


async def test_s_syncs_the_agent_under_the_cursor_and_says_how_it_ended() -> None:
    link = recorded()
    one = {"state": "ok", "sequence": 45, "changed": True, "remotes": [{"name": "stick", "state": "waiting"}]}
    link.answers(["sync"], {"agents": [one]})
    async with dashboard(link) as pilot:
        await press(pilot, "g", "s")
        assert any(words[0] == "sync" for words in words_of(link))
        assert notes(pilot)[-1] == "ada: captured sequence 45; not yet pushed to stick"


async def test_a_failure_is_said_with_what_helps() -> None:
    link = recorded()
    link.fails(["sync"], Busy("process 4711 (restore) is at work", fix="try again in a minute"))
    async with dashboard(link) as pilot:
        await press(pilot, "s")
        shown = text_of(pilot)
        assert "process 4711 (restore) is at work" in shown and "try again in a minute" in shown


async def test_space_pauses_and_goes_on() -> None:
    link = recorded()
    link.answers(["agents", "pause"], {})
    link.answers(["agents", "resume"], {})
    async with dashboard(link) as pilot:
        await press(pilot, "g", "space", "down", "down", "space")
        done = [words[:2] for words in words_of(link) if words[0] == "agents"]
        assert done == [("agents", "pause"), ("agents", "resume")]


async def test_accepting_a_removal_asks_first_with_cancel_in_focus() -> None:
    link = recorded()
    link.answers(["agents", "accept"], {"was_held": True})
    async with dashboard(link) as pilot:
        await press(pilot, "G", "A", "enter")
        assert not any(words[:2] == ("agents", "accept") for words in words_of(link))
        await press(pilot, "A", "tab", "enter")
        assert any(words[:2] == ("agents", "accept") for words in words_of(link))


async def test_accept_says_why_not_where_nothing_is_held() -> None:
    async with dashboard() as pilot:
        await press(pilot, "g", "A")
        assert "no capture of this agent is held" in notes(pilot)[-1]


async def test_a_readonly_dashboard_refuses_what_changes_something_and_says_so() -> None:
    link = recorded()
    async with dashboard(link, readonly=True) as pilot:
        await press(pilot, "s", "space", "u")
        assert all("--readonly" in note for note in notes(pilot)) and len(notes(pilot)) == 3
        assert not {words[0] for words in words_of(link)} & {"sync", "undo", "agents"}


async def test_y_copies_the_command_that_shows_the_same() -> None:
    async with dashboard() as pilot:
        await press(pilot, "g", "down", "y")
        assert pilot.app.clipboard == "lifeboat status bookkeeper"
        assert notes(pilot) == ["Copied: lifeboat status bookkeeper"]


async def test_an_event_shows_at_once_what_changed() -> None:
    link = recorded()
    async with dashboard(link) as pilot:
        document = status_of(link)
        document["agents"][0]["state"] = "error"  # type: ignore[index]
        document["agents"][0]["reasons"] = ["the disk is full"]  # type: ignore[index]
        link.answers(["status"], document)
        link.happens({"event": "agent"})
        await settled(pilot)
        assert any("✖ error" in line and "the disk is full" in line for line in text_of(pilot).splitlines())
        assert "2 of 4 need action" in text_of(pilot)


async def test_what_was_last_known_is_painted_before_anybody_answers() -> None:
    link = recorded()
    link.fails(["log"], WorkerFailed("not yet"))
    known = link.remembered
    link.remembered = lambda: known()  # type: ignore[method-assign]
    silent = WorkerFailed("nobody answers")
    original = link.status

    async def status() -> dict[str, object]:
        raise silent

    link.status = status  # type: ignore[method-assign,assignment]
    async with dashboard(link) as pilot:
        assert "old information; waiting" in text_of(pilot) and "bookkeeper" in text_of(pilot)
        link.status = original  # type: ignore[method-assign]
        link.happens({"event": "tick"})
        await settled(pilot)
        assert "old information; waiting" not in text_of(pilot)


async def test_a_daemon_that_went_away_is_said_in_one_line_with_the_key_that_starts_it() -> None:
    link = recorded()
    link.answers(["daemon", "start"], {"how": "process"})
    async with dashboard(link) as pilot:
        link.connection = LinkStatus(LinkStage.DOWN, "", "lifeboat daemon start", "2026-11-22T14:02:00Z")
        link.happens({"event": "connection"})
        await settled(pilot)
        assert "daemon is not running since 14:02:00. Press S to start the daemon" in text_of(pilot)
        assert "all agents safe" not in text_of(pilot)
        await press(pilot, "S")
        assert ("daemon", "start") in words_of(link)


async def test_an_answer_of_another_shape_is_said_and_is_no_crash() -> None:
    link = recorded()
    link.answers(["log"], {"entries": "none"})
    async with dashboard(link) as pilot:
        assert "does not understand the" in text_of(pilot)


async def test_a_wide_dashboard_shows_the_timeline_of_the_agent_under_the_cursor() -> None:
    link = recorded()
    async with dashboard(link, size=(140, 36)) as pilot:
        await press(pilot, "g")
        shown = text_of(pilot)
        assert "Timeline of ada [32]" in shown and " 44  " in shown and "YESTERDAY  2026-11-19" in shown
        await press(pilot, "down")
        shown = text_of(pilot)
        assert "Timeline of bookkeeper [14]" in shown and " 44  " not in shown
        await press(pilot, "tab", "down", "enter")
        screen = pilot.app.screen
        assert type(screen).__name__ == "TimelineScreen" and screen.chosen.sequence == 13  # type: ignore[attr-defined]


async def test_a_narrow_dashboard_loads_no_timeline_until_it_is_widened() -> None:
    link = recorded()
    async with dashboard(link, size=(139, 36)) as pilot:
        assert not any(words[0] == "timeline" for words in words_of(link)) and "Timeline of" not in text_of(pilot)
        await pilot.resize_terminal(160, 40)
        await settled(pilot)
        assert "Timeline of researcher" in text_of(pilot) and "SEQ" in text_of(pilot)


async def test_a_slow_timeline_leaves_the_list_usable_and_never_shows_another_agent() -> None:
    link, released = recorded(), asyncio.Event()
    run = link.run

    async def slow(*words: str, **more: object) -> object:
        if words[0] == "timeline":
            await released.wait()
        return await run(*words, **more)  # type: ignore[arg-type]

    link.run = slow  # type: ignore[method-assign,assignment]
    async with dashboard(link, size=(160, 40)) as pilot:
        await pilot.press("g")
        await pilot.pause(0.2)
        assert "Timeline of ada" in text_of(pilot) and "Loading..." in text_of(pilot)
        await pilot.press("down")
        await pilot.pause(0.2)
        assert ".openclaw-bookkeeper/workspace" in text_of(pilot)
        released.set()
        await settled(pilot)
        assert "Timeline of bookkeeper [14]" in text_of(pilot)


async def test_the_last_changes_have_the_time_today_and_the_date_before() -> None:
    async with dashboard(size=(120, 60)) as pilot:
        await press(pilot, "g")
        lines = text_of(pilot).splitlines()
        assert any("14:24:00    capture   sequence 44" in line for line in lines)
        assert any("2026-11-19  capture   sequence 39" in line for line in lines)


@pytest.mark.parametrize(
    ("level", "sign", "colour"), [("safe", "●", "$text-success"), ("incomplete", "▲", "$text-warning")]
)
async def test_the_verdict_is_green_only_if_everything_is_safe(level: str, sign: str, colour: str) -> None:
    link = recorded()
    gap = {"code": "only_here", "text": "ada: the only copy is on this machine.", "fix": "lifeboat sync ada"}
    document = {**status_of(link), "state": "ok", "verdict": "last verified just now"}
    document["safety"] = {"level": level, "gaps": [] if level == "safe" else [gap, gap]}
    link.answers(["status"], document)
    async with dashboard(link) as pilot:
        said = pilot.app.screen.query_one("#verdict").content  # type: ignore[attr-defined]
        assert said.plain.startswith(f"{sign} last verified") and said.spans[0].style == colour
        shown = text_of(pilot)
        assert ("ada: the only copy is on this machine. To fix it: lifeboat sync ada" in shown) == (level != "safe")
        assert ("and 1 more step" in shown) == (level != "safe")


async def test_a_vault_that_could_not_be_opened_is_never_shown_as_never_captured() -> None:
    link = recorded()
    document = status_of(link)
    closed = {"vault_opened": False, "sequence": None, "last_verified_at": None, "last_captured_at": None}
    document["agents"][0] |= closed  # type: ignore[index]
    link.answers(["status"], document)
    async with dashboard(link) as pilot:
        await press(pilot, "g")
        shown = text_of(pilot)
        (row,) = [line for line in shown.splitlines() if "● ok" in line and " ada " in line]
        assert "unknown" in row and "never" not in shown and "could not be opened" in shown


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (200, 50), (300, 80)])
async def test_it_fits_every_terminal(size: tuple[int, int]) -> None:
    async with dashboard(size=size) as pilot:
        shown = text_of(pilot)
        assert "last verified" in shown and "ada" in shown and "sync" in shown


async def test_a_terminal_that_is_too_small_gets_one_clear_line() -> None:
    async with dashboard(size=(50, 12)) as pilot:
        assert "The terminal is 50x12; the dashboard needs 60x15." in text_of(pilot)
        await pilot.resize_terminal(100, 30)
        await settled(pilot)
        assert "bookkeeper" in text_of(pilot)


async def test_fifty_agents_fit_and_the_last_is_one_key_away() -> None:
    link = recorded()
    document = status_of(link)
    first = document["agents"][0]  # type: ignore[index]
    document["agents"] = [{**first, "id": f"agent-{number}", "name": f"agent-{number}"} for number in range(50)]
    link.answers(["status"], document)
    async with dashboard(link) as pilot:
        assert "Agents [50]" in text_of(pilot)
        await press(pilot, "G")
        assert "agent-49" in text_of(pilot)


async def test_letters_of_an_ascii_dashboard_are_ascii() -> None:
    async with dashboard(ascii=True) as pilot:
        lines = [line for line in text_of(pilot).splitlines() if "researcher" in line]
        assert "! held" in lines[0] and ">" in text_of(pilot)


async def test_news_that_change_nothing_draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    link = recorded()
    async with dashboard(link) as pilot:
        drawn: list[object] = []
        monkeypatch.setattr(type(pilot.app), "_display", lambda self, screen, renderable: drawn.append(renderable))
        for _ in range(3):
            link.happens({"event": "tick"})
            await settled(pilot)
        assert drawn == []
