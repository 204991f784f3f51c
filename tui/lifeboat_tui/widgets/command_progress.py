"""Screens for long commands: progress with a stop key, and the result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Static

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import Cancelled
from lifeboat_daemon.control.command_runner import CommandAnswer, CommandProgress
from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.widgets.progress_display import ProgressDisplay
from lifeboat_tui.widgets.question_dialogs import Dialog

Run = Callable[[Callable[[CommandProgress], None]], Awaitable[CommandAnswer]]
STOPPING = "Stopping when the current step is complete..."


class CommandProgressScreen(Dialog[CommandAnswer | LifeboatError]):
    """Run a command while its progress is shown; escape stops it at its next safe point. The result is the answer, or
    the error."""

    CSS = "CommandProgressScreen .title { margin-bottom: 1; }"

    def __init__(self, title: str, run: Run, glyphs: Glyphs) -> None:
        super().__init__()
        self._title, self._run, self._glyphs = title, run, glyphs

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(make_plain(self._title), classes="title", markup=False)
            yield ProgressDisplay(self._glyphs)
            with Horizontal():
                yield Button("Stop (esc)", id="stop")

    def on_mount(self) -> None:
        self.carry_out()

    @work(exclusive=True, group="work", exit_on_error=False)
    async def carry_out(self) -> None:
        """Run the command until it ends or is stopped."""
        try:
            said = await self._run(self._tell)
        except LifeboatError as error:
            self.dismiss(error)
        except asyncio.CancelledError:
            if self.is_mounted:
                self.dismiss(Cancelled("you stopped this command"))
            raise
        else:
            self.dismiss(said)

    def _tell(self, progress: CommandProgress) -> None:
        if self.is_mounted:
            self.query_one(ProgressDisplay).tell(progress)

    def cancel(self) -> None:
        """Ask the command to stop at its next safe point."""
        self.query_one(".title", Static).update(STOPPING)
        self.query_one("#stop", Button).disabled = True
        self.workers.cancel_group(self, "work")


class OutcomeScreen(Dialog[None]):
    """Result of an operation, shown until the user closes it."""

    CSS = """
    OutcomeScreen > Vertical { width: 90; }
    OutcomeScreen VerticalScroll { height: auto; max-height: 55vh; margin: 1 0; }
    OutcomeScreen Horizontal { margin-top: 0; }
    """
    BINDINGS = [
        Binding("up", "scroll(-1)", show=False),
        Binding("down", "scroll(1)", show=False),
    ]

    def __init__(self, title: str, lines: Sequence[str]) -> None:
        super().__init__()
        self._title, self._lines = title, lines

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(make_plain(self._title), classes="title", markup=False)
            with VerticalScroll(can_focus=False):
                yield Static("\n".join(make_plain(line) for line in self._lines), markup=False)
            with Horizontal():
                yield Button("Close", id="close")
