"""Text that is drawn again only when it is another one: `Static.update` lays out and draws everything each time."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static


class StableStatic(Static):
    """A Static for what is said again and again."""

    _said: tuple[object, ...] = ()

    def say(self, text: Content | str) -> None:
        """Show a text; nothing happens when it is there already."""
        said = (text,) if isinstance(text, str) else (text.plain, *text.spans)
        if said != self._said:
            self._said = said
            self.update(text)


def set_border_title(widget: Widget, title: str) -> None:
    """Give a widget another border title; setting the same one would draw it again."""
    if widget.border_title != title:
        widget.border_title = title
