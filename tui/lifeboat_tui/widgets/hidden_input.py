"""Input field for secrets: its content is hidden and cannot be copied."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.widgets import Input


def take_first_line(text: str) -> str:
    """Return the first line, for a passphrase, a token or a join line."""
    return text.strip("\n").partition("\n")[0]


def drop_final_break(text: str) -> str:
    """Return all lines without the final line break, for a text to search: its first line alone would be another
    query."""
    return text.removesuffix("\n")


def join_lines(text: str) -> str:
    """Return the words on one line, wherever they were broken."""
    return " ".join(text.split())


class HiddenInput(Input):
    """Hidden field whose content is used only where it is asked for. `pasted` selects what to keep of pasted text,
    whose lines end in a line feed. `takes_words`: recovery words are allowed here."""

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
        """Return the typed text and clear the field."""
        text, self.value = self.value, ""
        return text

    def _on_paste(self, event: events.Paste) -> None:
        """Normalize line breaks, which terminals paste in different forms."""
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        self.replace(self._pasted(text), *self.selection)
        event.prevent_default()
        event.stop()

    def action_copy(self) -> None:
        """Do nothing: the secret would end up in the clipboard."""

    def action_cut(self) -> None:
        """Delete the selection without copying it."""
        self.delete_selection()
