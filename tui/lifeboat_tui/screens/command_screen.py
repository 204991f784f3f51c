"""Base class of screens whose actions ask questions, run commands and report results."""

from __future__ import annotations

import contextlib

from textual import work
from textual.worker import WorkerError

from lifeboat_alf.errors import LifeboatError
from lifeboat_daemon.control.command_runner import CommandAnswer
from lifeboat_tui.coalesced_request import CoalescedRequest
from lifeboat_tui.screens.lifeboat_screen import LifeboatScreen
from lifeboat_tui.widgets.command_progress import CommandProgressScreen
from lifeboat_tui.widgets.question_dialogs import TextDialog

LOCKED = "key_locked"
"""Error code of a locked key, which a passphrase opens."""


class CommandScreen(LifeboatScreen):
    """Screen that reloads after its actions. `carry_out` runs a long command inside of an action."""

    def __init__(self) -> None:
        super().__init__()
        self._reloading = CoalescedRequest(self._reload_once)

    def succeeded(self) -> None:
        self.reload()

    @work(group="again", exit_on_error=False)
    async def look_again(self) -> None:
        """Reload after an event. Events that arrive during a reload cause one more reload."""
        await self._reloading.run()

    async def _reload_once(self) -> None:
        with contextlib.suppress(WorkerError):  # `reload` has reported the failure
            await self.reload().wait()

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
        typed = await self.answer(TextDialog("Passphrase of your key", secret=True, yes="Continue", problem=_empty))
        return None if typed is None else f"{typed}\n"


def _empty(text: str) -> str | None:
    return None if text else "type the passphrase"
