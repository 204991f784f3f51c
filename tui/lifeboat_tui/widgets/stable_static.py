"""Static text that is drawn again only when it changes; `Static.update` always lays out and draws everything."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static


class StableStatic(Static):
    """Static for text that is often set to the same value."""

    _said: tuple[object, ...] = ()

    def say(self, text: Content | str) -> None:
        """Show a text; do nothing if it is shown already."""
        said = (text,) if isinstance(text, str) else (text.plain, *text.spans)
        if said != self._said:
            self._said = said
            self.update(text)


def set_border_title(widget: Widget, title: str) -> None:
    """Set the title of a border; do nothing if it is set already, because that would draw it again."""
    if widget.border_title != title:
        widget.border_title = title
