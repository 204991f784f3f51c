"""Question dialogs: Cancel has the focus, destructive actions require a phrase, and one key press does one thing."""

from __future__ import annotations

import pytest
from textual import events
from textual.app import App
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Button, Input

from lifeboat_tui.widgets.hidden_input import drop_final_break, join_lines, take_first_line
from lifeboat_tui.widgets.question_dialogs import ChoiceDialog, ConfirmDialog, TextDialog

pytestmark = pytest.mark.anyio
NOTHING = object()


class Asked(App[None]):
    """App that shows one dialog at the start; `answer` is its result."""

    def __init__(self, question: ModalScreen[object]) -> None:
        super().__init__()
        self.question, self.answer = question, NOTHING

    def on_mount(self) -> None:
        self.push_screen(self.question, self._take)

    def _take(self, answer: object) -> None:
        self.answer = answer


async def answer_of(question: object, *keys: str) -> object:
    app = Asked(question)  # type: ignore[arg-type]
    async with app.run_test(size=(100, 30)) as pilot:
        await pressed(pilot, *keys)
        return app.answer


async def pressed(pilot: Pilot[None], *keys: str) -> None:
    await pilot.pause()
    for key in keys:
        await pilot.press(key)
    await pilot.pause()


def purge() -> ConfirmDialog:
    return ConfirmDialog("Destroy it?", ["It cannot be undone."], yes="Destroy", phrase="purge 3")


async def test_enter_at_once_means_no() -> None:
    assert await answer_of(ConfirmDialog("Sure?", [], yes="Yes"), "enter") is False
    assert await answer_of(purge(), "enter") is False


async def test_escape_means_no() -> None:
    assert await answer_of(purge(), "escape") is False


async def test_the_button_beside_cancel_means_yes() -> None:
    assert await answer_of(ConfirmDialog("Sure?", [], yes="Yes"), "tab", "enter") is True


async def test_what_is_typed_goes_into_the_field_although_cancel_has_the_focus() -> None:
    app = Asked(purge())  # type: ignore[arg-type]
    async with app.run_test() as pilot:
        await pressed(pilot, *"purge", "space", "3")
        assert app.screen.query_one("#phrase", Input).value == "purge 3"
        assert not app.screen.query_one("#yes", Button).disabled


async def test_enter_confirms_the_phrase_that_was_typed() -> None:
    assert await answer_of(purge(), *"purge", "space", "3") is NOTHING
    assert await answer_of(purge(), *"purge", "space", "3", "enter") is True


@pytest.mark.parametrize("typed", ["", "purge", "purge 30", "PURGE 3", "yes"])
async def test_other_words_press_no_button(typed: str) -> None:
    app = Asked(purge())  # type: ignore[arg-type]
    async with app.run_test() as pilot:
        await pressed(pilot, *("space" if letter == " " else letter for letter in typed))
        assert app.screen.query_one("#yes", Button).disabled


async def test_a_secret_is_not_shown() -> None:
    app = Asked(TextDialog("The token", secret=True))  # type: ignore[arg-type]
    async with app.run_test() as pilot:
        await pressed(pilot, *"hidden")
        assert "hidden" not in app.export_screenshot() and app.screen.query_one(Input).value == "hidden"


async def test_a_text_that_will_not_do_is_said_and_can_be_mended() -> None:
    question = TextDialog("Name", problem=lambda text: None if text else "a name is needed")
    app = Asked(question)  # type: ignore[arg-type]
    async with app.run_test() as pilot:
        await pressed(pilot, "enter")
        assert app.answer is NOTHING
        await pressed(pilot, *"ada", "enter")
        assert app.answer == "ada"


async def test_one_of_several_is_chosen_by_arrows_and_enter() -> None:
    choices = [("a", "first"), ("b", "second"), ("c", "third")]
    assert await answer_of(ChoiceDialog("Which?", choices, here="b"), "down", "enter") == "c"
    assert await answer_of(ChoiceDialog("Which?", choices), "escape") is None


async def test_markup_in_a_question_is_text() -> None:
    app = Asked(ConfirmDialog("[red]Is it?[/]", ["[@click=app.quit]x[/]"], yes="Yes"))  # type: ignore[arg-type]
    async with app.run_test(size=(100, 30)) as pilot:
        await pressed(pilot)
        shown = app.export_screenshot()
        assert "[red]" in shown.replace("&#x27;", "'") and "@click" in shown


async def test_what_is_not_shown_is_not_copied_and_stays_nowhere() -> None:
    app = Asked(TextDialog("The token", secret=True))  # type: ignore[arg-type]
    async with app.run_test() as pilot:
        await pressed(pilot, *"hidden", "shift+home", "ctrl+c")
        assert app.clipboard == ""
        await pressed(pilot, "ctrl+x")
        field = app.screen.query_one(Input)
        assert (app.clipboard, field.value) == ("", "")
        field.post_message(events.Paste("second\r\nline"))
        await pressed(pilot, "enter")
        assert (app.answer, field.value) == ("second", "")


def test_words_may_break_their_lines_and_a_text_keeps_them() -> None:
    assert join_lines("1. apple\n2. boat\n") == "1. apple 2. boat"
    assert drop_final_break("a\nb\n") == "a\nb"
    assert take_first_line("\ntoken\nrest") == "token"
