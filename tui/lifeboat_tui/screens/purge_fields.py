"""A field for what nobody may see: it is not shown, and cannot be copied out."""

from __future__ import annotations

from textual import events
from textual.widgets import Input


class HiddenInput(Input):
    """Takes a text of several lines when one is pasted: looking for the first line of a key alone would be another
    question. What stands in it goes nowhere but where `take` is called."""

    def __init__(self, placeholder: str = "", *, id: str) -> None:
        super().__init__(placeholder=placeholder, password=True, id=id)

    def take(self) -> str:
        """What was typed; afterwards it is not here any more."""
        text, self.value = self.value, ""
        return text

    def _on_paste(self, event: events.Paste) -> None:
        """All of it, without the line break at its end. Terminals paste line breaks as they like."""
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        self.replace(text.removesuffix("\n"), *self.selection)
        event.prevent_default()
        event.stop()

    def action_copy(self) -> None:
        """Nothing: it would stand in the clipboard."""

    def action_cut(self) -> None:
        """Only taken away."""
        self.delete_selection()
