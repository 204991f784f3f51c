"""First-run wizard: protect the agents of this machine or restore one from a remote, one step per page."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.setup_documents import Setup
from lifeboat_daemon.control.command_runner import CommandProgress
from lifeboat_tui.screens.first_run.closing_pages import DonePage, ServicePage
from lifeboat_tui.screens.first_run.first_run_page import FirstRunChoices, FirstRunPage
from lifeboat_tui.screens.first_run.key_pages import CreateKeyPage, RecoverKeyPage
from lifeboat_tui.screens.first_run.kit_page import RecoveryKitPage
from lifeboat_tui.screens.first_run.protect_agents_page import ProtectAgentsPage
from lifeboat_tui.screens.first_run.remote_pages import AddRemotePage, SourceRemotePage
from lifeboat_tui.screens.first_run.restore_pages import FirstRunRestorePage, RestoreAgentPage, RestoreTargetPage
from lifeboat_tui.screens.first_run.words_page import RecoveryWordsPage
from lifeboat_tui.screens.lifeboat_screen import LifeboatScreen
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.progress_display import ProgressDisplay
from lifeboat_tui.widgets.row_table import RowTable, TableColumn, TableRow
from lifeboat_tui.widgets.wizard_steps import WizardSteps

PROTECT: tuple[type[FirstRunPage], ...] = (
    ProtectAgentsPage,
    CreateKeyPage,
    RecoveryWordsPage,
    AddRemotePage,
    ServicePage,
    DonePage,
)
RETURN: tuple[type[FirstRunPage], ...] = (
    SourceRemotePage,
    RecoverKeyPage,
    RestoreAgentPage,
    RestoreTargetPage,
    FirstRunRestorePage,
    ServicePage,
    DonePage,
)

KIT: tuple[type[FirstRunPage], ...] = (RecoveryKitPage, ServicePage, DonePage)
WAYS = {"kit": KIT, "return": RETURN, "protect": PROTECT}


class PurposePage(FirstRunPage):
    """Page that asks for the purpose: protect, or restore an agent."""

    NEEDED = True
    DEFAULT_CSS = "PurposePage > RowTable { height: 6; }"

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield RowTable((TableColumn("WHAT DO YOU WANT?", 20, grow=1),), id="ways")
        yield Static("", id="already", markup=False)

    async def begin(self) -> None:
        self.say(
            "Lifeboat keeps copies of your agents. You can restore the agents on this machine or on another.",
            "Choose with the arrow keys and Enter. In each step, y copies the shell command of the step, and "
            "Ctrl-L skips it.",
        )
        rows = [
            TableRow("kit", ("Restore my agent with its recovery kit",)),
            TableRow("return", ("Restore my agent from a remote, without a recovery kit",)),
            TableRow("protect", ("Protect the agents on this machine",)),
        ]
        self.query_one(RowTable).show(rows)
        self.focus_first()
        found = await self.fetch(Setup, "setup")
        done = [step.text for step in found.steps if step.state == "done" and step.name != "find"]
        self.say(*(f"{self.first_run.glyphs.sign('done')} {text}" for text in done), where="already")


class FirstRunWizard(LifeboatScreen):
    NAME = "First run"
    IS_GUIDED = True
    ACTS = (
        UserAction("go_on", "ctrl+n", "continue", "Carry out this step and continue", footer=True, writes=True),
        UserAction("later", "ctrl+l", "later", "Skip this step for now", footer=True),
        UserAction("reveal", "w", "show the words", "Show the 24 words of your key for a short time", writes=True),
    )
    HELP = """
The first two choices restore your agents on a machine that never had them: from the recovery kit in one step, or from a
remote step by step. The third choice protects the agents on this machine: Lifeboat creates your key, shows its 24 words
and asks for three of them. Then you add a remote and install the background service that captures every change.

Tab moves to the next field, and Enter runs the step. Esc goes one step back or stops the running command. Finished
steps stay finished; to continue later, open this screen again or run lifeboat setup in a shell. Words, tokens and
passphrases stay hidden until you ask for them. The words are kept only in the store of your key.
"""
    CSS: ClassVar[str] = """
    FirstRunWizard #steps { height: 1; }
    FirstRunWizard #page { height: 1fr; padding-top: 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._known = FirstRunChoices()
        self._way: tuple[type[FirstRunPage], ...] = ()
        self._at = 0
        self._page: FirstRunPage = PurposePage(self._known)
        self._is_loaded = False

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield Vertical(id="steps")
        yield Vertical(self._page, id="page")
        yield ProgressDisplay(self.glyphs, id="running")
        with Horizontal(id="buttons"):
            yield Button("Later", id="later", compact=True)
            yield Button("Continue", id="go", variant="primary", compact=True)

    def crumbs(self) -> tuple[str, ...]:
        return (*super().crumbs(), *filter(None, (self._page.STEP.lower(),)))

    def twin(self) -> tuple[str, ...]:
        return self._page.twin()

    async def load(self) -> None:
        page = self._page
        await page.begin()
        if page is self._page and self.is_mounted:
            self._is_loaded = True
            self._say_buttons()
            if self.focused is None or self.focused.disabled:
                page.focus_first()

    @property
    def is_working(self) -> bool:
        return self.has_class("-working")

    def focus_button(self) -> None:
        for button in self.query("#go"):
            button.focus()

    def _say_buttons(self) -> None:
        if not self.query("#go"):  # the dashboard is closing
            return
        go, later = self.query_one("#go", Button), self.query_one("#later", Button)
        go.label, go.disabled = self._page.YES, self.is_working
        go.refresh(layout=True)
        later.display = not self._page.NEEDED
        later.disabled = self.is_working
        self.refresh_bars()

    async def _show(self, page: FirstRunPage) -> None:
        """Replace the current page."""
        self._page.leave()
        holder = self.query_one("#page", Vertical)
        await holder.remove_children()
        self._page, self._is_loaded = page, False
        await holder.mount(page)
        for steps in self.query(WizardSteps):
            steps.go(self._at)
        self._say_buttons()
        page.focus_first()
        self.reload()

    async def _begin(self, way: tuple[type[FirstRunPage], ...]) -> None:
        """Start the steps for a purpose, or ask for the purpose with None."""
        self._way, self._at = way, 0
        holder = self.query_one("#steps", Vertical)
        await holder.remove_children()
        if way:
            await holder.mount(WizardSteps([each.STEP for each in way if each is not DonePage], self.glyphs))
        await self._show(way[0](self._known) if way else PurposePage(self._known))

    async def _go(self, step: int) -> None:
        """Move by a number of steps, forwards or backwards."""
        self._at += step
        self.say_problem(None)
        await self._show(self._way[self._at](self._known))

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        if act in ("go_on", "later", "reveal") and self.is_working:
            return "the step is running; press esc to stop it"
        if act == "later" and self._page.NEEDED:
            return "this step cannot be skipped"
        if act == "reveal" and not isinstance(self._page, RecoveryWordsPage):
            return "available only in the step Words"
        return None

    @on(Button.Pressed, "#go")
    async def _pressed_go(self) -> None:
        await self.action_act("go_on")

    @on(Button.Pressed, "#later")
    async def _pressed_later(self) -> None:
        await self.action_act("later")

    async def do_later(self) -> None:
        await self._onwards()

    @work(exclusive=True, group="step")
    async def do_reveal(self) -> None:
        if isinstance(self._page, RecoveryWordsPage):
            await self._carry_out(self._page.reveal())

    @work(exclusive=True, group="step")
    async def do_go_on(self) -> None:
        if isinstance(self._page, PurposePage):
            row = self._page.query_one(RowTable).current
            await self._begin(PROTECT if row is None else WAYS[row.key])
        elif not self._is_loaded:  # the page is still loading: ignore consent to what the user cannot see yet
            await self._carry_out(self.load())
        elif await self._carry_out(self._page.go_on(self.show_progress)):
            await self._onwards()

    async def _carry_out(self, doing: object) -> bool:
        """Run the step of the page, and return True if the next step may follow. On failure the banner shows the error
        and the page stays."""
        self._work(True)
        try:
            outcome = await doing  # type: ignore[misc]
        except LifeboatError as error:
            self.say_problem(error)
            return False
        except asyncio.CancelledError:
            if self.is_mounted:
                self.tell_user("The command was stopped. No change was left unfinished.")
            raise
        finally:
            if self.is_mounted:
                self._work(False)
        self.say_problem(None)
        return bool(outcome)

    def _work(self, at_work: bool) -> None:
        if not self.query("#go"):  # the dashboard is closing
            return
        self.set_class(at_work, "-working")
        self._page.disabled = at_work
        self._say_buttons()
        if at_work:
            self.show_progress(CommandProgress("..."))
        else:
            self._page.focus_first()

    async def _onwards(self) -> None:
        if self._at + 1 < len(self._way):
            await self._go(1)
        else:
            self._page.leave()
            self.lifeboat.ask_status()
            self.lifeboat.go("dashboard")

    def do_back(self) -> None:
        """Stop the running step; otherwise go one step back; on the first page close the wizard."""
        if self.is_working:
            self.workers.cancel_group(self, "step")
        elif self._page.step_back():
            self._say_buttons()
        elif self._way:
            self._step_back()
        else:
            self.leave()

    @work(exclusive=True, group="step")
    async def _step_back(self) -> None:
        if self._at > 0:
            await self._go(-1)
        else:
            await self._begin(())
