"""A chart of one line: bars, what they count, and since when."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.text import plain

_FEWEST = 8
"""Bars that are worth drawing."""


class Chart(Widget):
    """Where the line is too short for all bars, the newest are drawn; where it is long, each bar is wider."""

    DEFAULT_CSS = "Chart { height: 1; padding: 0 1; }"

    def __init__(self, glyphs: Glyphs | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs or Glyphs()
        self._said: tuple[tuple[int, ...], str, str] = ((), "", "")

    def say(self, counts: Sequence[int], before: str, after: str) -> None:
        """`before` and `after` stand beside the bars. What is the same is not drawn again."""
        new = (tuple(counts), before, after)
        if new != self._said:
            self._said = new
            self.refresh()

    def render(self) -> Content:
        counts, before, after = self._said
        room = self.size.width - cell_len(before) - 2
        if room - cell_len(after) - 2 >= min(_FEWEST, len(counts)):
            room -= cell_len(after) + 2
        else:
            after = ""
        if not counts or room < min(_FEWEST, len(counts)):
            return Content.assemble((plain(before), "$foreground 60%"), "  ", (plain(after), "$foreground 60%"))
        bars = self._glyphs.bars(widened(list(counts), room))
        muted = "$foreground 60%"
        return Content.assemble((plain(before), muted), "  ", (bars, "$text-accent"), "  ", (plain(after), muted))


def widened(counts: list[int], room: int) -> list[int]:
    """The newest counts that fit; each twice or more often where there is room for that."""
    times = max(1, min(3, room // max(1, len(counts))))
    return [count for count in counts[-room:] for _ in range(times)]
