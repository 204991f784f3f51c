"""Base class of screens whose actions ask questions, run commands and report results."""

from __future__ import annotations

import contextlib
from collections.abc import Coroutine
from typing import TypeVar

from textual import work
from textual.screen import Screen
from textual.worker import WorkerError

from lifeboat_alf.errors import LifeboatError
from lifeboat_daemon.control.command_runner import CommandAnswer
from lifeboat_tui.screens.lifeboat_screen import LifeboatScreen
from lifeboat_tui.widgets.command_progress import CommandProgressScreen
from lifeboat_tui.widgets.question_dialogs import TextDialog

Answer = TypeVar("Answer")
LOCKED = "key_locked"
"""Error code of a locked key, which a passphrase opens."""


class CommandScreen(LifeboatScreen):
    """Screen with actions. `attempt` runs an action; inside it, `answer` asks the user and `carry_out` runs a long
    command."""

    def __init__(self) -> None:
        super().__init__()
        self._is_looking = self._has_news = False

    @work(group="act", exit_on_error=False)
    async def attempt(self, act: Coroutine[object, object, None]) -> None:
        """Run an action. A failure is reported; after a success the screen reloads."""
        try:
            await act
        except LifeboatError as error:
            self.tell_failure(error)
        else:
            self.reload()

    @work(group="again", exit_on_error=False)
    async def look_again(self) -> None:
        """Reload after an event. Events that arrive during a reload cause one more reload; a running reload is never
        cancelled, so that it always completes."""
        if self._is_looking:
            self._has_news = True
            return
        self._is_looking = self._has_news = True
        try:
            while self._has_news:
                self._has_news = False
                with contextlib.suppress(WorkerError):  # `reload` has reported the failure
                    await self.reload().wait()
        finally:
            self._is_looking = False

    def tell_failure(self, error: LifeboatError) -> None:
        """Show a failure with its fix in the banner, and as a notification."""
        self.say_problem(error)
        self.tell_user(f"{error.title}: {error.message}", severity="error")

    async def answer(self, question: Screen[Answer]) -> Answer | None:
        """Show a dialog and return the user's answer."""
        return await self.app.push_screen_wait(question)

    async def carry_out(self, title: str, *words: str, text: str = "") -> CommandAnswer:
        """Run a command while a dialog shows its progress and can stop it. Raises LifeboatError."""
        done = await self.answer(
            CommandProgressScreen(title, lambda tell: self.ask(*words, text=text, tell=tell), self.glyphs)
        )
        if isinstance(done, LifeboatError):
            raise done
        assert done is not None
        return done

    async def ask_passphrase(self) -> str | None:
        """Ask for the passphrase of the key. Returns it as a line for standard input, or None when the user cancels."""
        typed = await self.answer(TextDialog("The passphrase of your key", secret=True, yes="Go on", problem=_empty))
        return None if typed is None else f"{typed}\n"


def _empty(text: str) -> str | None:
    return None if text else "type the passphrase, or cancel"
