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


@dataclass(frozen=True, slots=True)
class ScreenTab:
    """Main screen in the title bar. `short` is its name on a narrow terminal; `refused`: it cannot be opened now."""

    key: str
    name: str
    short: str
    action: str
    current: bool = False
    refused: bool = False


class ScreenHeader(Widget):
    """Title bar: the tabs of the main screens with their keys, then one word on everything. A screen below a main
    screen adds a line with breadcrumbs."""

    DEFAULT_CSS = """
    ScreenHeader {
        height: 1; background: $panel; color: $foreground;
        link-style: none; link-color: $foreground; link-background: transparent;
    }
    ScreenHeader.-two { height: 2; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._tabs: tuple[ScreenTab, ...] = ()
        self._crumbs: tuple[str, ...] = ()
        self._right, self._kind, self._separator = "", "", "›"

    def say(
        self, tabs: Sequence[ScreenTab], crumbs: Sequence[str], right: str, kind: str, *, separator: str = "›"
    ) -> None:
        """Set the content; draw again only if it changed. The tabs replace breadcrumbs of one part."""
        new = (tuple(tabs), tuple(crumbs), right, kind, separator)
        if new != (self._tabs, self._crumbs, self._right, self._kind, self._separator):
            self._tabs, self._crumbs, self._right, self._kind, self._separator = new
            self.set_class(bool(tabs) and len(self._crumbs) > 1, "-two")
            self.refresh()

    def render(self) -> Content:
        if not self._tabs:
            return self._line(self._trail(), with_right=True)
        tabs = fit_tabs(self._tabs, self.size.width)
        if len(self._crumbs) < 2:
            return self._line(tabs, with_right=True)
        return Content("\n").join((self._line(tabs, with_right=False), self._line(self._trail(), with_right=True)))

    def _trail(self) -> Content:
        trail = f" {self._separator} ".join(truncate_text(make_plain(crumb), _LONGEST) for crumb in self._crumbs)
        return Content.styled(f" {trail}", "bold")

    def _line(self, left: Content, *, with_right: bool) -> Content:
        """Return a line with the verdict on its right, if it fits."""
        right = make_plain(self._right) if with_right else ""
        room = self.size.width - left.cell_length - 1
        if not right or cell_len(right) >= room:
            return left
        gap = " " * (room - cell_len(right))
        return Content.assemble(left, gap, (right, f"${self._kind}" if self._kind else ""))


def fit_tabs(tabs: Sequence[ScreenTab], width: int) -> Content:
    """Return the tabs with their names, with short names, or with the name of the current one only: the first form
    that fits into `width` cells. Names are never cut."""
    names = [
        [tab.name.capitalize() for tab in tabs],
        [tab.short.capitalize() for tab in tabs],
        [tab.short.capitalize() if tab.current else "" for tab in tabs],
    ]
    drawn = [Content("").join(_tab(tab, name) for tab, name in zip(tabs, form, strict=True)) for form in names]
    return next((line for line in drawn if line.cell_length <= width), drawn[-1])


def _tab(tab: ScreenTab, name: str) -> Content:
    text = f" {tab.key} {name} " if name else f" {tab.key} "
    if tab.current:
        return Content.styled(text, "bold $background on $primary")
    shown = Content.styled(text, "$foreground 60%" if tab.refused else "")
    return shown.stylize(f"@click={tab.action}")


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
    kept: bool = False
    """True for a key that is shown on every width."""


class ScreenFooter(Widget):
    """Footer with as many keys as fit, and a text on the right. Keys that are `kept` always fit. Keys can be
    clicked."""

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
        reserved = sum(_hint_width(hint) for hint in self._hints if hint.kept)
        for hint in self._hints:
            reserved -= _hint_width(hint) if hint.kept else 0
            if not hint.kept and used + _hint_width(hint) + reserved > self.size.width:
                continue
            used += _hint_width(hint)
            parts.append(_hint(hint))
        room = self.size.width - used - 1
        if 0 < cell_len(self._right) <= room:
            parts.append(" " * (room - cell_len(self._right)) + make_plain(self._right))
        return Content.assemble(*parts)


def _hint_width(hint: KeyHint) -> int:
    return cell_len(hint.key) + cell_len(hint.label) + 3


def _hint(hint: KeyHint) -> Content:
    look = "$foreground 60%" if hint.refused else "bold"
    said = Content.assemble((hint.key, look), " ", (hint.label, "$foreground 60%" if hint.refused else ""), "  ")
    return said.stylize(f"@click={hint.action}") if hint.action else said
