"""The table: any length, a stable cursor, a counting filter, and only visible lines drawn."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableColumn, TableRow, fit_columns

pytestmark = pytest.mark.anyio
COLUMNS = (TableColumn("NAME", 10, grow=1), TableColumn("SIZE", 6, rank=2, right=True), TableColumn("NOTE", 8, rank=1))


class Shown(App[None]):
    def __init__(self, *, markable: bool = False) -> None:
        super().__init__()
        self.listing = FilteredTable(
            COLUMNS, title="Things", empty="Nothing here.\nPress a.", glyphs=Glyphs(), markable=markable, id="things"
        )
        self.said: list[object] = []

    def compose(self) -> ComposeResult:
        yield self.listing

    def on_row_table_moved(self, event: RowTable.Moved) -> None:
        self.said.append(("moved", None if event.row is None else event.row.key))

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        self.said.append(("chosen", event.row.key))

    def on_row_table_marked(self, event: RowTable.Marked) -> None:
        self.said.append(("marked", event.keys))


@contextlib.asynccontextmanager
async def shown(count: int, *, markable: bool = False, size: tuple[int, int] = (60, 12)) -> AsyncIterator[Pilot[None]]:
    app = Shown(markable=markable)
    async with app.run_test(size=size) as pilot:
        app.listing.table.focus()
        app.listing.table.show(rows(count))
        await pilot.pause()
        app.said.clear()
        yield pilot


def rows(count: int) -> list[TableRow]:
    return [
        TableRow(str(number), (f"thing {number}", str(number * 7), TableCell("x", "warning")))
        for number in range(count)
    ]


def table_of(pilot: Pilot[None]) -> RowTable:
    return pilot.app.query_one(RowTable)


def said(pilot: Pilot[None]) -> list[object]:
    assert isinstance(pilot.app, Shown)
    return pilot.app.said


def lines(pilot: Pilot[None]) -> list[str]:
    return ["".join(part.text for part in line) for line in pilot.app.screen._compositor.render_strips()]


async def test_a_hundred_thousand_rows_are_there_at_once_and_the_last_is_one_key_away() -> None:
    async with shown(100_000) as pilot:
        await pilot.press("G")
        await pilot.pause()
        assert table_of(pilot).current is not None and table_of(pilot).current.key == "99999"
        assert any("thing 99999" in line for line in lines(pilot))


async def test_only_lines_that_are_seen_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(5_000) as pilot:
        made: list[int] = []
        original = RowTable._line
        monkeypatch.setattr(
            RowTable, "_line", lambda self, *args, **more: made.append(1) or original(self, *args, **more)
        )
        await pilot.press("down")
        await pilot.pause()
        assert 0 < len(made) <= 12


async def test_a_row_that_changed_is_the_only_one_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(8) as pilot:
        made: list[object] = []
        original = RowTable._line
        monkeypatch.setattr(
            RowTable,
            "_line",
            lambda self, cells, *args, **more: made.append(cells[0]) or original(self, cells, *args, **more),
        )
        changed = rows(8)
        changed[5] = TableRow("5", ("thing five", "1", ""))
        table_of(pilot).show(changed)
        await pilot.pause()
        assert "thing five" in made and "thing 3" not in made


async def test_the_cursor_stays_on_its_row_when_rows_come_before_it() -> None:
    async with shown(5) as pilot:
        await pilot.press("down", "down")
        table_of(pilot).show([TableRow("new", ("new one",)), *rows(5)])
        await pilot.pause()
        assert table_of(pilot).current is not None and table_of(pilot).current.key == "2"


async def test_a_row_that_goes_hands_the_cursor_to_the_one_in_its_place() -> None:
    async with shown(3) as pilot:
        await pilot.press("down")
        table_of(pilot).show([row for row in rows(3) if row.key != "1"])
        await pilot.pause()
        assert said(pilot)[-1] == ("moved", "2")


async def test_the_cursor_skips_headings() -> None:
    async with shown(0) as pilot:
        table = table_of(pilot)
        table.show(
            [
                TableRow("h1", ("TODAY",), heading=True),
                TableRow("a", ("a",)),
                TableRow("h2", ("OLD",), heading=True),
                TableRow("b", ("b",)),
            ]
        )
        await pilot.pause()
        assert table.current is not None and table.current.key == "a"
        await pilot.press("down")
        assert table.current.key == "b"
        await pilot.press("up")
        assert table.current.key == "a"
        await pilot.press("up")
        assert table.current.key == "a"


async def test_enter_opens_and_a_second_click_does_too() -> None:
    async with shown(4) as pilot:
        await pilot.press("down", "enter")
        assert said(pilot)[-1] == ("chosen", "1")
        await pilot.click(RowTable, offset=(5, 4))
        assert said(pilot)[-1] == ("moved", "2")
        await pilot.click(RowTable, offset=(5, 4))
        assert said(pilot)[-1] == ("chosen", "2")


async def test_space_marks_where_marks_are_possible() -> None:
    async with shown(4, markable=True) as pilot:
        await pilot.press("space", "down", "space", "up", "space")
        assert said(pilot)[-1] == ("marked", frozenset({"1"}))
        assert any("☑ thing 1" in line for line in lines(pilot))


async def test_a_click_on_the_row_of_the_cursor_marks_where_marks_are_possible() -> None:
    async with shown(3, markable=True) as pilot:
        await pilot.click(RowTable, offset=(2, 3))
        await pilot.click(RowTable, offset=(2, 3))
        assert table_of(pilot).cursor == 1
        assert ("marked", frozenset({"1"})) in said(pilot)


@pytest.mark.parametrize("line", [1, 8])
async def test_a_click_beside_the_rows_does_nothing(line: int) -> None:
    async with shown(3) as pilot:
        await pilot.click(RowTable, offset=(2, line))
        assert table_of(pilot).cursor == 0
        assert said(pilot) == []


async def test_a_heading_is_not_marked() -> None:
    async with shown(0, markable=True) as pilot:
        table_of(pilot).show([TableRow("old", ("Old", "", ""), heading=True)])
        await pilot.press("space")
        assert not any(isinstance(told, tuple) and told[0] == "marked" for told in said(pilot))


async def test_a_filter_counts_what_is_left_and_escape_of_the_listing_clears_it() -> None:
    async with shown(30) as pilot:
        listing = pilot.app.query_one(FilteredTable)
        listing.open_filter()
        await pilot.press(*"29")
        await pilot.pause()
        assert "1 of 30" in "".join(lines(pilot)) and said(pilot)[-1] == ("moved", "29")
        assert listing.clear_filter() and not listing.clear_filter()
        await pilot.pause()
        assert "[30]" in "".join(lines(pilot))


async def test_a_filter_that_nothing_fits_says_so() -> None:
    async with shown(3) as pilot:
        table_of(pilot).filter("nowhere to be found")
        await pilot.pause()
        assert any("No row matches the filter" in line for line in lines(pilot))
        assert said(pilot)[-1] == ("moved", None)


async def test_an_empty_table_teaches() -> None:
    async with shown(0) as pilot:
        assert any("Press a." in line for line in lines(pilot))
        await pilot.press("down", "enter", "G", "pagedown", "space")
        assert ("chosen", None) not in said(pilot)


async def test_markup_and_escape_sequences_in_a_cell_are_text() -> None:
    async with shown(0) as pilot:
        table_of(pilot).show([TableRow("evil", ("[bold]x[/] \x1b[31mred", "", ""))])
        await pilot.pause()
        drawn = "\n".join(lines(pilot))
        assert "[bold]x[/]" in drawn and "\x1b" not in drawn


async def test_wide_letters_keep_the_columns_in_line() -> None:
    async with shown(0) as pilot:
        table_of(pilot).show(
            [TableRow("1", ("ab", "5", "|")), TableRow("2", ("日本語の名前がとても長いものです" * 3, "5", "|"))]
        )
        await pilot.pause()
        drawn = [line for line in lines(pilot) if "|" in line]
        from rich.cells import cell_len

        assert len({cell_len(line[: line.index("|")]) for line in drawn}) == 1


def test_columns_with_the_highest_rank_go_first_where_there_is_no_room() -> None:
    assert fit_columns(COLUMNS, 60).shown == [0, 1, 2]
    assert fit_columns(COLUMNS, 22).shown == [0, 2]
    assert fit_columns(COLUMNS, 5).shown == [0]
    assert sum(fit_columns(COLUMNS, 60).widths) + 4 == 60


def test_a_column_gives_room_that_it_does_not_need_to_one_that_is_too_narrow() -> None:
    columns = (TableColumn("NAME", 8, grow=1), TableColumn("NOTE", 8, grow=9))
    assert fit_columns(columns, 60, [30, 10]).widths[0] >= 30
    assert fit_columns(columns, 60, [30, 300]).widths[0] <= fit_columns(columns, 60).widths[0] + 1
    assert sum(fit_columns(columns, 60, [30, 10]).widths) <= 58
