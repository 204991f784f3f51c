"""A field for what nobody may see: it is not shown, and cannot be copied out."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.widgets import Input


def take_first_line(text: str) -> str:
    """A passphrase, a token, a join line: they have one."""
    return text.strip("\n").partition("\n")[0]


def drop_final_break(text: str) -> str:
    """Looking for the first line of a text alone would be another question; only the line break at its end goes."""
    return text.removesuffix("\n")


def join_lines(text: str) -> str:
    """Words, wherever their lines break."""
    return " ".join(text.split())


class HiddenInput(Input):
    """What stands in it goes nowhere but where it is asked for. `pasted` says what is taken of a text that is pasted,
    in which lines end as they do here. `takes_words`: the words of a key may stand in it."""

    def __init__(
        self,
        placeholder: str = "",
        *,
        id: str,
        pasted: Callable[[str], str] = take_first_line,
        compact: bool = False,
        classes: str | None = None,
        takes_words: bool = False,
    ) -> None:
        super().__init__(placeholder=placeholder, password=True, id=id, compact=compact, classes=classes)
        self._pasted = pasted
        self.takes_words = takes_words

    def take(self) -> str:
        """What was typed; afterwards it is not here any more."""
        text, self.value = self.value, ""
        return text

    def _on_paste(self, event: events.Paste) -> None:
        """Terminals paste line breaks as they like."""
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        self.replace(self._pasted(text), *self.selection)
        event.prevent_default()
        event.stop()

    def action_copy(self) -> None:
        """Nothing: it would stand in the clipboard."""

    def action_cut(self) -> None:
        """Only taken away."""
        self.delete_selection()
