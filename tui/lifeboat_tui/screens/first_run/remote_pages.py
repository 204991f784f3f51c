"""First-run pages that add a remote, or choose the remote from which an agent is restored."""

from __future__ import annotations

from pathlib import Path

from textual.app import ComposeResult
from textual.widgets import Static

from lifeboat_core.documents.remote_documents import SecondCopies, SecondCopy
from lifeboat_core.texts.human_text import join_names
from lifeboat_daemon.control.command_runner import CommandProgress
from lifeboat_tui.link import Tell
from lifeboat_tui.screens.first_run.first_run_page import FirstRunChoices, FirstRunPage, MissingInput, parse_folder
from lifeboat_tui.screens.remotes.add_remote_command import EXAMPLES, build_add_command, is_folder
from lifeboat_tui.widgets.join_line_inputs import JoinLineInput, RemoteFormInput, move_join_lines
from lifeboat_tui.widgets.row_table import RowTable, TableColumn, TableRow
from lifeboat_tui.widgets.text_toggles import TextCheckbox

_FIELDS = ("address", "secret", "name", "away")


class AddRemotePage(FirstRunPage):
    """Page that asks for an address or a directory, and for a join line or a token in a hidden field."""

    STEP = "Remote"
    YES = "Add"

    def __init__(self, known: FirstRunChoices) -> None:
        super().__init__(known)
        self._copies: tuple[SecondCopy, ...] = ()
        self._readable = ""

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield Static(
            "Address or folder (leave empty if you have a join line)", classes="label of-address", markup=False
        )
        yield RemoteFormInput(placeholder=EXAMPLES, id="address", compact=True)
        yield Static("Join line or token (hidden)", classes="label of-secret", markup=False)
        yield JoinLineInput(id="secret", compact=True)
        yield Static("Name", classes="label of-name", markup=False)
        yield RemoteFormInput(placeholder="a name, for example home or stick", id="name", compact=True)
        yield TextCheckbox("This remote is not always reachable (for example a USB stick)", id="away", compact=True)

    def twin(self) -> tuple[str, ...]:
        return ("remote", "list")

    async def begin(self) -> None:
        found = (await self.fetch(SecondCopies, "remote", "list")).remotes
        self._copies = tuple(one for one in found if one.problem is None)
        self.show(_FIELDS, shown=not self._is_enough())
        self.say(*self._sentences())
        self.YES = "Continue" if self._is_enough() else "Add"

    def _is_enough(self) -> bool:
        return bool(self._copies)

    def _sentences(self) -> list[str]:
        if self._copies:
            told = [
                f"Captures are pushed to the remotes that you added: {join_names([one.name for one in self._copies])}."
            ]
            return [*told, *([self._readable] if self._readable else [])]
        return [
            "All copies are on this disk. A remote (on another machine, a USB stick or a network share) keeps "
            "them if this disk fails.",
            "A join line connects to another machine. To get one, run on that machine: lifeboat endpoint serve",
        ]

    async def go_on(self, tell: Tell) -> bool:
        if self._is_enough():
            return True
        await self._add(tell)
        await self._bring_there(tell)
        await self.begin()
        return False

    async def _add(self, tell: Tell) -> None:
        """Add the remote. Raises MissingInput, and the errors of `remote add`."""
        move_join_lines(self)
        address, secret = self.value("address"), self.value("secret")
        if not address and not secret:
            raise MissingInput("type an address, a folder or a join line")
        name = self.value("name") or ("stick" if is_folder(address) else "home")
        options = ("optional",) if self.query_one("#away", TextCheckbox).value else ()
        address = self._folder(address) if is_folder(address) else address
        words, text = build_add_command(name, address, secret, options)
        tell(CommandProgress("Checking the remote"))
        self._readable = (await self.fetch(SecondCopy, *words, text=text, tell=tell)).readable
        self.known.remote = name
        self.leave()

    def _folder(self, address: str) -> str:
        return parse_folder(address)

    async def _bring_there(self, tell: Tell) -> None:
        tell(CommandProgress("Pushing all agents"))
        await self.ask("sync", tell=tell)
        self.first_run.lifeboat.ask_status()


class SourceRemotePage(AddRemotePage):
    """Page that chooses the remote with the agent: a known one, or a new one."""

    NEEDED = True

    def __init__(self, known: FirstRunChoices) -> None:
        super().__init__(known)
        self._wants_another = False

    def compose(self) -> ComposeResult:
        yield RowTable(
            (TableColumn("WHERE IS THE AGENT?", 16, grow=1), TableColumn("", 20, grow=2, rank=1)), id="copies"
        )
        yield from super().compose()

    async def begin(self) -> None:
        await super().begin()
        rows = [TableRow(f"={one.name}", (one.name, one.url or "")) for one in self._copies]
        table = self.query_one(RowTable)
        table.show([*rows, TableRow("another", ("another remote", ""))])
        table.set_class(not self._is_enough(), "gone")

    def _is_enough(self) -> bool:
        return bool(self._copies) and not self._wants_another

    def _folder(self, address: str) -> str:
        """Return the existing directory of a remote. Adding a missing directory would create an empty remote without
        agents."""
        folder = super()._folder(address)
        if not Path(folder).is_dir() and not self.first_run.link.is_demo:
            raise MissingInput(
                f"the folder {folder} does not exist; check that the USB stick or network share is mounted"
            )
        return folder

    def _sentences(self) -> list[str]:
        if self._is_enough():
            return [self._readable] if self._readable else []
        return [
            "Restore the agent from a remote: a server on another machine, or a folder on a USB stick or a "
            "network share."
        ]

    async def go_on(self, tell: Tell) -> bool:
        row = self.query_one(RowTable).current
        if self._is_enough() and row is not None:
            self._wants_another = row.key == "another"
            self.known.remote = row.key.removeprefix("=")
            if not self._wants_another:
                return True
            await self.begin()
            return False
        await self._add(tell)
        return True
