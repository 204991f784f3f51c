"""Title bar, footer and notifications at the sizes of common terminals."""

from __future__ import annotations

import pytest
from textual.widgets._toast import Toast

from lifeboat_tui.screens.remotes.add_remote_dialog import AddRemoteDialog
from lifeboat_tui.screens.screen_registry import PLACES
from lifeboat_tui.user_actions import TABS
from lifeboat_tui.widgets.question_dialogs import ChoiceDialog, ConfirmDialog, TextDialog
from lifeboat_tui.widgets.screen_bars import ScreenTab, fit_tabs
from support.tui.pilots import dashboard, press, recorded, settled, text_of

pytestmark = pytest.mark.anyio
every_screen = pytest.mark.parametrize("screen", PLACES)
MAIN = [act.name.removeprefix("go_") for act in TABS]
NAMED = tuple(ScreenTab(act.key_text, act.label, act.tab, "", act.name == "go_keys") for act in TABS)


@pytest.mark.parametrize(("width", "shown"), [(60, "4 Keys"), (80, "7 Remotes"), (89, "3 Log"), (90, "3 Activity")])
def test_names_of_tabs_are_shortened_and_never_cut(width: int, shown: str) -> None:
    line = fit_tabs(NAMED, width)
    assert line.cell_length <= width
    assert f" {shown} " in line.plain
    words = {word.lower() for word in line.plain.split() if not word.isdigit()}
    assert words <= {act.label for act in TABS} | {act.tab for act in TABS}
    assert [word for word in line.plain.split() if word.isdigit()] == [act.key for act in TABS]


@pytest.mark.parametrize("name", MAIN)
async def test_every_main_screen_marks_its_own_tab(name: str) -> None:
    async with dashboard(screen=name, agent="ada", size=(80, 24)) as pilot:
        tabs = list(pilot.app.screen._tabs())  # type: ignore[attr-defined]
        assert [tab.name for tab in tabs if tab.current] == [next(a.label for a in TABS if a.name == f"go_{name}")]
        assert all(f"{tab.key} {tab.short.capitalize()}" in text_of(pilot).splitlines()[0] for tab in tabs)


async def test_a_screen_opened_from_a_main_screen_keeps_its_tab_and_has_breadcrumbs() -> None:
    async with dashboard(agent="ada") as pilot:
        await press(pilot, "2", "d")
        tabs = list(pilot.app.screen._tabs())  # type: ignore[attr-defined]
        assert [tab.name for tab in tabs if tab.current] == ["timeline"]
        assert "lifeboat › ada" in text_of(pilot).splitlines()[1]


async def test_a_tab_opens_its_screen_by_the_mouse() -> None:
    async with dashboard(size=(120, 36)) as pilot:
        at = text_of(pilot).splitlines()[0].index("7 Remotes")
        await pilot.click(offset=(at + 2, 0))
        await settled(pilot)
        assert type(pilot.app.screen).__name__ == "RemotesScreen"


@every_screen
async def test_the_footer_keeps_the_key_of_the_help_at_80_columns(screen: str) -> None:
    async with dashboard(screen=screen, agent="ada", size=(80, 24)) as pilot:
        assert "? help" in text_of(pilot).splitlines()[-1]


async def test_the_reason_of_the_agent_under_the_cursor_is_visible_at_80_columns() -> None:
    async with dashboard(size=(80, 24)) as pilot:
        reason = pilot.app.screen.chosen.reasons[0]  # type: ignore[attr-defined]
        assert reason in text_of(pilot)
        assert "Press r to restore" in text_of(pilot)


DIALOGS = {
    "confirm": lambda app: ConfirmDialog("Purge?", [f"line {n}" for n in range(20)], yes="Purge", phrase="purge 7"),
    "text": lambda app: TextDialog("Name", ["A name for the sequence."]),
    "choice": lambda app: ChoiceDialog("Which?", [(str(n), f"choice {n}") for n in range(20)]),
    "remote": lambda app: AddRemoteDialog(app.link),
}


@pytest.mark.parametrize("kind", DIALOGS)
@pytest.mark.parametrize("count", [1, 3])
async def test_notifications_cover_no_part_of_a_dialog(kind: str, count: int) -> None:
    async with dashboard(recorded(), size=(80, 24)) as pilot:
        pilot.app.push_screen(DIALOGS[kind](pilot.app))
        await settled(pilot)
        for number in range(count):
            pilot.app.notify(f"{number}: Recovery words do not belong in this field. " * 3, severity="error")
        await settled(pilot)
        screen = pilot.app.screen
        toasts = [toast.region for toast in screen.query(Toast)]
        assert len(toasts) == count, "the notifications are shown"
        rack = screen.query_one("#textual-toastrack").region
        parts = [each.region for each in screen.query("Dialog > *") if each.id != "textual-toastrack"]
        assert parts and not any(rack.overlaps(part) for part in parts)
        assert screen.query("Button, RowTable").last().region.bottom <= 24
