"""Jump mode: shows a letter over every focusable widget; typing the letter focuses the widget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Label

if TYPE_CHECKING:
    from lifeboat_tui.screens.lifeboat_screen import LifeboatScreen

LETTERS = "asdfghjklqwertyuiopzxcvbnm"


class JumpScreen(ModalScreen[None]):
    """Letters over the focusable widgets. Any other key closes the screen."""

    CSS = """
    JumpScreen { background: transparent; }
    JumpScreen > Label { background: $accent; color: $background; text-style: bold; padding: 0 1; overlay: screen; }
    """

    def __init__(self, screen: LifeboatScreen) -> None:
        super().__init__()
        parts = [each for each in screen.focus_chain if isinstance(each, Widget)]
        self._parts = dict(zip(LETTERS, parts, strict=False))

    def compose(self) -> ComposeResult:
        for letter, part in self._parts.items():
            label = Label(letter, markup=False)
            label.styles.offset = (part.region.x + 1, part.region.y)
            label.styles.position = "absolute"
            yield label

    def on_key(self, event: events.Key) -> None:
        event.stop()
        part = self._parts.get(event.character or "")
        self.dismiss()
        if part is not None:
            part.focus()
