"""Bars around a screen: breadcrumbs, connection problems, and the keys that are useful now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lifeboat_tui.cell_text import make_plain, truncate_text

_LONGEST = 1000
"""Maximum number of characters shown of foreign text."""


class ScreenHeader(Widget):
    """Header with breadcrumbs on the left and one word on everything on the right."""

    DEFAULT_CSS = """
    ScreenHeader { height: 1; background: $panel; color: $foreground; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._crumbs: tuple[str, ...] = ()
        self._right, self._kind, self._separator = "", "", "›"

    def say(self, crumbs: Sequence[str], right: str, kind: str, *, separator: str = "›") -> None:
        """Set the content; draw again only if it changed."""
        new = (tuple(crumbs), right, kind, separator)
        if new != (self._crumbs, self._right, self._kind, self._separator):
            self._crumbs, self._right, self._kind, self._separator = new
            self.refresh()

    def render(self) -> Content:
        left = f" {f' {self._separator} '.join(truncate_text(make_plain(crumb), _LONGEST) for crumb in self._crumbs)}"
        room = self.size.width - cell_len(left) - 1
        right = make_plain(self._right) if cell_len(make_plain(self._right)) < room else ""
        gap = " " * max(1, room - cell_len(right))
        return Content.assemble((left, "bold"), gap, (right, f"${self._kind}" if self._kind else ""))


class ConnectionBanner(Static):
    """One line below the header, hidden while there is no text."""

    DEFAULT_CSS = """
    ConnectionBanner {
        height: auto; max-height: 3; display: none; padding: 0 1;
        background: $error-muted; color: $text-error; text-style: bold;
    }
    ConnectionBanner.-shown { display: block; }
    ConnectionBanner.-calm { background: $panel; color: $foreground; text-style: none; }
    """

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self._said = ""

    def say(self, text: str, *, calm: bool = False) -> None:
        """Show a line, or hide the banner for ""."""
        self.set_class(bool(text), "-shown")
        self.set_class(calm, "-calm")
        if text != self._said:
            self._said = text
            self.update(truncate_text(make_plain(text), _LONGEST))


@dataclass(frozen=True, slots=True)
class KeyHint:
    """Key in the footer. `refused`: the action does nothing now, so the key is drawn faint."""

    key: str
    label: str
    action: str
    refused: bool = False


class ScreenFooter(Widget):
    """Footer with as many keys as fit, and a text on the right. Keys can be clicked."""

    DEFAULT_CSS = """
    ScreenFooter {
        height: 1; background: $panel; color: $foreground;
        link-style: none; link-color: $foreground; link-background: transparent;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._hints: tuple[KeyHint, ...] = ()
        self._right = ""

    def say(self, hints: Sequence[KeyHint], right: str) -> None:
        """Set the content; draw again only if it changed."""
        if (tuple(hints), right) != (self._hints, self._right):
            self._hints, self._right = tuple(hints), right
            self.refresh()

    def render(self) -> Content:
        parts: list[Content | str] = [" "]
        used = 1
        for hint in self._hints:
            width = cell_len(hint.key) + cell_len(hint.label) + 3
            if used + width > self.size.width:
                break
            used += width
            parts.append(_hint(hint))
        room = self.size.width - used - 1
        if 0 < cell_len(self._right) <= room:
            parts.append(" " * (room - cell_len(self._right)) + make_plain(self._right))
        return Content.assemble(*parts)


def _hint(hint: KeyHint) -> Content:
    look = "$foreground 60%" if hint.refused else "bold"
    said = Content.assemble((hint.key, look), " ", (hint.label, "$foreground 60%" if hint.refused else ""), "  ")
    return said.stylize(f"@click={hint.action}") if hint.action else said
