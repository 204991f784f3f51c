"""A screen whose acts ask questions, run commands and say how they ended."""

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
"""The code of the error that a passphrase helps against."""


class CommandScreen(LifeboatScreen):
    """`attempt` carries out an act; in it `answer` asks the user, `carry_out` runs what may take long."""

    def __init__(self) -> None:
        super().__init__()
        self._is_looking = self._has_news = False

    @work(group="act", exit_on_error=False)
    async def attempt(self, act: Coroutine[object, object, None]) -> None:
        """Carry out an act. What fails is said, and what is shown is asked for again where it went well."""
        try:
            await act
        except LifeboatError as error:
            self.tell_failure(error)
        else:
            self.reload()

    @work(group="again", exit_on_error=False)
    async def look_again(self) -> None:
        """Ask the twin once more, for something happened. Many events in a row are one question after the one that
        runs: none of them is cut off, so that it is answered some time."""
        if self._is_looking:
            self._has_news = True
            return
        self._is_looking = self._has_news = True
        try:
            while self._has_news:
                self._has_news = False
                with contextlib.suppress(WorkerError):  # of what failed, `reload` has told
                    await self.reload().wait()
        finally:
            self._is_looking = False

    def tell_failure(self, error: LifeboatError) -> None:
        """In the banner with what helps, and in the corner."""
        self.say_problem(error)
        self.tell_user(f"{error.title}: {error.message}", severity="error")

    async def answer(self, question: Screen[Answer]) -> Answer | None:
        """What the user says to a question."""
        return await self.app.push_screen_wait(question)

    async def carry_out(self, title: str, *words: str, text: str = "") -> CommandAnswer:
        """Run a command while the user looks on and may stop it. Raises LifeboatError."""
        done = await self.answer(
            CommandProgressScreen(title, lambda tell: self.ask(*words, text=text, tell=tell), self.glyphs)
        )
        if isinstance(done, LifeboatError):
            raise done
        assert done is not None
        return done

    async def ask_passphrase(self) -> str | None:
        """The passphrase of the key as a line for standard input, None when the user does not want to."""
        typed = await self.answer(TextDialog("The passphrase of your key", secret=True, yes="Go on", problem=_empty))
        return None if typed is None else f"{typed}\n"


def _empty(text: str) -> str | None:
    return None if text else "type the passphrase, or cancel"
