"""First-run page that shows the 24 recovery words for a short time and asks for three of them."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.timer import Timer
from textual.widgets import Input, Static

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.key_status_documents import KeyStatus
from lifeboat_tui.cell_text import format_local_day
from lifeboat_tui.link import Tell
from lifeboat_tui.screens.first_run.first_run_page import FirstRunChoices, FirstRunPage
from lifeboat_tui.screens.keys.recovery_words_dialogs import ASKED, layout_words, pick_three_places
from lifeboat_tui.widgets.hidden_input import HiddenInput

SHOWN_FOR = 20.0
"""Seconds until the words are hidden again."""
REVEAL = ("keys", "init", "--words-to", "-", "--no-prove")


class RecoveryWordsPage(FirstRunPage):
    """Page that shows the words on request. They are hidden again after a short time, and can be shown again."""

    STEP = "Words"
    YES = "Show the words"
    DEFAULT_CSS = "RecoveryWordsPage > #sheet { border: round $border; padding: 0 1; width: auto; }"

    def __init__(self, known: FirstRunChoices) -> None:
        super().__init__(known)
        self._is_proven = self._was_shown = False
        self._places: list[int] = []
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield Static("", id="sheet", classes="gone", markup=False)
        for number in range(ASKED):
            yield Static("", id=f"label-{number}", classes=f"label of-answer-{number} gone", markup=False)
            yield HiddenInput(id=f"answer-{number}", classes="gone", compact=True)

    def twin(self) -> tuple[str, ...]:
        return ("keys", "prove") if self._is_proven else ("keys", "init")

    async def begin(self) -> None:
        key = await self.fetch(KeyStatus, "keys", "status")
        self._is_proven = key.proven_at is not None
        if key.proven_at is not None:
            self._ask_for([])
            self.say(f"You proved on {format_local_day(key.proven_at)} that you have the 24 words of your key.")
        elif not self._places:
            self.say(
                "Your key consists of 24 words. If this machine is lost, you need the words to decrypt the "
                "credentials.",
                (
                    f"Have paper and a pen ready. Press Continue to see the words for {SHOWN_FOR:.0f} seconds, and w "
                    "to see them again."
                ),
            )
        self._name_button()

    def _name_button(self) -> None:
        asks = "Prove" if self._places else "I have written the words down"
        self.YES = "Continue" if self._is_proven else asks if self._was_shown else "Show the words"

    # Showing ------------------------------------------------------------------------------------------------------

    async def reveal(self) -> bool:
        """Show the words and hide them after a short time. Returns False: the page stays. Raises LifeboatError."""
        if self._is_proven:
            await self.begin()
            return False
        words = (await self.ask_text(*REVEAL)).text.split()
        self._ask_for([])
        self._was_shown = True
        self._name_button()
        self.say(*layout_words(words).split("\n"), where="sheet")
        self.say("Write the words on paper, with their numbers. Anyone who has the words can use your key.")
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(SHOWN_FOR, self.hide)
        return False

    def step_back(self) -> bool:
        """Return from the questions to the words."""
        is_asked = bool(self._places)
        if is_asked:
            self._ask_for([])
            self.say(
                "The words are hidden. Press w to see them again. Press Continue to type three of them from the paper."
            )
            self.first_run.focus_button()
        return is_asked

    def hide(self) -> None:
        """Remove the words from the screen."""
        if self.is_mounted and str(self.query_one("#sheet", Static).content):
            self.say(where="sheet")
            self.say(
                "The words are hidden. Press w to see them again. Press Continue to type three of them from the paper."
            )

    def leave(self) -> None:
        super().leave()
        self.say(where="sheet")

    # Proving ------------------------------------------------------------------------------------------------------

    async def go_on(self, tell: Tell) -> bool:
        if self._is_proven:
            return True
        if not self._was_shown:
            return await self.reveal()
        if not self._places:
            self._ask_for(pick_three_places())
            return False
        answers = [self.value(f"answer-{number}") for number in range(ASKED)]
        lines = "".join(f"{place} {word}\n" for place, word in zip(self._places, answers, strict=True))
        try:
            await self.ask("keys", "prove", "--answers-stdin", text=lines)
        except LifeboatError:
            self._ask_for(pick_three_places())
            raise
        self._ask_for([])
        return True

    def _ask_for(self, places: list[int]) -> None:
        """Show fields for the words at these positions, and hide the words."""
        self._places = places
        self.say(where="sheet")
        for number in range(ASKED):
            field = self.query_one(f"#answer-{number}", Input)
            field.value = ""
            self.show([f"answer-{number}"], shown=bool(places))
            if places:
                self.query_one(f"#label-{number}", Static).update(f"Word {places[number]}")
        if places:
            self.say("Type these three words from the paper. To see all words again, press esc and then w.")
        self._name_button()
