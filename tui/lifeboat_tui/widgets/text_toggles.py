"""Checkbox and radio button that show their state as text. Those of Textual show it by colour alone."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Checkbox, RadioButton


class TextCheckbox(Checkbox):
    """Checkbox drawn as `[x]` or `[ ]`."""

    @property
    def _button(self) -> Content:
        return Content("[x]" if self.value else "[ ]")


class TextRadioButton(RadioButton):
    """Radio button drawn as `(o)` or `( )`."""

    @property
    def _button(self) -> Content:
        return Content("(o)" if self.value else "( )")
