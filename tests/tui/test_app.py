"""What works on every screen: opening screens, palette, help, jump mode, themes, and the end of the dashboard."""

from __future__ import annotations

import pytest
from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Input

from lifeboat_tui.dashboard_app import LifeboatApp
from lifeboat_tui.screens import screen_registry
from lifeboat_tui.screens.help_screen import GLOSSARY, HelpScreen
from lifeboat_tui.themes import BY_SETTING
from lifeboat_tui.user_actions import EVERYWHERE, PLACES
from support.tui.pilots import dashboard, notes, press, recorded, settled, text_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("act", [act for act in PLACES if act.name.startswith("go_")], ids=lambda act: act.name)
async def test_every_place_is_one_key_away(act: object) -> None:
    async with dashboard() as pilot:
        await press(pilot, act.key)  # type: ignore[attr-defined]
        kind = screen_registry.PLACES[act.name.removeprefix("go_")][1]  # type: ignore[attr-defined]
        assert type(pilot.app.screen).__name__ == kind
        await press(pilot, "1")
        assert type(pilot.app.screen).__name__ == "DashboardScreen"


@pytest.mark.parametrize("name", sorted(screen_registry.PLACES))
async def test_every_screen_can_be_the_first_one(name: str) -> None:
    async with dashboard(screen=name, agent="ada") as pilot:
        assert type(pilot.app.screen).__name__ == screen_registry.PLACES[name][1]
        assert "Traceback" not in text_of(pilot)


class TwoFields(ModalScreen[None]):
    def compose(self) -> ComposeResult:
        yield Input(id="first")
        yield Input(id="second")


@pytest.mark.parametrize(("moves", "field"), [(("tab",), "second"), (("tab", "shift+tab"), "first")])
async def test_what_is_typed_right_behind_a_move_of_the_focus_goes_to_the_field_that_it_leads_to(
    moves: tuple[str, ...], field: str
) -> None:
    async with dashboard() as pilot:
        pilot.app.push_screen(TwoFields())
        await settled(pilot)
        for key, character in [*((move, None) for move in moves), ("x", "x")]:
            pilot.app.post_message(events.Key(key, character))
        await settled(pilot)
        typed = {shown.id: shown.value for shown in pilot.app.screen.query(Input)}
    assert typed == {"first": "", "second": "", field: "x"}


async def test_a_place_about_an_agent_says_so_where_there_is_none() -> None:
    link = recorded()
    link.answers(["status"], {"agents": []})
    async with dashboard(link) as pilot:
        await press(pilot, "2")
        assert "no agent is protected yet" in notes(pilot)[-1]


async def test_a_place_about_an_agent_shows_the_first_one_while_none_is_chosen() -> None:
    async with dashboard(screen="keys") as pilot:
        assert pilot.app.agent_id is None  # type: ignore[attr-defined]
        await press(pilot, "2")
        assert type(pilot.app.screen).__name__ == "TimelineScreen" and notes(pilot) == []


async def test_escape_leads_back_and_never_out() -> None:
    async with dashboard() as pilot:
        await press(pilot, "enter")
        assert type(pilot.app.screen).__name__ == "TimelineScreen"
        await press(pilot, "escape", "escape", "escape")
        assert type(pilot.app.screen).__name__ == "DashboardScreen"


async def test_q_closes_the_dashboard() -> None:
    async with dashboard() as pilot:
        await pilot.press("q")
        await pilot.pause()
        assert pilot.app._exit


@pytest.mark.parametrize("way", ["go", "open"])
async def test_no_screen_is_opened_once_the_dashboard_closes(way: str) -> None:
    async with dashboard() as pilot:
        before = pilot.app.screen
        pilot.app.exit()
        getattr(pilot.app, way)("activity")
        await pilot.pause()
        assert pilot.app.screen is before


async def test_the_palette_has_everything_that_can_be_done_and_says_what_cannot() -> None:
    async with dashboard() as pilot:
        await press(pilot, "g")
        await pilot.press("ctrl+p")
        await pilot.pause(0.3)
        shown = text_of(pilot)
        assert "Sync (s)" in shown and "Unavailable: no capture of this agent is held" in shown


async def test_the_palette_finds_an_agent_and_opens_its_timeline() -> None:
    async with dashboard() as pilot:
        await pilot.press("ctrl+p")
        await pilot.pause(0.3)
        pilot.app.screen.query_one(Input).value = "agent: bookkeeper"
        await pilot.pause(0.6)
        await press(pilot, "enter")
        assert type(pilot.app.screen).__name__ == "TimelineScreen"


async def test_the_palette_has_no_useless_commands_of_the_toolkit() -> None:
    async with dashboard() as pilot:
        titles = [command.title for command in pilot.app.get_system_commands(pilot.app.screen)]
        assert titles and all(title.startswith("Theme: ") for title in titles)


async def test_help_says_what_the_screen_is_for_and_every_key_of_it() -> None:
    async with dashboard(size=(120, 100)) as pilot:
        screen = pilot.app.screen
        await press(pilot, "question_mark")
        shown = text_of(pilot)
        assert "Each agent has a newest verified copy." in " ".join(shown.split())
        for act in (*screen.ACTS, *EVERYWHERE, *PLACES):  # type: ignore[attr-defined]
            assert act.help.split(",")[0][:40] in shown, act.name
        for word, _ in GLOSSARY:
            assert word in shown
        await press(pilot, "escape")
        assert not isinstance(pilot.app.screen, HelpScreen)


async def test_help_leads_to_the_doctor() -> None:
    async with dashboard() as pilot:
        await press(pilot, "question_mark", "8")
        assert type(pilot.app.screen).__name__ == "DoctorScreen"


async def test_jump_mode_goes_to_the_part_whose_letter_is_typed() -> None:
    async with dashboard() as pilot:
        await press(pilot, "slash", "tab")
        before = pilot.app.focused
        await press(pilot, "ctrl+o")
        assert type(pilot.app.screen).__name__ == "JumpScreen"
        await press(pilot, "a")
        assert pilot.app.focused is not None and pilot.app.focused.id == "agents-table"
        assert before is not None
        await press(pilot, "ctrl+o", "z")
        assert type(pilot.app.screen).__name__ == "DashboardScreen"


@pytest.mark.parametrize("theme", BY_SETTING.values())
async def test_every_theme_can_be_drawn(theme: str) -> None:
    async with dashboard(theme=theme) as pilot:
        assert pilot.app.theme == theme and "bookkeeper" in text_of(pilot)


async def test_no_cursor_blinks() -> None:
    async with dashboard() as pilot:
        await press(pilot, "slash")
        field = pilot.app.focused
        assert isinstance(field, Input) and not field.cursor_blink


async def test_an_event_that_nobody_knows_changes_nothing() -> None:
    link = recorded()
    async with dashboard(link) as pilot:
        before = text_of(pilot)
        link.happens({"event": "from a newer service", "agent": 7, "extra": [None]})
        link.happens({})
        await settled(pilot)
        assert text_of(pilot) == before


def test_a_mistake_of_the_program_ends_in_two_sentences_and_shows_no_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = LifeboatApp(recorded())
    said: list[object] = []
    monkeypatch.setattr(app, "exit", lambda **outcome: said.append(outcome))
    secret = "a token that nobody may see"
    try:
        raise RuntimeError(secret)
    except RuntimeError as error:
        app._handle_exception(error)
    (outcome,) = said
    assert secret not in str(outcome) and "RuntimeError" in str(outcome) and "lifeboat doctor --bundle" in str(outcome)
