"""Dialog that adds a remote by its address, or by a join line in a hidden field. It probes the remote before adding
it."""

from __future__ import annotations

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Button, Input, Static

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents import decode_document
from lifeboat_core.documents.remote_documents import Met
from lifeboat_core.machine.typed_folders import parse_whole_path
from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.link import DashboardLink
from lifeboat_tui.screens.lifeboat_screen import format_problem
from lifeboat_tui.screens.remotes.add_remote_command import EXAMPLES, build_add_command, is_folder
from lifeboat_tui.screens.remotes.remote_lines import describe_probed_remote
from lifeboat_tui.widgets.join_line_inputs import JoinLineInput, RemoteFormInput, move_join_lines
from lifeboat_tui.widgets.question_dialogs import Dialog
from lifeboat_tui.widgets.text_toggles import TextCheckbox

LOOK, ADD = "Check", "Add"


class AddRemoteDialog(Dialog[Met | None]):
    """Dialog with two steps on one button: probe the remote and say who could read the data, then add it. Its result is
    the added remote, or None."""

    CSS = """
    AddRemoteDialog > VerticalScroll {
        width: 78; max-width: 98%; height: auto; max-height: 100%; border: round $border; background: $surface;
        padding: 0 2;
    }
    AddRemoteDialog .label { color: $foreground 60%; }
    AddRemoteDialog #met { height: auto; text-style: bold; }
    AddRemoteDialog Horizontal { margin-top: 0; }
    AddRemoteDialog TextCheckbox { border: none; padding: 0; }
    """

    def __init__(self, link: DashboardLink, *, may_add: bool = True) -> None:
        super().__init__()
        self._link, self._may_add = link, may_add
        self._is_met = False

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Static("Add a remote", classes="title", markup=False)
            yield Static("Name", classes="label", markup=False)
            yield RemoteFormInput(placeholder="a name, for example home or stick", id="name", compact=True)
            yield Static("Address or folder (leave empty if you have a join line)", classes="label", markup=False)
            yield RemoteFormInput(placeholder=EXAMPLES, id="address", compact=True)
            yield Static("Join line or token (hidden)", classes="label", markup=False)
            yield JoinLineInput(id="secret", compact=True)
            yield TextCheckbox(
                "This remote is not always reachable (for example a USB stick)", id="optional", compact=True
            )
            yield TextCheckbox(
                "Encrypt all data on this machine, so that the remote's operator can read nothing",
                id="sealed",
                compact=True,
            )
            yield TextCheckbox(
                "Do not encrypt the folder: any program for the Agent Life Format can read it", id="plain", compact=True
            )
            yield Static("", id="met", markup=False)
            yield Static("", id="problem", classes="problem", markup=False)
            with Horizontal():
                yield Button("Cancel", id="cancel")
                yield Button(LOOK, id="yes", variant="primary")

    def on_mount(self) -> None:
        self.query_one("#name", Input).focus()

    # The fields -------------------------------------------------------------------------------------------------

    @on(Input.Changed)
    @on(TextCheckbox.Changed)
    def _forget(self) -> None:
        """Forget the probed remote, because the fields have changed."""
        if self._is_met:
            self._is_met = False
            self.query_one("#met", Static).update("")
            self.query_one("#yes", Button).label = LOOK

    def _value(self, field: str) -> str:
        return self.query_one(f"#{field}", Input).value.strip()

    def _is_on(self, field: str) -> bool:
        return self.query_one(f"#{field}", TextCheckbox).value

    def _command(self) -> tuple[tuple[str, ...], str] | str:
        """Return words and standard input of `remote add`, or a sentence on what is missing."""
        move_join_lines(self)
        name, address, secret = self._value("name"), self._value("address"), self._value("secret")
        if not name:
            return "type a name"
        if not address and not secret:
            return "type an address, a folder or a join line"
        if is_folder(address):
            try:
                address = str(parse_whole_path(address))
            except LifeboatError as error:
                return error.message
        options = [option for option in ("optional", "sealed", "plain") if self._is_on(option)]
        return build_add_command(name, address, secret, options)

    # The buttons ------------------------------------------------------------------------------------------------

    @on(Input.Submitted)
    def _entered(self) -> None:
        """Probe the remote on enter in a field. Enter never adds it."""
        if self._is_met:
            self.query_one("#yes", Button).focus()
        else:
            self.look()

    def accept(self) -> None:
        if self._is_met:
            self.add()
        else:
            self.look()

    @work(exclusive=True, group="step", exit_on_error=False)
    async def look(self) -> None:
        """Probe the remote and say who could read the data."""
        met = await self._run("--dry-run")
        if met is not None:
            self._is_met = True
            self.query_one("#met", Static).update("\n".join(make_plain(line) for line in describe_probed_remote(met)))
            button = self.query_one("#yes", Button)
            button.label = ADD
            button.disabled = not self._may_add
            button.focus()

    @work(exclusive=True, group="step", exit_on_error=False)
    async def add(self) -> None:
        met = await self._run()
        if met is not None:
            self.query_one("#secret", Input).value = ""
            self.dismiss(met)

    async def _run(self, *more: str) -> Met | None:
        """Run the command. Returns None after a failure, which is shown."""
        command = self._command()
        if isinstance(command, str):
            self._say(command)
            return None
        words, text = command
        self._say("")
        self.query_one("#met", Static).update("Checking...")
        try:
            return decode_document(Met, (await self._link.run(*words, *more, text=text)).document)
        except LifeboatError as error:
            self.query_one("#met", Static).update("")
            self._say(format_problem(error))
            return None

    def _say(self, problem: str) -> None:
        self.query_one("#problem", Static).update(make_plain(problem))
