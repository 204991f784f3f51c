"""A table of any length: only visible lines are drawn, and only changed lines are drawn again.

Textual's DataTable needs seconds for 10,000 rows. Here rows are plain data, and a line is built when it is drawn.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from lifeboat_tui.cell_text import escape_title, make_plain
from lifeboat_tui.glyphs import Glyphs

_GAP = 2
_LONGEST = 2000
"""Maximum number of characters of a cell that are measured. No terminal shows more, and measuring a megabyte takes a
second."""
_MOST_MEASURED = 200
"""Maximum number of rows whose cells decide the widths of columns."""
_FLASH = 0.8
"""Seconds for which a changed row is highlighted."""


@dataclass(frozen=True, slots=True)
class TableCell:
    """Text of a cell. `kind` names a style: success, warning, error, accent, muted, strong, added, removed, or "" for
    none."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class TableRow:
    """Row of a table. `key` identifies it permanently; `search` is the text for filters (default: the cells' texts);
    `heading`: a line between rows that the cursor skips."""

    key: str
    cells: tuple[TableCell | str, ...]
    search: str = ""
    heading: bool = False

    def fits(self, words: Sequence[str]) -> bool:
        """Return True if the row contains every word, ignoring case."""
        text = (self.search or " ".join(get_cell_text(cell) for cell in self.cells)).casefold()
        return all(word in text for word in words)


@dataclass(frozen=True, slots=True)
class TableColumn:
    """Column of a table. `width` is its minimum in cells; `grow` its share of the remaining room; `rank`: on a narrow
    terminal columns with the highest rank are dropped first, those with 0 never."""

    title: str
    width: int
    grow: int = 0
    rank: int = 0
    right: bool = False


def get_cell_text(cell: TableCell | str) -> str:
    return cell if isinstance(cell, str) else cell.text


def get_cell_kind(cell: TableCell | str) -> str:
    return "" if isinstance(cell, str) else cell.kind


@dataclass(slots=True)
class _ColumnLayout:
    """The columns that are shown, with their widths."""

    shown: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)


def fit_columns(columns: Sequence[TableColumn], room: int, needs: Sequence[int] = ()) -> _ColumnLayout:
    """Return as many columns as fit, lowest rank first. Growing columns share the remaining room. A column gives room
    that its cells do not need (`needs`, their widths) to those that are too narrow."""
    shown = list(range(len(columns)))

    def needed() -> int:
        return sum(columns[at].width for at in shown) + _GAP * max(0, len(shown) - 1)

    while needed() > room and any(columns[at].rank for at in shown):
        shown.remove(max(shown, key=lambda at: (columns[at].rank, at)))
    widths = {at: columns[at].width for at in shown}
    left = max(0, room - needed())
    while left and (short := [at for at in shown if columns[at].grow and at < len(needs) and widths[at] < needs[at]]):
        shares, before = sum(columns[at].grow for at in short), left
        for at in short:
            taken = min(needs[at] - widths[at], max(1, before * columns[at].grow // shares), left)
            widths[at] += taken
            left -= taken
    shares = sum(columns[at].grow for at in shown)
    return _ColumnLayout(shown, [widths[at] + (left * columns[at].grow // shares if shares else 0) for at in shown])


class RowTable(ScrollView, can_focus=True):
    """Rows below a title line, with a cursor. Posts `Moved` when the cursor is on another row, `Chosen` on enter or a
    click on the cursor's row, and `Marked` when a mark changes (`markable`)."""

    COMPONENT_CLASSES = {
        *("table--title", "table--cursor", "table--heading", "table--flash", "table--success", "table--warning"),
        *("table--error", "table--accent", "table--muted", "table--strong", "table--added", "table--removed"),
    }
    DEFAULT_CSS = """
    RowTable { background: $surface; color: $foreground; scrollbar-size-vertical: 1; overflow-x: hidden;
        scrollbar-background: $panel; }
    RowTable > .table--title { text-style: bold; color: $foreground 60%; }
    RowTable > .table--cursor { background: $panel; }
    RowTable:focus > .table--cursor {
        background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold;
    }
    RowTable > .table--heading { text-style: bold; color: $foreground 60%; }
    RowTable > .table--flash { text-style: bold underline; }
    RowTable > .table--success { color: $text-success; }
    RowTable > .table--warning { color: $text-warning; }
    RowTable > .table--error { color: $text-error; text-style: bold; }
    RowTable > .table--accent { color: $text-accent; }
    RowTable > .table--muted { color: $foreground 60%; }
    RowTable > .table--strong { text-style: bold; }
    RowTable > .table--added { color: $text-success; }
    RowTable > .table--removed { color: $text-error; }
    """
    BINDINGS = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "edge(0)", "First", show=False),
        Binding("end,G", "edge(1)", "Last", show=False),
        Binding("enter", "choose", "Open", show=False),
        Binding("space", "mark", "Mark", show=False),
    ]

    cursor: reactive[int] = reactive(0, init=False)

    @dataclass
    class Moved(Message):
        """The cursor is on another row, or on none."""

        table: RowTable
        row: TableRow | None

        @property
        def control(self) -> RowTable:
            return self.table

    @dataclass
    class Chosen(Message):
        table: RowTable
        row: TableRow

        @property
        def control(self) -> RowTable:
            return self.table

    @dataclass
    class Marked(Message):
        """The marks have changed; `keys` are all marked rows."""

        table: RowTable
        keys: frozenset[str]

        @property
        def control(self) -> RowTable:
            return self.table

    def __init__(
        self,
        columns: Sequence[TableColumn],
        *,
        title: str = "",
        empty: str = "",
        glyphs: Glyphs | None = None,
        markable: bool = False,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.columns, self.title, self.empty = tuple(columns), title, empty
        self.glyphs, self.markable = glyphs or Glyphs(), markable
        self.marked: set[str] = set()
        self._all: list[TableRow] = []
        self._rows: list[TableRow] = []
        self._words: list[str] = []
        self._layout = _ColumnLayout()
        self._fitted_for = -1
        self._needs: list[int] = []
        self._flashing: set[str] = set()
        self._said_count = ""
        self.border_title = title.replace("[", r"\[")

    # Interface ------------------------------------------------------------------------------------------------------

    @property
    def current(self) -> TableRow | None:
        """Return the row under the cursor."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    @property
    def rows(self) -> Sequence[TableRow]:
        """Return the rows that match the filter."""
        return self._rows

    def show(self, rows: Iterable[TableRow], *, flash: bool = False, flash_new: bool = False) -> None:
        """Replace the rows. The cursor stays on the row with the same key. `flash`: highlight changed rows for a
        moment, `flash_new`: new rows too."""
        before = {row.key: row for row in self._all} if flash else {}
        here, keys = self.current, [row.key for row in self._all]
        self._all = list(rows)
        if [row.key for row in self._all] != keys:  # a changed cell alone moves no other column
            self._measure()
        if flash and before:
            changed = {row.key for row in self._all if before.get(row.key) not in (row, None)}
            self._flash(changed | ({row.key for row in self._all if row.key not in before} if flash_new else set()))
        self._refilter(None if here is None else here.key)

    def _measure(self) -> None:
        """Measure the cells of the growing columns; of a long table only the first rows, so that it stays quick."""
        needs = [0] * len(self.columns)
        growing = [at for at, column in enumerate(self.columns) if column.grow]
        for row in self._all[:_MOST_MEASURED]:
            for at in growing:
                if at < len(row.cells) and not row.heading:
                    needs[at] = max(needs[at], cell_len(get_cell_text(row.cells[at])[:_LONGEST]))
        if needs != self._needs:
            self._needs, self._fitted_for = needs, -1
            self.refresh()

    def select(self, key: str) -> bool:
        """Put the cursor on the row with this key. Returns False if there is none."""
        for at, row in enumerate(self._rows):
            if row.key == key and not row.heading:
                self.cursor = at
                return True
        return False

    def filter(self, text: str) -> None:
        """Show only rows that contain every word of the text."""
        here = self.current
        self._words = text.casefold().split()
        self._refilter(None if here is None else here.key)

    def mark(self, keys: Iterable[str]) -> None:
        """Mark exactly these rows."""
        self.marked = set(keys)
        self.refresh()

    # Rows, cursor, size ---------------------------------------------------------------------------------------------

    def _refilter(self, key: str | None) -> None:
        old, top = self._rows, self.scroll_offset.y
        self._rows = [row for row in self._all if row.fits(self._words)] if self._words else self._all
        self._say_count()
        at = next((at for at, row in enumerate(self._rows) if row.key == key), None) if key is not None else None
        moved_from = self.cursor
        self.set_reactive(
            RowTable.cursor, self._landing(at if at is not None else min(moved_from, len(self._rows) - 1))
        )
        if len(old) != len(self._rows):
            self._resize()
        self._redraw(old, moved_from)
        here = self.current
        if (None if here is None else here.key) != key or (here is not None and key is None) or here is None:
            self._say(self.Moved(self, here))
        elif at is not None and at != moved_from:
            self.scroll_to(y=max(0, top + at - moved_from), animate=False)
        self._scroll_to_cursor()

    def _redraw(self, old: list[TableRow], was_at: int) -> None:
        """Draw changed lines again, and the old and new line of the cursor."""
        first = int(self.scroll_offset.y)
        for line in range(first, min(first + self.size.height, max(len(old), len(self._rows)) + 1)):
            was = old[line] if line < len(old) else None
            now = self._rows[line] if line < len(self._rows) else None
            if was != now or (self.cursor != was_at and line in (self.cursor, was_at)):
                self._refresh_row(line)
        if len(old) != len(self._rows):
            self.refresh()

    def _landing(self, at: int, step: int = 1) -> int:
        """Return the nearest row that is not a heading, searching in the direction of `step` first."""
        if not self._rows:
            return 0
        at = max(0, min(at, len(self._rows) - 1))
        onwards = range(at, len(self._rows)) if step > 0 else range(at, -1, -1)
        backwards = range(at, -1, -1) if step > 0 else range(at, len(self._rows))
        return next((place for place in (*onwards, *backwards) if not self._rows[place].heading), at)

    def _say(self, message: Message) -> None:
        """Post a message with this table as sender. Otherwise a parent that caused the change would be the sender, and
        the message would not bubble beyond it."""
        self.post_message(message.set_sender(self))

    def _say_count(self) -> None:
        total = sum(not row.heading for row in self._all)
        shown = sum(not row.heading for row in self._rows)
        count = f"{shown} of {total}" if self._words else str(total)
        said = escape_title(f"{self.title} [{count}]") if self.title else ""
        if said != self._said_count:  # setting the title draws everything again
            self._said_count = self.border_title = said

    def _resize(self) -> None:
        self.virtual_size = Size(self._room, len(self._rows) + 1)

    @property
    def _room(self) -> int:
        return max(1, self.scrollable_content_region.width)

    def on_resize(self, event: events.Resize) -> None:
        self._resize()
        self._scroll_to_cursor()
        self.refresh()

    @property
    def _lead(self) -> int:
        """Return the width in cells of cursor and mark before a row."""
        return 2 + (cell_len(self.glyphs.sign("marked")) + 1 if self.markable else 0)

    def watch_cursor(self, before: int, now: int) -> None:
        self._refresh_row(before)
        self._refresh_row(now)
        self._scroll_to_cursor()
        self._say(self.Moved(self, self.current))

    def _scroll_to_cursor(self) -> None:
        height = max(1, self.size.height - 1)
        top = int(self.scroll_offset.y)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, immediate=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, immediate=True)

    def _refresh_row(self, at: int) -> None:
        self.refresh(Region(0, at - int(self.scroll_offset.y) + 1, self.size.width, 1))

    def _flash(self, keys: set[str]) -> None:
        if keys:
            self._flashing |= keys
            self.set_timer(_FLASH, lambda: self._unflash(keys))

    def _unflash(self, keys: set[str]) -> None:
        self._flashing -= keys
        for at, row in enumerate(self._rows):
            if row.key in keys:
                self._refresh_row(at)

    # Keys and mouse -------------------------------------------------------------------------------------------------

    def action_move(self, step: int) -> None:
        wanted = self.cursor + step
        if 0 <= wanted < len(self._rows):
            self.cursor = self._landing(wanted, step)

    def action_page(self, step: int) -> None:
        self.cursor = self._landing(self.cursor + step * max(1, self.size.height - 2), step)

    def action_edge(self, last: int) -> None:
        self.cursor = self._landing(len(self._rows) - 1, -1) if last else self._landing(0)

    def action_choose(self) -> None:
        row = self.current
        if row is not None and not row.heading:
            self._say(self.Chosen(self, row))

    def action_mark(self) -> None:
        row = self.current
        if row is None or row.heading:
            return
        self.marked ^= {row.key}
        self._refresh_row(self.cursor)
        self._say(self.Marked(self, frozenset(self.marked)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the space key to the screen if rows cannot be marked."""
        return self.markable if action == "mark" else True

    def on_click(self, event: events.Click) -> None:
        inside = event.get_content_offset(self)
        if inside is None or inside.y < 1:
            return
        at = inside.y + int(self.scroll_offset.y) - 1
        if at >= len(self._rows) or self._rows[at].heading:
            return
        if at != self.cursor:
            self.cursor = at
        elif self.markable:
            self.action_mark()
        else:
            self.action_choose()

    # Drawing --------------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        width, base = self._room, self.rich_style
        if y == 0:
            if not self._rows:
                return Strip([Segment(set_cell_size("", width), base)], width)
            return self._line(self._titles(), width, base + self.get_component_rich_style("table--title"), None)
        at = y - 1 + int(self.scroll_offset.y)
        if not self._rows:
            return self._empty_line(y, width, base)
        if at >= len(self._rows):
            return Strip.blank(width, base)
        row = self._rows[at]
        if row.heading:
            style = base + self.get_component_rich_style("table--heading", partial=True)
            return Strip([Segment(set_cell_size(f" {make_plain(get_cell_text(row.cells[0]))}", width), style)], width)
        is_here = at == self.cursor
        style = base + self.get_component_rich_style("table--cursor") if is_here else base
        if row.key in self._flashing:
            style += self.get_component_rich_style("table--flash", partial=True)
        return self._line(row.cells, width, style, self._leading(row, is_here=is_here), plain_colours=is_here)

    def _titles(self) -> tuple[str, ...]:
        return tuple(column.title for column in self.columns)

    def _leading(self, row: TableRow, *, is_here: bool) -> str:
        lead = self.glyphs.sign("cursor") if is_here else " "
        if self.markable:
            lead += f" {self.glyphs.sign('marked' if row.key in self.marked else 'unmarked')}"
        return lead

    def _line(
        self,
        cells: Sequence[TableCell | str],
        width: int,
        style: Style,
        lead: str | None,
        *,
        plain_colours: bool = False,
    ) -> Strip:
        if self._fitted_for != width - self._lead:  # no resize event is sent when a scrollbar appears or disappears
            self._fitted_for = width - self._lead
            self._layout = fit_columns(self.columns, self._fitted_for, self._needs)
        segments = [Segment(set_cell_size(lead or "", self._lead), style)]
        for place, (at, room) in enumerate(zip(self._layout.shown, self._layout.widths, strict=True)):
            cell = cells[at] if at < len(cells) else ""
            text = _placed(make_plain(get_cell_text(cell)[:_LONGEST]), room, right=self.columns[at].right)
            gap = " " * _GAP if place + 1 < len(self._layout.shown) else ""
            segments.append(
                Segment(text + gap, style + self._kind_style(get_cell_kind(cell), plain_colours=plain_colours))
            )
        return Strip(segments).adjust_cell_length(width, style)

    def _kind_style(self, kind: str, *, plain_colours: bool) -> Style:
        """Return the style of a kind. On the cursor's row colours would be unreadable; the sign and the word remain."""
        if not kind:
            return Style.null()
        found = self.get_component_rich_style(f"table--{kind}")  # blended with the background
        return Style(bold=found.bold) if plain_colours and self.has_focus else Style(color=found.color, bold=found.bold)

    def _empty_line(self, y: int, width: int, base: Style) -> Strip:
        """Return a line of the text for an empty table."""
        text = "No row matches the filter. Press esc to clear it." if self._words else self.empty
        lines = [part for line in text.split("\n") for part in _wrapped(line, max(10, width - 4))]
        said = lines[y - 1] if 0 <= y - 1 < len(lines) else ""
        style = base + self.get_component_rich_style("table--muted", partial=True)
        return Strip([Segment(set_cell_size(f"  {make_plain(said)}", width), style)], width)


def _placed(text: str, room: int, *, right: bool) -> str:
    """Return a text in exactly `room` cells; longer text ends with `…`."""
    length = cell_len(text)
    if length > room:
        return set_cell_size(text, max(0, room - 1)) + "…" if room > 0 else ""
    return " " * (room - length) + text if right else text + " " * (room - length)


def _wrapped(line: str, width: int) -> list[str]:
    return textwrap.wrap(line, width) or [""]
