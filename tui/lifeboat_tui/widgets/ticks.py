"""Things to tick, and one of several: Textual's own tell by their colour alone whether they are ticked."""

from __future__ import annotations

from textual.widgets import Checkbox, RadioButton


class Tick(Checkbox):
    """`[x]` or `[ ]`."""

    BUTTON_LEFT, BUTTON_RIGHT = "[", "]"

    def watch_value(self) -> None:
        self.BUTTON_INNER = "x" if self.value else " "
        super().watch_value()

    def on_mount(self) -> None:
        self.BUTTON_INNER = "x" if self.value else " "


class Choice(RadioButton):
    """`(o)` or `( )`, in a RadioSet."""

    BUTTON_LEFT, BUTTON_RIGHT = "(", ")"

    def watch_value(self) -> None:
        self.BUTTON_INNER = "o" if self.value else " "
        super().watch_value()

    def on_mount(self) -> None:
        self.BUTTON_INNER = "o" if self.value else " "
