"""First-run page that lists the agents found on this machine and protects the marked ones."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Input, Static

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents import decode_document
from lifeboat_core.documents.agent_documents import Discovered, Found
from lifeboat_core.texts.human_text import count_text
from lifeboat_daemon.control.command_runner import CommandProgress
from lifeboat_tui.cell_text import protect_dashed_name
from lifeboat_tui.link import Tell
from lifeboat_tui.screens.first_run.first_run_page import FirstRunChoices, FirstRunPage, parse_folder
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableColumn, TableRow

COLUMNS = (
    TableColumn("AGENT", 12, grow=1),
    TableColumn("RUNTIME", 9, rank=1),
    TableColumn("FOLDER", 20, grow=3),
    TableColumn("", 13),
)
NOBODY = "No agent was found on this machine. Type the folder of an agent below, or skip this step."


class ProtectAgentsPage(FirstRunPage):
    STEP = "Agents"
    YES = "Protect"

    def __init__(self, known: FirstRunChoices) -> None:
        super().__init__(known)
        self._found: tuple[Found, ...] = ()
        self._seen = False

    def compose(self) -> ComposeResult:
        yield Static("Looking for agents...", id="said", markup=False)
        yield RowTable(COLUMNS, glyphs=self.first_run.glyphs, markable=True, id="found")
        yield Static("Folder of another agent:", classes="label", markup=False)
        yield Input(placeholder="/srv/ada/.openclaw/workspace", id="folder", compact=True)

    def twin(self) -> tuple[str, ...]:
        return ("agents", "discover")

    async def begin(self) -> None:
        said = await self.ask("agents", "discover")
        self._found = decode_document(Discovered, said.document).found
        table = self.query_one(RowTable)
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
            return "Lifeboat copies a protected agent and does not change it."
        if not self._open():
            return "All agents found on this machine are protected."
        found = count_text(len(self._open()), "agent is", "agents are")
        return (
            f"{found} not protected. Press space to choose the agents to protect. Lifeboat copies a protected "
            "agent and does not change it."
        )

    async def go_on(self, tell: Tell) -> bool:
        """Protect the marked agents and the typed folder. A failing agent does not prevent the others from being
        protected."""
        table = self.query_one(RowTable)
        folders = [(one.workspace, one.name) for one in self._open() if one.workspace in table.marked]
        typed = parse_folder(self.value("folder"))
        folders += [(typed, typed)] if typed else []
        failed: list[LifeboatError] = []
        for number, (folder, name) in enumerate(folders):
            tell(CommandProgress(f"Protecting {name}", number, len(folders)))
            try:
                await self.ask("agents", "add", *protect_dashed_name(folder))
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


def _row(one: Found) -> TableRow:
    standing = TableCell("dismissed", "muted") if one.dismissed else TableCell("not protected", "warning")
    if one.protected_as is not None:
        standing = TableCell("protected", "success")
    return TableRow(
        one.workspace, (TableCell(one.name, "strong"), TableCell(one.runtime, "muted"), one.workspace, standing)
    )
