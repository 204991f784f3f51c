"""Question dialogs. Cancel has the focus; a destructive action requires typing a phrase."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.widgets.hidden_input import HiddenInput
from lifeboat_tui.widgets.row_table import RowTable, TableColumn, TableRow

Result = TypeVar("Result")


class Dialog(ModalScreen[Result]):
    """Box over a screen with a title, an optional text and buttons in a row. Cancel clears fields with secrets."""

    DEFAULT_CSS = """
    Dialog { align: center middle; }
    Dialog > Vertical {
        width: 76; max-width: 95%; height: auto; max-height: 100%; border: round $border; background: $surface;
        padding: 1 2;
    }
    Dialog VerticalScroll { scrollbar-size-vertical: 1; scrollbar-background: $panel; }
    Dialog .title { text-style: bold; }
    Dialog .text { height: auto; max-height: 30vh; margin: 1 0; }
    Dialog .problem { color: $text-error; text-style: bold; height: auto; }
    Dialog Horizontal { height: auto; align-horizontal: right; margin-top: 1; }
    Dialog Button { margin-left: 2; }
    Dialog > ToastRack {
        dock: top; layer: default; align: left top; margin: 0; max-height: 4; scrollbar-size-vertical: 0;
    }
    Dialog > ToastRack Toast { width: 1fr; max-width: 100%; margin: 0; padding: 0 1; }
    """
    """Notifications have lines of their own above the box. Elsewhere they lie over the screen, where they would cover
    the buttons."""
    BINDINGS = [Binding("escape", "cancel", "Cancel")]

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "yes":
            self.accept()
        else:
            self.cancel()

    def accept(self) -> None:
        """Handle the button that agrees."""

    def cancel(self) -> None:
        """Close the dialog without a result."""
        for field in self.query(HiddenInput):
            field.take()
        self.dismiss(None)

    def action_cancel(self) -> None:
        self.cancel()

    def action_scroll(self, lines: int) -> None:
        """Scroll a text that does not fit by lines."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


class ConfirmDialog(Dialog[bool]):
    """Dialog that describes an operation and asks for consent. With `phrase` the button works only after the phrase was
    typed. Its result is whether the user agreed."""

    BINDINGS = [
        Binding("left", "app.focus_previous", show=False),
        Binding("right", "app.focus_next", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("down", "scroll(1)", show=False),
    ]

    def __init__(
        self, title: str, lines: Sequence[str], *, yes: str, phrase: str | None = None, dangerous: bool = False
    ) -> None:
        super().__init__()
        self._title, self._lines, self._yes, self._phrase = title, lines, yes, phrase
        self._dangerous = dangerous or phrase is not None

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(make_plain(self._title), classes="title", markup=False)
            with VerticalScroll(classes="text", can_focus=False):
                yield Static("\n".join(make_plain(line) for line in self._lines), markup=False)
            if self._phrase is not None:
                yield Static(f"Type  {make_plain(self._phrase)}  to continue:", markup=False)
                yield Input(id="phrase", select_on_focus=False)
            with Horizontal():
                yield Button("Cancel", id="cancel")
                disabled = self._phrase is not None
                yield Button(self._yes, id="yes", variant="error" if self._dangerous else "primary", disabled=disabled)

    def on_mount(self) -> None:
        self.query_one("#cancel", Button).focus()

    def on_key(self, event: events.Key) -> None:
        """Pass typed letters to the field although Cancel has the focus."""
        if self._phrase is not None and event.is_printable and not isinstance(self.focused, Input):
            event.stop()
            event.prevent_default()
            field = self.query_one("#phrase", Input)
            field.focus()
            field.insert_text_at_cursor(event.character or "")

    @on(Input.Changed, "#phrase")
    def _typed(self, event: Input.Changed) -> None:
        self.query_one("#yes", Button).disabled = event.value.strip() != self._phrase

    @on(Input.Submitted, "#phrase")
    def _entered(self) -> None:
        """Agree on enter once the phrase is typed."""
        if not self.query_one("#yes", Button).disabled:
            self.accept()

    def accept(self) -> None:
        self.dismiss(True)

    def cancel(self) -> None:
        self.dismiss(False)


class TextDialog(Dialog[str | None]):
    """Dialog that asks for one line. `secret`: the text is hidden. `problem` returns what is wrong with a text, or
    None. Its result is the text, or None if the user cancels."""

    def __init__(
        self,
        title: str,
        lines: Sequence[str] = (),
        *,
        value: str = "",
        placeholder: str = "",
        secret: bool = False,
        yes: str = "OK",
        problem: Callable[[str], str | None] = lambda text: None,
    ) -> None:
        super().__init__()
        self._title, self._lines, self._yes = title, lines, yes
        self._value, self._placeholder, self._secret, self._problem = value, placeholder, secret, problem

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(make_plain(self._title), classes="title", markup=False)
            if self._lines:
                with VerticalScroll(classes="text", can_focus=False):
                    yield Static("\n".join(make_plain(line) for line in self._lines), markup=False)
            if self._secret:
                yield HiddenInput(self._placeholder, id="answer")
            else:
                yield Input(make_plain(self._value), placeholder=self._placeholder, id="answer")
            yield Static("", id="problem", classes="problem", markup=False)
            with Horizontal():
                yield Button("Cancel", id="cancel")
                yield Button(self._yes, id="yes", variant="primary")

    def on_mount(self) -> None:
        self.query_one("#answer", Input).focus()

    @on(Input.Submitted, "#answer")
    def accept(self) -> None:
        text = self.query_one("#answer", Input).value
        problem = self._problem(text)
        if problem is None:
            if self._secret:
                self.query_one("#answer", Input).value = ""  # remove the text from the closed dialog
            self.dismiss(self._value if text == make_plain(self._value) else text)
        else:
            self.query_one("#problem", Static).update(make_plain(problem))


def require_text(message: str) -> Callable[[str], str | None]:
    """Return a check for `TextDialog` that answers `message` for a blank text."""
    return lambda text: None if text.strip() else message


class ChoiceDialog(Dialog[str | None]):
    """Dialog that asks for one of several choices (key, text). Its result is a key, or None."""

    CSS = "ChoiceDialog RowTable { height: auto; max-height: 14; }"

    def __init__(self, title: str, choices: Sequence[tuple[str, str]], *, here: str | None = None) -> None:
        super().__init__()
        self._title, self._choices, self._here = title, choices, here

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(make_plain(self._title), classes="title", markup=False)
            yield RowTable((TableColumn("", 10, grow=1),), id="choices")

    def on_mount(self) -> None:
        table = self.query_one("#choices", RowTable)
        table.styles.height = min(14, len(self._choices) + 1)
        table.show([TableRow(key, (text,)) for key, text in self._choices])
        if self._here is not None:
            table.select(self._here)
        table.focus()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        self.dismiss(event.row.key)
