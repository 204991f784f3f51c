"""Base class of the first-run pages. A page is one step: it shows the state of the step, and carries it out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Input, Static

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents import Document, decode_document
from lifeboat_core.documents.remote_documents import Away
from lifeboat_core.documents.restore_documents import Plan
from lifeboat_core.machine.typed_folders import parse_whole_path
from lifeboat_daemon.control.command_runner import CommandAnswer
from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.link import Tell
from lifeboat_tui.widgets.question_dialogs import TextDialog
from lifeboat_tui.widgets.row_table import RowTable

if TYPE_CHECKING:
    from lifeboat_tui.screens.first_run.first_run_wizard import FirstRunWizard


LOCKED = "key_locked"
"""Error code of a locked key, which a passphrase opens."""
OPEN_FOR = "30m"
"""How long an unlocked key stays open."""


@dataclass
class FirstRunChoices:
    """Choices made on earlier pages that later pages need."""

    remote: str = ""
    agent: Away | None = None
    restore: tuple[str, ...] = ()
    """The restore command without `--dry-run` or `--yes`."""
    plan: Plan | None = None


class MissingInput(LifeboatError):
    """The user must type or choose something first."""

    title = "Input missing"


class FirstRunPage(VerticalScroll, can_focus=False):
    """One step of the wizard. `STEP` is its name in the line of steps, `YES` the label of its button; a `NEEDED` step
    cannot be skipped."""

    STEP: ClassVar[str] = ""
    YES: str = "Continue"
    NEEDED: bool = False
    DEFAULT_CSS = """
    FirstRunPage { padding: 0 1; }
    FirstRunPage > Static { height: auto; margin-bottom: 1; }
    FirstRunPage > RowTable { height: 1fr; min-height: 4; border: round $border-blurred; }
    FirstRunPage > RowTable:focus { border: round $border; }
    FirstRunPage > Input { height: 3; }
    FirstRunPage > .gone { display: none; }
    FirstRunPage > .label { margin: 0; color: $text-muted; }
    """

    def __init__(self, known: FirstRunChoices) -> None:
        super().__init__()
        self.known = known

    # What a page implements ---------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        yield Static("", id="said", markup=False)

    def twin(self) -> tuple[str, ...]:
        """Return the words of the command that does this step."""
        return ("setup",)

    async def begin(self) -> None:
        """Load the state of the step. Raises LifeboatError."""

    async def go_on(self, tell: Tell) -> bool:
        """Carry out the step. Returns True if the next step may follow. Raises LifeboatError."""
        return True

    def step_back(self) -> bool:
        """Undo a sub-step inside of this page. Returns False if there was none."""
        return False

    def leave(self) -> None:
        """Clear everything secret when the page is no longer shown."""
        for field in self.query(Input):
            if field.password:
                field.value = ""

    # What a page uses ---------------------------------------------------------------------------------------------

    @property
    def first_run(self) -> FirstRunWizard:
        return cast("FirstRunWizard", self.screen)

    async def ask(self, *words: str, text: str = "", tell: Tell | None = None) -> CommandAnswer:
        """Run a command. If the key is locked, ask for its passphrase and run the command again."""
        return await self._with_key(lambda: self.first_run.ask(*words, text=text, tell=tell))

    async def fetch(self, kind: type[Document], *words: str, text: str = "", tell: Tell | None = None) -> Document:
        """Run a command like `ask`, and decode its answer."""
        return decode_document(kind, (await self.ask(*words, text=text, tell=tell)).document)

    async def ask_text(self, *words: str, text: str = "") -> CommandAnswer:
        """Run a command like `ask`, for its plain text."""
        return await self._with_key(lambda: self.first_run.link.run_text(*words, text=text))

    async def _with_key(self, run: Callable[[], Awaitable[CommandAnswer]]) -> CommandAnswer:
        try:
            return await run()
        except LifeboatError as error:
            if error.code != LOCKED:
                raise
            question = TextDialog("Passphrase of your key", secret=True, yes="Unlock")
            passphrase = await self.app.push_screen_wait(question)
            if not passphrase:
                raise
        await self.first_run.ask("keys", "unlock", "--for", OPEN_FOR, "--passphrase-stdin", text=f"{passphrase}\n")
        return await run()

    def say(self, *lines: str, where: str = "said") -> None:
        """Show these lines above the fields; without lines the text is hidden."""
        if self.is_mounted:
            said = self.query_one(f"#{where}", Static)
            said.update("\n".join(make_plain(line) for line in lines))
            said.set_class(not lines, "gone")

    def value(self, name: str) -> str:
        """Return the text typed into a field."""
        return self.query_one(f"#{name}", Input).value.strip()

    def show(self, names: Sequence[str], *, shown: bool) -> None:
        """Show or hide fields with their labels."""
        for name in names:
            for each in self.query(f"#{name}, .of-{name}"):
                each.set_class(not shown, "gone")

    def focus_first(self) -> None:
        """Focus the first widget that takes keys, or the button if there is none."""
        if not self.is_attached:
            return
        for each in self.query("RowTable, Input, RadioSet, Checkbox"):
            if each.focusable and not each.has_class("gone"):
                each.focus()
                return
        self.first_run.focus_button()

    @on(Input.Submitted)
    async def _entered(self, event: Input.Submitted) -> None:
        """Move to the next field on enter; on the last field carry out the step."""
        event.stop()
        fields = [each for each in self.query(Input) if each.focusable and not each.has_class("gone")]
        at = fields.index(event.input)
        if at + 1 < len(fields):
            fields[at + 1].focus()
        else:
            await self.first_run.action_act("go_on")

    @on(RowTable.Chosen)
    async def _chosen(self, event: RowTable.Chosen) -> None:
        event.stop()
        await self.first_run.action_act("go_on")


def parse_folder(text: str) -> str:
    """Return a typed directory with `~` expanded. Raises MissingInput for a relative path, which would depend on the
    directory in which the dashboard was started."""
    try:
        return str(parse_whole_path(text)) if text else ""
    except LifeboatError as error:
        raise MissingInput(error.message) from error
