"""The screen of differences: names, lines, jumps, and omitted content."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator

import pytest
from textual.pilot import Pilot

from lifeboat_core import documents
from lifeboat_core.documents.diff_documents import Difference
from lifeboat_core.errors import NothingToRestore
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.timeline.diff_lines import list_changes, summarize_changes
from lifeboat_tui.screens.timeline.diff_screen import DiffScreen
from lifeboat_tui.widgets.diff_view import ADDED, REMOVED, TITLE, DiffLine, DiffView, wrap_text
from support.tui.histories import ada_of, difference, file, history, opened
from support.tui.pilots import SIZES, dashboard, notes, press, settled, text_of

pytestmark = pytest.mark.anyio

LONG = "a line of an invented note that is as long as lines of notes are, which is longer than a pane"
RECORDS = [
    {"id": "r-1", "operation": "updated", "content": "# Tea\n\nNo sugar.\n", "previous": "# Tea\n\nSugar.\n"},
    {"id": "r-2", "operation": "deleted", "content": None, "previous": "The old boat."},
    {"id": "r-3", "operation": "created", "content": "", "previous": None, "omitted": True},
]


def _link(second: int | None = 5, **more: object) -> RecordedLink:
    link = history()
    files = [
        file("MEMORY.md", "changed", "@@ -1,3 +1,3 @@", " one", "-two", "+zwei", " three", "@@ -40 +40 @@", "-x", "+y"),
        file("notes/new.md", "created", "@@ -0,0 +1,2 @@", "+first", f"+{LONG}"),
        file("notes/long.md", "changed", "@@ -1 +1,2 @@", "+more", cut=True),
        {"path": "raw/openclaw/old.md", "operation": "removed"},
        {"path": "raw/openclaw/run.sh", "operation": "meta"},
    ]
    changed = {
        "files": files,
        "records": RECORDS,
        "documents": [file("identity.json", "changed", "@@ -1 +1 @@", "+{}")],
    }
    words = ["diff", ada_of(link), "1", "workspace" if second is None else str(second)]
    link.answers(words, difference(link, 1, second, **{**changed, **more}))
    return link


@contextlib.asynccontextmanager
async def _shown(
    link: RecordedLink | None = None, second: str = "5", **options: object
) -> AsyncIterator[tuple[Pilot[None], DiffScreen]]:
    link = link or _link()
    async with dashboard(link, **options) as pilot:  # type: ignore[arg-type]
        screen = DiffScreen(ada_of(link), "1", second)
        pilot.app.push_screen(screen)
        await settled(pilot)
        yield pilot, screen


# What is shown ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_names_and_lines_stand_there_at_every_size(size: tuple[int, int]) -> None:
    async with _shown(size=size) as (pilot, _):
        said = text_of(pilot)
        assert "5 files and 3 memories changed" in " ".join(said.split())
        assert "MEMORY.md" in said and "- two" in said and "+ zwei" in said


async def test_files_memories_and_what_follows_from_them_are_apart() -> None:
    async with _shown(size=(120, 50)) as (_, screen):
        headings = [str(row.cells[0]) for row in screen.table.rows if row.heading]
        assert headings == ["FILES [5]", "MEMORIES [3]", "DERIVED [1]"]


async def test_each_change_has_a_letter_and_its_counts() -> None:
    async with _shown() as (_, screen):
        letters = {change.name: (change.letter, change.added, change.removed) for change in screen._changes.values()}
        assert letters["MEMORY.md"] == ("M", 2, 2)
        assert letters["notes/new.md"] == ("A", 2, 0)
        assert letters["old.md"] == ("D", 0, 0)
        assert letters["run.sh"] == ("T", 0, 0)
        assert letters["Tea"] == ("M", 1, 1)
        assert letters["The old boat."] == ("D", 0, 1)


async def test_lines_have_the_numbers_of_their_own_side() -> None:
    async with _shown() as (_, screen):
        numbers = [(line.text, line.number) for line in screen.view.lines if line.kind in (ADDED, REMOVED)][:4]
        assert numbers == [("two", 2), ("zwei", 2), ("x", 40), ("y", 40)]


async def test_a_long_line_is_wrapped_and_not_cut() -> None:
    async with _shown(size=(80, 24)) as (pilot, screen):
        screen.table.select("files:raw/openclaw/notes/new.md")
        await settled(pilot)
        assert "is longer than a pane" in " ".join(text_of(pilot).replace("│", " ").split())


async def test_the_lines_follow_the_cursor() -> None:
    async with _shown(size=(80, 24)) as (pilot, screen):
        await press(pilot, "down")
        assert screen.view.part == "files:raw/openclaw/notes/new.md" and "+ first" in text_of(pilot)


async def test_nothing_that_changed_is_said() -> None:
    link = _link(files=[], records=[], documents=[])
    async with _shown(link) as (pilot, _):
        said = text_of(pilot)
        assert "nothing changed" in said and "No differences" in said
        await press(pilot, "r")
        assert "no change is selected" in notes(pilot)[-1]


async def test_what_did_not_fit_is_said_with_the_command_that_shows_all() -> None:
    link = _link(truncated=True, total={"files": 900, "records": 3, "documents": 1})
    async with _shown(link) as (pilot, _):
        said = " ".join(text_of(pilot).split())
        assert "Not shown: 895 changes" in said and "lifeboat diff ada 1 5 --limit 1GB" in said


async def test_a_question_that_fails_is_said() -> None:
    link = _link()
    link.fails(["diff", ada_of(link), "1", "5"], NothingToRestore("sequence 1 is not kept any more"))
    async with _shown(link) as (pilot, _):
        assert "sequence 1 is not kept any more" in text_of(pilot)


async def test_hostile_lines_do_not_reach_the_terminal() -> None:
    hostile = file("a.md", "changed", "@@ -1 +1 @@", "+\x1b]0;title\x07\u202eturned\t[bold]")
    async with _shown(_link(files=[hostile])) as (pilot, _):
        said = text_of(pilot)
        assert "\x1b" not in said and "\u202e" not in said and "[bold]" in said


# Keys ---------------------------------------------------------------------------------------------------------------


async def test_n_and_capital_n_go_from_change_to_change_and_take_the_cursor_along() -> None:
    async with _shown() as (pilot, screen):
        texts = []
        for _ in range(3):
            await press(pilot, "n")
            texts.append(screen.view.lines[screen.view.here or 0].text)
        assert texts == ["two", "x", "first"]
        assert screen.chosen is not None and screen.chosen.name == "notes/new.md"
        await press(pilot, "N")
        assert screen.view.lines[screen.view.here or 0].text == "x"
        assert screen.chosen.name == "MEMORY.md"


async def test_the_last_and_the_first_change_are_the_end() -> None:
    async with _shown() as (pilot, _):
        await press(pilot, *"n" * 9)
        assert "last change" in notes(pilot)[-1]
        await press(pilot, *"N" * 9)
        assert "first change" in notes(pilot)[-1]


async def test_enter_goes_over_to_the_lines() -> None:
    async with _shown() as (pilot, screen):
        await press(pilot, "enter")
        assert pilot.app.focused is screen.view


async def test_a_file_that_is_cut_is_shown_whole_on_demand() -> None:
    link = _link()
    whole = file("notes/long.md", "changed", "@@ -1 +1,2 @@", "+more", "+and the end")
    link.answers(["diff", ada_of(link), "1", "5", "--path=notes/long.md"], difference(link, 1, 5, files=[whole]))
    async with _shown(link) as (pilot, screen):
        await press(pilot, "L")
        assert "all changed lines of this file are already shown" in notes(pilot)[-1]
        screen.table.select("files:raw/openclaw/notes/long.md")
        await press(pilot, "L", "y")
        assert "and the end" in text_of(pilot)
        assert pilot.app.clipboard == "lifeboat diff ada 1 5 --path=notes/long.md"
        await press(pilot, "escape")
        assert pilot.app.screen is screen


async def test_a_name_with_signs_of_a_pattern_stands_for_itself() -> None:
    link = _link(files=[file("a[1]*.md", "changed", "@@ -1 +1 @@", "+x", cut=True)])
    async with _shown(link) as (pilot, _):
        await press(pilot, "L")
        assert link.asked[-1][0][-1] == "--path=a[[]1][*].md"


async def test_r_brings_a_file_back_as_it_was_before_and_capital_r_as_it_was_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = opened(monkeypatch)
    async with _shown() as (pilot, _):
        await press(pilot, "r", "escape", "R")
        assert [(call["at"], call["paths"]) for call in calls] == [("1", ("MEMORY.md",)), ("5", ("MEMORY.md",))]


async def test_what_was_not_there_cannot_be_brought_back(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = opened(monkeypatch)
    async with _shown() as (pilot, screen):
        screen.table.select("files:raw/openclaw/notes/new.md")
        await press(pilot, "r")
        assert "did not exist before the change" in notes(pilot)[-1]
        screen.table.select("files:raw/openclaw/old.md")
        await press(pilot, "R")
        assert "this change removed the file" in notes(pilot)[-1] and calls == []


async def test_the_workspace_is_no_state_to_restore(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = opened(monkeypatch)
    async with _shown(_link(None), second="workspace") as (pilot, _):
        await press(pilot, "R")
        assert "the workspace already contains this version" in notes(pilot)[-1] and calls == []


async def test_a_filter_finds_names_and_kinds_of_changes() -> None:
    async with _shown() as (pilot, screen):
        await press(pilot, "slash", *"removed")
        assert [row.key for row in screen.table.rows] == ["files:raw/openclaw/old.md", "memories:r-2"]
        await press(pilot, "escape")
        assert len(screen.table.rows) == 12


async def test_a_capture_compares_the_workspace_again_and_keeps_the_place() -> None:
    link = _link(None)
    ada = ada_of(link)
    async with _shown(link, second="workspace", size=(80, 24)) as (pilot, screen):
        screen.table.select("files:raw/openclaw/old.md")
        await settled(pilot)
        less = [
            file("MEMORY.md", "changed", "@@ -1 +1 @@", "+x"),
            {"path": "raw/openclaw/old.md", "operation": "removed"},
        ]
        link.answers(["diff", ada, "1", "workspace"], difference(link, 1, None, files=less))
        link.happens({"event": "capture", "agent": ada})
        await settled(pilot)
        await settled(pilot)
        assert screen.chosen is not None and screen.chosen.name == "old.md"
        assert "2 files changed" in " ".join(text_of(pilot).split())


async def test_only_looking_can_look_at_everything() -> None:
    async with _shown(readonly=True) as (pilot, screen):
        await press(pilot, "n", "N", "tab", "G", "g", "pagedown", "pageup", "j", "k")
        assert pilot.app.screen is screen


async def test_a_hundred_thousand_lines_scroll_without_lag() -> None:
    lines = [f"+{LONG}" for _ in range(1000)]
    files = [file(f"notes/{nth}.md", "created", "@@ -0,0 +1,1000 @@", *lines) for nth in range(100)]
    async with _shown(_link(files=files)) as (pilot, screen):
        assert len(screen.view.lines) > 100_000
        await press(pilot, "tab")
        began = time.process_time()
        await pilot.press("end", "home", *["pagedown"] * 10, *"nnnnn")
        await pilot.pause()
        assert time.process_time() - began < 3.0


# Texts --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_answer_with_no_more_than_names_is_survived(anyio_backend: str) -> None:
    sparse = documents.decode_document(
        Difference, {"files": [{"path": "x"}], "records": [{"id": "r"}], "documents": []}
    )
    assert summarize_changes(list_changes(sparse)) == "1 file and 1 memory"


def test_pieces_of_a_line_are_no_wider_than_the_pane_and_lose_nothing() -> None:
    for text in (LONG * 3, "x" * 100, "漢字" * 30, "wide 漢字 and narrow " * 9, ""):
        for width in (8, 20, 33):
            cut = list(wrap_text(text, width))
            assert "".join(cut) == text
            assert all(len(piece) <= width + 1 for piece in cut)


async def test_a_view_without_lines_takes_every_key() -> None:
    async with dashboard() as pilot:
        view = DiffView()
        await pilot.app.screen.mount(view)
        view.focus()
        assert not view.go_to_change(1) and not view.go_to_change(-1) and not view.go_to_part("x") and view.part == ""
        view.show([DiffLine("only", TITLE, None, "x")])
        await press(pilot, "G", "g", "down", "up", "pagedown", "pageup")
        assert view.part == "x"
