"""A join line that is pasted or typed into any field of a form ends whole in the hidden field, and nowhere else."""

from __future__ import annotations

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from lifeboat_tui.screens.remotes.add_remote_dialog import AddRemoteDialog
from lifeboat_tui.widgets.join_line_inputs import find_join_line, has_join_token
from support.tui.first_run_home import choose, driven, machine
from support.tui.pilots import dashboard, notes, press, recorded, settled, text_of

pytestmark = pytest.mark.anyio
TOKEN = "c4nary-token-of-the-join-line"
LINE = f"lifeboat+https://{TOKEN}@boat.example.com:8420/vaults?pin={'a1' * 32}"
FIELDS = ("name", "address", "secret")
FORMS = ("dialog", "first run")


async def open_form(pilot: Pilot[None], form: str) -> None:
    if form == "dialog":
        pilot.app.push_screen(AddRemoteDialog(pilot.app.link))  # type: ignore[attr-defined]
        await settled(pilot)
    else:
        await choose(pilot, "protect")
        await press(pilot, "ctrl+l", "ctrl+l", "ctrl+l")


def start(form: str):  # type: ignore[no-untyped-def]
    return dashboard(machine(), screen="setup") if form == "first run" else dashboard(recorded())


def values(pilot: Pilot[None]) -> dict[str, str]:
    return {name: pilot.app.screen.query_one(f"#{name}", Input).value for name in FIELDS}


async def type_quickly(pilot: Pilot[None], text: str) -> None:
    """Send the keys without waiting between them, as a terminal without bracketed paste does."""
    names = {"\t": "tab", "\n": "enter"}
    for letter in text:
        pilot.app.post_message(events.Key(names.get(letter, letter), None if letter in names else letter))
    await settled(pilot)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("before", ["", "home"])
@pytest.mark.parametrize("pasted", [LINE, f"{LINE}\n", f"\r\n  {LINE}\r\nlifeboat sync\r\n"])
async def test_a_pasted_join_line_lands_in_the_hidden_field(form: str, field: str, before: str, pasted: str) -> None:
    async with start(form) as pilot:
        await open_form(pilot, form)
        target = pilot.app.screen.query_one(f"#{field}", Input)
        target.focus()
        await type_quickly(pilot, before)
        pilot.app.screen.post_message(events.Paste(pasted))
        await settled(pilot)
        await press(pilot, "tab", "shift+tab")
        expected = dict.fromkeys(FIELDS, "") | {field: before} | {"secret": LINE}
        assert values(pilot) == expected
        assert TOKEN not in text_of(pilot)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("end", ["\t", "\t\t"])
async def test_a_join_line_typed_by_a_terminal_is_never_shown_and_tab_keeps_it_whole(
    form: str, field: str, end: str
) -> None:
    async with start(form) as pilot:
        await open_form(pilot, form)
        pilot.app.screen.query_one(f"#{field}", Input).focus()
        await type_quickly(pilot, LINE)
        assert TOKEN not in text_of(pilot)
        await type_quickly(pilot, end)
        assert values(pilot) == dict.fromkeys(FIELDS, "") | {"secret": LINE}


async def test_a_typed_join_line_is_used_although_the_field_was_not_left() -> None:
    link = recorded()
    async with dashboard(link) as pilot:
        pilot.app.push_screen(AddRemoteDialog(link))
        await settled(pilot)
        await type_quickly(pilot, f"home\t{LINE}\n")
        words, text = link.asked[-1]
        assert words[:4] == ("remote", "add", "home", "--join-stdin") and text == f"{LINE}\n"
        assert TOKEN not in " ".join(words)


@driven
async def test_a_field_without_a_place_for_it_drops_it_and_says_where_it_belongs() -> None:
    async with dashboard(machine(), screen="setup") as pilot:
        await choose(pilot, "protect")
        pilot.app.screen.query_one("#folder", Input).focus()
        pilot.app.screen.post_message(events.Paste(LINE))
        await settled(pilot)
        assert pilot.app.screen.query_one("#folder", Input).value == ""
        assert "join line" in notes(pilot)[-1] and TOKEN not in text_of(pilot)


@pytest.mark.parametrize(
    ("text", "line"),
    [(f"join: {LINE} .", LINE), (LINE.upper(), LINE.upper()), ("https://boat.example.com", None), ("lifeboat+", None)],
)
def test_a_join_line_is_found_in_any_text(text: str, line: str | None) -> None:
    assert find_join_line(text) == line
    assert has_join_token(text) == (line is not None)
