"""Things to tick, and one of several: Textual's own tell by their colour alone whether they are ticked."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Checkbox, RadioButton


class TextCheckbox(Checkbox):
    """`[x]` or `[ ]`."""

    @property
    def _button(self) -> Content:
        return Content("[x]" if self.value else "[ ]")


class TextRadioButton(RadioButton):
    """`(o)` or `( )`, in a RadioSet."""

    @property
    def _button(self) -> Content:
        return Content("(o)" if self.value else "( )")
