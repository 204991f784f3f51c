"""Dialogs for the 24 recovery words: show them for a short time, and ask for three of them."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Static

from lifeboat_tui.widgets.hidden_input import HiddenInput
from lifeboat_tui.widgets.question_dialogs import Dialog

SHOWN_FOR = 20.0
"""Seconds until the words are hidden again."""
ASKED, WORDS, COLUMNS, CELL = 3, 24, 4, 16
_NUMBERED = re.compile(r"\b(\d{1,2})\. +([a-z]{3,8})\b")
_CHANCE = random.SystemRandom()


def extract_recovery_words(page: str) -> list[str]:
    """Return the 24 numbered words of a recovery kit, or [] if any is missing."""
    found: dict[int, str] = {}
    for number, word in _NUMBERED.findall(page):
        found.setdefault(int(number), word)
    wanted = range(1, WORDS + 1)
    return [found[place] for place in wanted] if all(place in found for place in wanted) else []


def pick_three_places() -> list[int]:
    """Choose three random word numbers, in order."""
    return sorted(_CHANCE.sample(range(1, WORDS + 1), ASKED))


def layout_words(words: Sequence[str]) -> str:
    """Return the numbered words in columns."""
    cells = [f"{place:>2}. {word}".ljust(CELL) for place, word in enumerate(words, 1)]
    return "\n".join("".join(cells[at : at + COLUMNS]).rstrip() for at in range(0, len(cells), COLUMNS))


class RecoveryWordsScreen(Dialog[None]):
    """Screen with the words, until a key, a click or the timeout. Its text cannot be selected."""

    CSS = """
    RecoveryWordsScreen { background: $background; }
    RecoveryWordsScreen > Vertical { width: auto; }
    RecoveryWordsScreen Static { width: auto; }
    RecoveryWordsScreen #sheet { margin: 1 0; }
    """
    ALLOW_SELECT = False

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__()
        self._words = list(words)

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(
                "These are the 24 words of your key. Anyone who has the words can use your key.",
                classes="title",
                markup=False,
            )
            yield Static(layout_words(self._words), id="sheet", markup=False)
            yield Static(
                f"Press any key to hide the words; they disappear after {SHOWN_FOR:.0f} seconds.", markup=False
            )

    def on_mount(self) -> None:
        self.set_timer(SHOWN_FOR, self.hide)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self.hide()

    def on_click(self) -> None:
        self.hide()

    def on_screen_suspend(self) -> None:
        """Hide the words before another screen covers them."""
        self._forget()

    def hide(self) -> None:
        """Remove the words from the screen."""
        self._forget()
        if self.is_current:
            self.dismiss(None)

    def cancel(self) -> None:
        self.hide()

    def _forget(self) -> None:
        self._words.clear()
        if self.is_mounted:
            self.query_one("#sheet", Static).update("")


class ProveWordsDialog(Dialog[str | None]):
    """Dialog that asks for three of the words in hidden fields. Its result is the lines for `keys prove
    --answers-stdin`, or None if the user cancels."""

    CSS = "ProveWordsDialog > Vertical { width: 66; }"

    def __init__(self, problem: str = "") -> None:
        super().__init__()
        self.places = pick_three_places()
        self._problem = problem

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static("Get the paper with your 24 words.", classes="title", markup=False)
            yield Static(self._problem, id="problem", classes="problem", markup=False)
            for place in self.places:
                yield Static(f"Word {place}", markup=False)
                yield HiddenInput(compact=True, id=f"word-{place}")
            with Horizontal():
                yield Button("Cancel", id="cancel")
                yield Button("Prove", id="yes", variant="primary")

    def on_mount(self) -> None:
        self.query(Input).first().focus()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        """Move to the next field on enter; on the last field answer."""
        fields = list(self.query(Input))
        at = fields.index(event.input)
        if at + 1 < len(fields):
            fields[at + 1].focus()
        else:
            self.accept()

    def accept(self) -> None:
        answers = [self.query_one(f"#word-{place}", Input).value.strip().lower() for place in self.places]
        if not all(answers):
            self.query_one("#problem", Static).update("Type all three words.")
            return
        lines = [f"{place} {answer}\n" for place, answer in zip(self.places, answers, strict=True)]
        for field in self.query(HiddenInput):
            field.take()
        self.dismiss("".join(lines))
