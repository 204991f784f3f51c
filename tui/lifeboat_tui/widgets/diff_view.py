"""View of changed lines in any number: only visible lines are drawn. Long lines are wrapped."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from textual import events
from textual.binding import Binding
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.glyphs import Glyphs

TITLE, PLACE, ADDED, REMOVED, NOTE, MUTED, TEXT = "title", "place", "added", "removed", "note", "muted", "text"
KINDS = ("", TITLE, PLACE, ADDED, REMOVED, NOTE, MUTED, TEXT)
_CHANGED = (ADDED, REMOVED)
_SIGNS = {ADDED: "+ ", REMOVED: "- ", "": "  "}
"""Prefix of a line in addition to its colour. Other kinds have none."""
_NUMBERED = 60
"""Minimum width in columns for showing line numbers."""


class DiffLine(NamedTuple):
    """Line to show. `kind` is one of the constants above, or "" for an unchanged line. `number` is its line number or
    None. `key`, on a title: the name of the part that begins here."""

    text: str
    kind: str = ""
    number: int | None = None
    key: str = ""


class _ScreenLine(NamedTuple):
    """One line of the screen: the index of its line, the piece of the text, and whether it is the first piece."""

    line: int
    text: str
    is_first: bool


class DiffView(ScrollView, can_focus=True):
    """View of lines in titled parts. `here` is the line to which the last jump went."""

    COMPONENT_CLASSES = {
        "diff--title",
        "diff--place",
        "diff--added",
        "diff--removed",
        "diff--note",
        "diff--muted",
        "diff--text",
        "diff--number",
    }
    DEFAULT_CSS = """
    DiffView {
        background: $surface; color: $foreground; scrollbar-size-vertical: 1; scrollbar-gutter: stable;
        overflow-x: hidden; border: round $secondary;
    }
    DiffView:focus { border: round $border; }
    DiffView > .diff--title { text-style: bold; }
    DiffView > .diff--place { color: $text-accent; }
    DiffView > .diff--added { color: $text-success; }
    DiffView > .diff--removed { color: $text-error; }
    DiffView > .diff--note { color: $text-warning; }
    DiffView > .diff--muted { color: $foreground 60%; }
    DiffView > .diff--number { color: $foreground 40%; }
    """
    BINDINGS = [
        Binding("up,k", "line(-1)", "Up", show=False),
        Binding("down,j", "line(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown,space", "page(1)", "Page down", show=False),
        Binding("home,g", "edge(0)", "First", show=False),
        Binding("end,G", "edge(1)", "Last", show=False),
    ]

    def __init__(self, *, glyphs: Glyphs | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self.glyphs = glyphs or Glyphs()
        self.here: int | None = None
        self._lines: Sequence[DiffLine] = ()
        self._drawn: list[int | _ScreenLine] = []
        """Lines of the screen. An unwrapped line is stored as its index only."""
        self._tops: list[int] = []
        """First screen line of each line."""
        self._titles: list[int] = []
        self._changes: list[int] = []
        self._highest = self._numbers = self._wrapped_for = 0
        """The highest line number, the width of line numbers in cells, and the width for which the lines are laid
        out."""

    # Interface ------------------------------------------------------------------------------------------------------

    @property
    def lines(self) -> Sequence[DiffLine]:
        return self._lines

    @property
    def part(self) -> str:
        """Return the key of the current part: that of the last jump while it is visible, otherwise that of the first
        visible line."""
        at = self._from_line()
        place = bisect_right(self._titles, at) - 1
        return self._lines[self._titles[place]].key if place >= 0 else ""

    def show(self, lines: Sequence[DiffLine]) -> None:
        """Replace all lines and scroll to the top."""
        self._lines, self.here = lines, None
        self._titles = [at for at, line in enumerate(lines) if line.kind == TITLE]
        self._changes = list(_beginnings(lines))
        self._highest = max((line.number or 0 for line in lines), default=0)
        self._wrap()
        self.scroll_to(y=0, animate=False, immediate=True)
        self.refresh()

    def go_to_part(self, key: str) -> bool:
        """Scroll to the title of a part. Returns False if there is no such part."""
        at = next((at for at in self._titles if self._lines[at].key == key), None)
        if at is None:
            return False
        self._go_to(at, above=0)
        return True

    def go_to_change(self, step: int) -> bool:
        """Go to the next change (step 1) or the previous one (-1). Returns False if there is none."""
        at = self._from_line()
        if step > 0:
            place = bisect_left(self._changes, at) if self.here is None else bisect_right(self._changes, at)
        else:
            place = bisect_left(self._changes, at) - 1
        if not 0 <= place < len(self._changes):
            return False
        self._go_to(self._changes[place], above=2)
        return True

    # Position -------------------------------------------------------------------------------------------------------

    def _from_line(self) -> int:
        """Return the line from which a jump starts: that of the last jump while it is visible, otherwise the first
        visible line."""
        top, height = int(self.scroll_offset.y), max(1, self.size.height)
        if self.here is not None and self.here < len(self._tops) and top <= self._tops[self.here] < top + height:
            return self.here
        self.here = None
        return self._piece(top).line if top < len(self._drawn) else 0

    def _go_to(self, line: int, *, above: int) -> None:
        self.here = line
        if line < len(self._tops):
            self.scroll_to(y=max(0, self._tops[line] - above), animate=False, immediate=True)
        self.refresh()

    def action_line(self, step: int) -> None:
        self.scroll_relative(y=step, animate=False, immediate=True)

    def action_page(self, step: int) -> None:
        self.scroll_relative(y=step * max(1, self.size.height - 1), animate=False, immediate=True)

    def action_edge(self, last: int) -> None:
        self.scroll_to(y=self.max_scroll_y if last else 0, animate=False, immediate=True)

    # Drawing --------------------------------------------------------------------------------------------------------

    @property
    def _room(self) -> int:
        return max(1, self.scrollable_content_region.width)

    def on_resize(self, event: events.Resize) -> None:
        if self._room != self._wrapped_for:
            top = self._from_line() if self._drawn else 0
            self._wrap()
            if top and top < len(self._tops):
                self.scroll_to(y=self._tops[top], animate=False, immediate=True)
            self.refresh()

    def _wrap(self) -> None:
        """Lay out the lines for the current width. A line that fits is stored as its index, and made safe when it is
        drawn."""
        self._wrapped_for = room = self._room
        self._numbers = 0 if room < _NUMBERED else len(str(self._highest)) + 1
        widths = {kind: max(8, room - 1 - self._numbers - len(_SIGNS.get(kind, ""))) for kind in KINDS}
        drawn: list[int | _ScreenLine] = []
        self._tops = tops = []
        for at, (text, kind, _, _) in enumerate(self._lines):
            tops.append(len(drawn))
            width = widths[kind]
            if len(text) <= width and text.isascii() and "\t" not in text:
                drawn.append(at)
            else:
                safe = text if text.isprintable() else make_plain(text)
                drawn += [_ScreenLine(at, piece, not nth) for nth, piece in enumerate(wrap_text(safe, width))]
        self._drawn = drawn
        self.virtual_size = Size(room, len(drawn))

    def _piece(self, at: int) -> _ScreenLine:
        drawn = self._drawn[at]
        return _ScreenLine(drawn, make_plain(self._lines[drawn].text), True) if isinstance(drawn, int) else drawn

    def render_line(self, y: int) -> Strip:
        width, base = self._room, self.rich_style
        at = y + int(self.scroll_offset.y)
        if at >= len(self._drawn):
            return Strip.blank(width, base)
        piece = self._piece(at)
        line = self._lines[piece.line]
        style = base + self.get_component_rich_style(f"diff--{line.kind}") if line.kind else base
        is_here = piece.is_first and piece.line == self.here
        cursor = Segment(self.glyphs.sign("cursor") if is_here else " ", style)
        number = str(line.number) if line.number is not None and piece.is_first else ""
        number = number.rjust(self._numbers - 1) + " " if self._numbers else ""
        sign = _SIGNS.get(line.kind, "")
        text = (sign if piece.is_first else " " * len(sign)) + piece.text
        faint = base + self.get_component_rich_style("diff--number")
        segments = [cursor, Segment(number, faint), Segment(text, style)]
        if line.kind == TITLE and piece.is_first:
            room = width - 2 - len(number) - cell_len(text) - 1
            segments.append(Segment(f" {self.glyphs.sign('line') * max(0, room)}", faint))
        return Strip(segments).adjust_cell_length(width, base)


def _beginnings(lines: Sequence[DiffLine]) -> Iterator[int]:
    """Yield the index at which each run of changed lines begins."""
    was_changed = False
    for at, line in enumerate(lines):
        is_changed = line.kind in _CHANGED
        if is_changed and not was_changed:
            yield at
        was_changed = is_changed


def wrap_text(text: str, width: int) -> Iterator[str]:
    """Yield pieces of the text no wider than `width`, broken between words where a space is near."""
    if not text.isascii() and cell_len(text) != len(text):
        yield from chop_cells(text, width) or [""]
        return
    begin = 0
    while len(text) - begin > width:
        space = text.rfind(" ", begin + width // 2, begin + width + 1)
        end = begin + width if space < 0 else space + 1
        yield text[begin:end]
        begin = end
    yield text[begin:]
