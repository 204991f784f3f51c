"""A second copy made known: its address, or a join line in a field that is not shown; looked at before it is kept."""

from __future__ import annotations

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from lifeboat_alf.errors import LifeboatError
from lifeboat_core import documents
from lifeboat_core.documents.remote_documents import Met
from lifeboat_core.machine.typed_folders import parse_whole_path
from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.link import DashboardLink
from lifeboat_tui.screens.lifeboat_screen import format_problem
from lifeboat_tui.screens.remotes.remote_lines import describe_probed_remote
from lifeboat_tui.widgets.hidden_input import HiddenInput
from lifeboat_tui.widgets.text_toggles import TextCheckbox

JOIN_LINE = "lifeboat+"
"""How a join line begins: it holds a token, so it never stands in a field that is read."""
LOOK, ADD = "Ask who it is", "Add it"


class AddRemoteDialog(ModalScreen[Met | None]):
    """The first press of the button asks who is there and says who could read what; the second one keeps it. The
    result is what was added, None where nothing was."""

    CSS = """
    AddRemoteDialog { align: center middle; }
    AddRemoteDialog > VerticalScroll {
        width: 78; max-width: 98%; height: auto; max-height: 100%; border: round $border; background: $surface;
        padding: 0 2;
    }
    AddRemoteDialog .title { text-style: bold; }
    AddRemoteDialog .label { color: $foreground 60%; }
    AddRemoteDialog #met { height: auto; text-style: bold; }
    AddRemoteDialog #problem { color: $text-error; text-style: bold; height: auto; }
    AddRemoteDialog TextCheckbox { border: none; padding: 0; }
    AddRemoteDialog Horizontal { height: auto; align-horizontal: right; }
    AddRemoteDialog Button { margin-left: 2; }
    """
    BINDINGS = [("escape", "cancel", "Cancel")]

    def __init__(self, link: DashboardLink, *, may_add: bool = True) -> None:
        super().__init__()
        self._link, self._may_add = link, may_add
        self._is_met = False

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Static("Another second copy", classes="title", markup=False)
            yield Static("What to call it", classes="label", markup=False)
            yield Input(placeholder="home, or stick for a folder", id="name", compact=True)
            yield Static("Address or folder (empty for a join line)", classes="label", markup=False)
            yield Input(placeholder="https://boat.example.com  or  /media/stick/lifeboat", id="address", compact=True)
            yield Static("Join line or token (not shown)", classes="label", markup=False)
            yield HiddenInput(id="secret", compact=True)
            yield TextCheckbox("It is away at times, like a stick", id="optional", compact=True)
            yield TextCheckbox("Encrypt everything here: whoever runs it can read nothing", id="sealed", compact=True)
            yield TextCheckbox("A folder in clear, readable by any ALF program", id="plain", compact=True)
            yield Static("", id="met", markup=False)
            yield Static("", id="problem", markup=False)
            with Horizontal():
                yield Button("Cancel", id="cancel")
                yield Button(LOOK, id="yes", variant="primary")

    def on_mount(self) -> None:
        self.query_one("#name", Input).focus()

    # The fields -------------------------------------------------------------------------------------------------

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        """A join line that was pasted into a wrong field goes to the one that is not shown."""
        typed = event.value.strip()
        if event.input.id != "secret" and typed.lower().startswith(JOIN_LINE):
            self.query_one("#secret", Input).value = typed
            event.input.value = ""
        self._forget()

    @on(TextCheckbox.Changed)
    def _forget(self) -> None:
        """What was met was met for other answers."""
        if self._is_met:
            self._is_met = False
            self.query_one("#met", Static).update("")
            self.query_one("#yes", Button).label = LOOK

    def _value(self, field: str) -> str:
        return self.query_one(f"#{field}", Input).value.strip()

    def _is_on(self, field: str) -> bool:
        return self.query_one(f"#{field}", TextCheckbox).value

    def _command(self) -> tuple[list[str], str] | str:
        """The words and the standard input of `remote add`, or what is missing."""
        name, address, secret = self._value("name"), self._value("address"), self._value("secret")
        if not name:
            return "type what to call it"
        if not address and not secret:
            return "type an address, a folder or a join line"
        is_folder = bool(address) and "://" not in address
        if is_folder:
            try:
                address, secret = parse_whole_path(address).as_uri(), ""
            except LifeboatError as error:
                return error.message
        words = ["remote", "add", name]
        if not address:
            words.append("--join-stdin")
        else:
            words += [address, *(["--token-stdin"] if secret else [])]
        words += [f"--{option}" for option in ("optional", "sealed", "plain") if self._is_on(option)]
        return words, f"{secret}\n" if secret else ""

    # The buttons ------------------------------------------------------------------------------------------------

    @on(Input.Submitted)
    def _entered(self) -> None:
        """Enter in a field looks, and does not add."""
        if self._is_met:
            self.query_one("#yes", Button).focus()
        else:
            self.look()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "cancel":
            self.action_cancel()
        elif self._is_met:
            self.add()
        else:
            self.look()

    @work(exclusive=True, group="step", exit_on_error=False)
    async def look(self) -> None:
        """Ask who is there, and say who could read what."""
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
        """Run the command; None where it failed, which is said."""
        command = self._command()
        if isinstance(command, str):
            self._say(command)
            return None
        words, text = command
        self._say("")
        self.query_one("#met", Static).update("Asking it who it is...")
        try:
            return documents.decode_document(Met, (await self._link.run(*words, *more, text=text)).document)
        except LifeboatError as error:
            self.query_one("#met", Static).update("")
            self._say(format_problem(error))
            return None

    def _say(self, problem: str) -> None:
        self.query_one("#problem", Static).update(make_plain(problem))

    def action_cancel(self) -> None:
        self.query_one("#secret", HiddenInput).take()
        self.dismiss(None)
