"""First run: the agents on this machine, found and protected."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Input, Static

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.texts.words import count_text
from lifeboat_daemon.control.commands import Progress
from lifeboat_tui import documents
from lifeboat_tui.documents.first_run import Discovered, Found
from lifeboat_tui.link import Tell
from lifeboat_tui.screens.first_run_page import Known, Page, folder_of
from lifeboat_tui.text import named
from lifeboat_tui.widgets.table import Cell, Column, Row, Table

COLUMNS = (Column("AGENT", 12, grow=1), Column("RUNTIME", 9, rank=1), Column("FOLDER", 20, grow=3), Column("", 13))
NOBODY = "No agent was found on this machine. Type the folder of one below, or leave this step for later."


class AgentsPage(Page):
    STEP = "Agents"
    YES = "Protect"

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._found: tuple[Found, ...] = ()
        self._seen = False

    def compose(self) -> ComposeResult:
        yield Static("Looking for agents...", id="said", markup=False)
        yield Table(COLUMNS, glyphs=self.first_run.glyphs, markable=True, id="found")
        yield Static("Another one, which was not found:", classes="label", markup=False)
        yield Input(placeholder="its folder", id="folder", compact=True)

    def twin(self) -> tuple[str, ...]:
        return ("agents", "discover")

    async def begin(self) -> None:
        said = await self.ask("agents", "discover")
        self._found = documents.read(Discovered, said.document).found
        table = self.query_one(Table)
        table.empty = NOBODY
        table.show([_row(one) for one in self._found])
        if not self._seen:
            table.mark(one.workspace for one in self._open())
        self._seen = True
        self.say(self._sentence(), *said.notes)

    def _open(self) -> list[Found]:
        return [one for one in self._found if one.protected_as is None]

    def _sentence(self) -> str:
        if not self._found:
            return "Nothing of an agent is changed by protecting it: it is copied, again and again."
        if not self._open():
            return "Every agent that was found is protected."
        found = count_text(len(self._open()), "agent is", "agents are")
        return f"{found} not protected. Space marks; protecting copies, and changes nothing of an agent."

    async def go_on(self, tell: Tell) -> bool:
        """Protect those that are marked, and the folder that was typed. One that fails keeps no other from it."""
        table = self.query_one(Table)
        folders = [(one.workspace, one.name) for one in self._open() if one.workspace in table.marked]
        typed = folder_of(self.value("folder"))
        folders += [(typed, typed)] if typed else []
        failed: list[LifeboatError] = []
        for number, (folder, name) in enumerate(folders):
            tell(Progress(f"Protecting {name}", number, len(folders)))
            try:
                await self.ask("agents", "add", *named(folder))
            except LifeboatError as error:
                failed.append(error)
                continue
            if folder == typed:
                self.query_one("#folder", Input).value = ""
        if folders:
            self.first_run.lifeboat.ask_status()
            await self.begin()
        if failed:
            raise failed[0]
        return True


def _row(one: Found) -> Row:
    standing = Cell("dismissed", "muted") if one.dismissed else Cell("not protected", "warning")
    if one.protected_as is not None:
        standing = Cell("protected", "success")
    return Row(one.workspace, (Cell(one.name, "strong"), Cell(one.runtime, "muted"), one.workspace, standing))
