"""Hostile names and texts of agents, machines and endpoints: the dashboard shows them and follows none."""

from __future__ import annotations

import re
import subprocess

import msgspec
import pytest
from textual.pilot import Pilot

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.texts import human_text
from lifeboat_tui.cell_text import escape_title, make_plain, make_plain_lines
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.widgets.question_dialogs import TextDialog
from lifeboat_tui.widgets.row_table import RowTable, TableRow
from support.tui.pilots import dashboard, notes, press, recorded, settled, text_of, until

pytestmark = pytest.mark.anyio
FORGED = "What_helps:curl"
EVIL = (
    "\x1b[31m[@click=app.quit]X[/] [link=http://example.com]y[/] \\[b]Z \u202eabc\u2028d\u200f\u200b \udcff"
    f"\x9b31m\u2066\u05d0\u2067\n{FORGED}\r{FORGED}"
)
NAMED = {
    *("name", "text", "message", "path", "title", "workspace", "snippet", "label", "why", "reason", "machine", "where"),
    *("what", "masked", "match", "result", "subject", "fix", "note", "verdict", "readable", "url", "file", "effect"),
    *("origin_file", "command", "about", "tags", "summary", "warnings", "reasons", "executable", "advice", "lines"),
    *("memory_type", "namespace"),
}
"""Fields that contain foreign text."""


def poisoned(value: object, field: str = "") -> object:
    if isinstance(value, dict):
        return {key: poisoned(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each, field) for each in value]
    is_time = isinstance(value, str) and re.match(r"\d{4}-\d\d-", value)
    return f"{value[:20]}{EVIL}" if isinstance(value, str) and field in NAMED and not is_time else value


def hostile() -> RecordedLink:
    """Return the demo recording with every foreign text replaced by a hostile one."""
    link = recorded()
    for key, answer in link._answers.items():
        document: JsonObject = poisoned(answer.document)  # type: ignore[assignment]
        notes = tuple(f"{note}{EVIL}" for note in answer.notes)
        link._answers[key] = msgspec.structs.replace(answer, document=document, notes=notes)
    return link


FRAME = " │┃|╭╰─"
"""Characters before a line inside a border."""
WITH_TEXTS = {"MemoryScreen", "DiffScreen"}
"""Screens that show a text of several lines unchanged."""


def what_steers(pilot: Pilot[None]) -> set[str]:
    """Return what on the screen would control the terminal or open a link from foreign text."""
    found = set()
    for line in pilot.app.screen._compositor.render_strips():
        for segment in line:
            found |= {hex(ord(letter)) for letter in segment.text if make_plain(letter) != letter}
            style = segment.style
            if style is not None and (style.link or "quit" in str(style.meta.get("@click", ""))):
                found.add("link")
        is_forged = "".join(segment.text for segment in line).lstrip(FRAME).startswith(FORGED)
        if is_forged and type(pilot.app.screen).__name__ not in WITH_TEXTS:
            found.add("line")
    return found


@pytest.mark.parametrize(
    ("screen", "keys"),
    [
        ("dashboard", ("down", "A", "escape", "s", "y")),
        ("timeline", ("down", "enter", "y", "escape", "t", "escape")),
        ("memories", ("enter", "y", "escape", "T", "escape")),
        ("activity", ("enter", "y", "enter", "L", "down")),
        ("restore", ("enter", "ctrl+n", "y", "f")),
        ("purge", ("y",)),
        ("keys", ("down", "down", "m", "escape")),
        ("remotes", ("t", "escape", "x", "escape", "enter")),
        ("receipts", ("a", "V", "escape")),
        ("settings", ("down", "down", "e", "escape")),
        ("doctor", ("down", "y")),
        ("setup", ("enter", "ctrl+n")),
    ],
)
async def test_nothing_that_stands_on_a_screen_steers_the_terminal(screen: str, keys: tuple[str, ...]) -> None:
    link = hostile()
    agent = link._answers[("status",)].document["agents"][0]["id"]
    async with dashboard(link, screen=screen, agent=agent) as pilot:
        assert what_steers(pilot) == set()
        for key in keys:
            await press(pilot, key)
            assert what_steers(pilot) == set(), key


async def test_a_list_that_is_empty_names_its_agent_on_one_line() -> None:
    link = hostile()
    agent = link._answers[("status",)].document["agents"][0]["id"]
    for asked, answer in link._answers.items():
        if asked[0] in ("timeline", "search"):
            link._answers[asked] = msgspec.structs.replace(answer, document={})
    async with dashboard(link, screen="timeline", agent=agent) as pilot:
        await settled(pilot)
        empty = pilot.app.screen.table.empty  # type: ignore[attr-defined]
        assert "\n" not in empty and empty.endswith(" has not been captured yet. Press s to capture it now.")
        assert "captured yet. Press s to capture it now." in text_of(pilot)
        assert what_steers(pilot) == set()


async def test_the_palette_takes_the_name_of_an_agent_as_it_is() -> None:
    async with dashboard(hostile()) as pilot:
        await press(pilot, "ctrl+p")
        await pilot.press(*"timelineof")
        await until(
            pilot,
            lambda: "[@click" in str(pilot.app.screen.query_one("CommandList").options),  # type: ignore[attr-defined]
        )
        assert what_steers(pilot) == set()
        assert pilot.app.is_running


async def test_a_command_that_is_copied_holds_what_a_clipboard_can_take_and_nothing_that_steers() -> None:
    async with dashboard(hostile()) as pilot:
        await press(pilot, "y")
        assert pilot.app.clipboard.startswith("lifeboat status $'")
        assert make_plain(pilot.app.clipboard) == pilot.app.clipboard
        pilot.app.copy_to_clipboard(EVIL)
        assert pilot.app.clipboard == make_plain_lines(EVIL)


async def test_a_dialog_shows_what_can_be_edited_and_gives_back_what_was_not() -> None:
    given: list[str | None] = []
    async with dashboard() as pilot:
        pilot.app.push_screen(TextDialog("?", value=EVIL), given.append)
        await settled(pilot)
        assert what_steers(pilot) == set()
        await press(pilot, "enter")
    assert given == [EVIL]


async def test_a_secret_does_not_stay_on_the_dialog_that_took_it() -> None:
    question = TextDialog("?", secret=True)
    async with dashboard() as pilot:
        given: list[str | None] = []
        pilot.app.push_screen(question, given.append)
        await settled(pilot)
        field = question.query_one("#answer")
        await press(pilot, *"swordfish", "enter")
        assert given == ["swordfish"] and field.value == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["a\x1b[201~b", "it's\nso", "back\\slash\u202e", "caf\u00e9\udcff"])
def test_a_name_that_cannot_be_printed_is_spelled_out_for_the_shell(name: str) -> None:
    typed = human_text.quote_argument(name)
    assert typed.isprintable()
    said = subprocess.run(["bash", "-c", f"printf %s {typed}"], capture_output=True, check=True, env={"LC_ALL": "C"})
    assert said.stdout == name.encode(errors="surrogateescape")


def test_a_title_is_read_as_it_was_written() -> None:
    from textual.content import Content

    for name in ("[/]", "\\[b]", "[@click=app.quit]x", "a\\", "[ 1 ]"):
        assert Content.from_markup(escape_title(name)).plain == name


async def test_a_file_that_begins_with_a_dash_is_no_option_of_a_command() -> None:
    link = recorded()
    async with dashboard(link, screen="receipts") as pilot:
        await press(pilot, "V")
        pilot.app.screen.query_one("#answer").value = "--help"  # type: ignore[attr-defined]
        await press(pilot, "enter")
        said = [words for words, _ in link.asked if words[:2] == ("receipts", "verify")]
        assert said == [("receipts", "verify", "--", "--help")]


async def test_a_megabyte_in_a_cell_and_in_a_note_is_cut_and_not_measured() -> None:
    async with dashboard() as pilot:
        screen, table = pilot.app.screen, pilot.app.screen.query_one(RowTable)
        table.show([TableRow("a", ("\u6f22" * 1_000_000,) * len(table.columns))])
        screen.tell_user("\u6f22" * 1_000_000)  # type: ignore[attr-defined]
        await settled(pilot)
        assert len(notes(pilot)[-1]) <= 1000
        assert "\u2026" in text_of(pilot)
