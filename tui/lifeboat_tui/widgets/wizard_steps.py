"""Line of wizard steps: `1 Point ● ─ 2 What ● ─ 3 Preview ◉ ─ 4 Run ○`."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from lifeboat_tui.glyphs import Glyphs


class WizardSteps(Widget):
    """Line of steps. `here` counts from 0; a completed wizard has `here == len(names)`."""

    DEFAULT_CSS = "WizardSteps { height: 1; padding: 0 1; background: $surface; }"

    def __init__(self, names: Sequence[str], glyphs: Glyphs | None = None, *, here: int = 0) -> None:
        super().__init__()
        self._names, self._glyphs, self._here = tuple(names), glyphs or Glyphs(), here

    def go(self, here: int) -> None:
        """Make another step the current one."""
        self._here = here
        self.refresh()

    def render(self) -> Content:
        parts: list[Content] = []
        for at, name in enumerate(self._names):
            sign = "step_done" if at < self._here else "step_here" if at == self._here else "step_ahead"
            look = "bold" if at == self._here else "" if at < self._here else "$foreground 60%"
            parts.append(Content.styled(f"{at + 1} {name} {self._glyphs.sign(sign)}", look))
        return Content(f" {self._glyphs.sign('line')} ").join(parts)
