"""Base class of screens that can write a support report, which contains no user content."""

from __future__ import annotations

import os

from textual import work

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents import decode_document
from lifeboat_core.documents.doctor_documents import Bundle
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_tui.cell_text import format_size
from lifeboat_tui.screens.command_screen import CommandScreen
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.command_progress import OutcomeScreen
from lifeboat_tui.widgets.question_dialogs import TextDialog

BUNDLE = UserAction("bundle", "b", "report", "Write a support report, which contains none of your content", writes=True)
_INTRO = (
    "The report is a ZIP file with versions, settings (without private values), findings, counts and sizes.",
    "The report contains no content, no file or agent names, no keys and no credentials. Check it before you send it.",
)


class ReportScreen(CommandScreen):
    """Screen with the action that writes a support report."""

    @work(group="act", exit_on_error=False)
    async def do_bundle(self) -> None:
        """Ask for a file name, write the report, and list what it contains."""
        try:
            await self._write_bundle(f"~/lifeboat-report-{self.link.now():%Y-%m-%d}.zip", "")
        except LifeboatError as error:
            self.tell_failure(error)

    async def _write_bundle(self, name: str, problem: str) -> None:
        """Ask for a file name and write the report. An existing file is never replaced: the user is asked for another
        name."""
        lines = [*_INTRO, *(("", problem) if problem else ())]
        question = TextDialog(
            "To which file should the report be written?", lines, value=name, yes="Write it", problem=_problem
        )
        typed = await self.answer(question)
        if typed is None:
            return
        path = os.path.expanduser(typed.strip())
        try:
            said = await self.carry_out("Writing the report", "doctor", "--bundle", path)
        except LifeboatError as error:
            if error.code != "file_exists":
                raise
            await self._write_bundle(typed, "This file already exists; type another name.")
            return
        done = decode_document(Bundle, said.document)
        parts = [f"{part.name:<14} {part.what}" for part in done.parts]
        look = f"To check the report before you send it: unzip -p {quote_argument(done.path)}"
        await self.answer(
            OutcomeScreen("Report written", [f"{done.path} ({format_size(done.bytes)}) contains:", *parts, "", look])
        )


def _problem(text: str) -> str | None:
    name = text.strip()
    if not name or name.endswith("/"):
        return "type the path of a file"
    return "the file name cannot begin with -" if name.startswith("-") else None
