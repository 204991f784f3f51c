"""One-line bar chart with a text on both sides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.glyphs import Glyphs

_FEWEST = 8
"""Minimum number of bars worth drawing."""


class BarChart(Widget):
    """Bar chart of one line. On a narrow line only the newest bars are drawn; on a wide one each bar is repeated."""

    DEFAULT_CSS = "BarChart { height: 1; padding: 0 1; }"

    def __init__(self, glyphs: Glyphs | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs or Glyphs()
        self._counts: tuple[int, ...] = ()
        self._before = ""
        self._after: Callable[[int], str] = lambda count: ""

    def say(self, counts: Sequence[int], before: str, after: Callable[[int], str]) -> None:
        """Set the counts. `before` is the text on the left; `after` returns the text on the right for a number of drawn
        bars. Unchanged content is not drawn again."""
        old = (self._counts, self._before, self._after(len(self._counts)))
        self._counts, self._before, self._after = tuple(counts), before, after
        if old != (self._counts, before, after(len(counts))):
            self.refresh()

    def render(self) -> Content:
        muted = "$foreground 60%"
        room = self.size.width - cell_len(self._before) - 4 - cell_len(self._after(len(self._counts)))
        shown = min(len(self._counts), room)
        if shown < min(_FEWEST, len(self._counts)):
            return Content.styled(make_plain(f"{self._before}  {self._after(len(self._counts))}"), muted)
        bars = self._glyphs.bars(fit_counts(list(self._counts), room))
        after = make_plain(self._after(shown)) if shown else ""
        return Content.assemble((make_plain(self._before), muted), "  ", (bars, "$text-accent"), "  ", (after, muted))


def fit_counts(counts: list[int], room: int) -> list[int]:
    """Return the newest counts that fit, each repeated as often as the room allows."""
    times = max(1, min(3, room // max(1, len(counts))))
    return [count for count in counts[-room:] for _ in range(times)]
