"""Fields of the forms that add a remote. A join line contains a token, so only a hidden field keeps it."""

from __future__ import annotations

import re

from textual import events, on
from textual.widget import Widget
from textual.widgets import Input

from lifeboat_tui.widgets.hidden_input import HiddenInput

MOVED = "The join line was moved to its own field, where it is hidden."
_JOIN_LINE = re.compile(r"lifeboat\+\S+", re.IGNORECASE)
_WITH_TOKEN = re.compile(r"lifeboat\+\w+://[^@\s]+@", re.IGNORECASE)


def find_join_line(text: str) -> str | None:
    """Return the join line in a text, wherever it begins; None if there is none."""
    found = _JOIN_LINE.search(text)
    return None if found is None else found.group()


def has_join_token(text: str) -> bool:
    """Return True if a text contains a join line with its token."""
    return _WITH_TOKEN.search(text) is not None


class JoinLineInput(HiddenInput):
    """Hidden field for a join line or a token. A pasted join line replaces all that was typed before."""

    def _on_paste(self, event: events.Paste) -> None:
        line = find_join_line(event.text)
        if line is None:
            super()._on_paste(event)
            return
        self.put(line)
        event.prevent_default()
        event.stop()

    def put(self, line: str) -> None:
        """Replace the content, with the cursor behind it."""
        self.value = line
        self.cursor_position = len(line)


class RemoteFormInput(Input):
    """Visible field of a form with a `JoinLineInput`. A pasted join line goes there at once. A typed one is hidden
    while it is typed, and moved when the field is left: a terminal without bracketed paste types a pasted line letter
    by letter, and the letters still on their way must not be separated from those before."""

    def _on_paste(self, event: events.Paste) -> None:
        line = find_join_line(event.text)
        if line is not None:
            self._move(line)
            event.prevent_default()
            event.stop()

    @on(Input.Changed)
    def _hide(self) -> None:
        self.password = find_join_line(self.value) is not None
        if not self.has_focus:
            self.move_join_line()

    def _on_blur(self, event: events.Blur) -> None:
        super()._on_blur(event)
        self.move_join_line()

    def move_join_line(self) -> None:
        """Move a typed join line into its own field. Text before it stays."""
        line = find_join_line(self.value)
        if line is not None:
            self.value = self.value[: self.value.index(line)]
            self._move(line)

    def _move(self, line: str) -> None:
        self.screen.query_one(JoinLineInput).put(line)
        self.app.notify(MOVED, markup=False)


def move_join_lines(form: Widget) -> None:
    """Move join lines out of the visible fields of a form that is about to be used."""
    for field in form.query(RemoteFormInput):
        field.move_join_line()
