"""Progress of a long command: the current step, progress, rate and remaining time."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from lifeboat_daemon.control.command_runner import CommandProgress
from lifeboat_tui.cell_text import format_duration, make_plain
from lifeboat_tui.glyphs import Glyphs

_WIDEST = 40


class ProgressDisplay(Widget):
    """Two lines: the step, and a bar with figures. Drawn when progress is reported, not on a timer."""

    DEFAULT_CSS = "ProgressDisplay { height: 2; padding: 0 1; }"

    def __init__(self, glyphs: Glyphs | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs or Glyphs()
        self._progress = CommandProgress("")

    def tell(self, progress: CommandProgress) -> None:
        """Show a progress report."""
        self._progress = progress
        self.refresh()

    def render(self) -> Content:
        said = self._progress
        return Content.assemble((make_plain(said.text), "bold"), "\n", self._figures(said))

    def _figures(self, said: CommandProgress) -> str:
        if not said.total:
            return f"{said.done}" if said.done else "..."
        share = min(1.0, said.done / said.total)
        figures = [f"{share:4.0%}", f"{said.done} of {said.total}"]
        figures += [f"{said.rate:.0f}/s"] if said.rate else []
        figures += [f"{format_duration(said.seconds_left)} left"] if said.seconds_left is not None else []
        text = "  ".join(figures)
        width = max(4, min(_WIDEST, self.size.width - cell_len(text) - 2))
        full = round(width * share)
        bar = self._glyphs.sign("bar") * full + self._glyphs.sign("bar_empty") * (width - full)
        return f"{bar}  {text}"
