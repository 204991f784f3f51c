"""The purge wizard: search, preview, confirm, proof. Nothing is destroyed before the user has completed the confirm
step.

The text to purge is typed into a hidden field and goes to commands on standard input. It stays in memory between
preview and purge, and is dropped when the purge begins, when the search is changed, and when the wizard closes.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Button, ContentSwitcher, Input

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents import decode_document
from lifeboat_core.documents.purge_documents import Purged, Remote
from lifeboat_core.documents.receipt_documents import Receipts as ReceiptList
from lifeboat_core.documents.receipt_documents import Shown
from lifeboat_core.errors import CommandLost
from lifeboat_daemon.control.command_runner import CommandAnswer, CommandProgress
from lifeboat_tui.screens.lifeboat_screen import FILTER, attempted
from lifeboat_tui.screens.purge.purge_command import PurgeChoices, PurgeSubject, build_purge_command
from lifeboat_tui.screens.purge.purge_pages import (
    PurgeConfirmPage,
    PurgePreviewPage,
    PurgeProofPage,
    PurgeSearchPage,
    describe_other_agents,
)
from lifeboat_tui.screens.purge.purge_proof_texts import Line, describe_purge_outcome, describe_receipt
from lifeboat_tui.screens.purge.receipt_actions import LET_IN, ReceiptActionsScreen, list_confirmable_vaults
from lifeboat_tui.user_actions import PLACES, UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.progress_display import ProgressDisplay
from lifeboat_tui.widgets.wizard_steps import WizardSteps

STEPS = ("Search", "Preview", "Confirm", "Proof")
SEARCH, PREVIEW, CONFIRM, PROOF = range(4)
_PAGES = ("search", "preview", "confirm", "proof")
_BUTTONS = ("Search", "Continue", "Purge", "Close")
_STAY = frozenset({"back", "quit", *(act.name for act in PLACES if act.name.startswith("go_"))})
"""Actions that would leave the wizard."""
AT_WORK = "the purge is running; press c to stop it"
STOPPED = (
    "The purge was stopped. Data destroyed so far stays destroyed; the next command or the daemon completes the purge."
)
LOST = (
    "Lifeboat found no receipt yet, so the purge may still be running. Press v to look for the "
    "receipt, then search again."
)
NOT_BEGUN = "Nothing was purged: there is no new receipt, and no purge has begun."


class PurgeWizard(ReceiptActionsScreen):
    AUTO_FOCUS = "#text, #records"
    NAME = "Purge"
    IS_WIZARD = True
    ACTS = (
        UserAction("go_on", "ctrl+n", "continue", "Carry out this step and continue", footer=True),
        UserAction(
            "workspace",
            "w",
            "live files",
            "Choose whether the purge also edits the live files; the search runs again",
            footer=True,
        ),
        UserAction(
            "keep_print",
            "p",
            "keep fingerprint",
            "Choose whether to keep a fingerprint (hash) of a guessable text; the search runs again",
        ),
        UserAction(
            "destroy", "D", "destroy", "Start the purge, after you have typed the phrase", footer=True, writes=True
        ),
        UserAction(
            "stop", "c", "stop", "Stop the command; the next command or the daemon completes a purge that has begun"
        ),
        UserAction(
            "confirm",
            "t",
            "confirm",
            "Type an endpoint's token with the scope purge, so that the endpoint purges now and does not wait",
            footer=True,
            writes=True,
        ),
        UserAction(
            "export", "e", "export", "Write the receipt to a file that anyone can verify", footer=True, writes=True
        ),
        UserAction(
            "kept_out", "x", "clean workspace", "Remove purged text that is still in the workspace", writes=True
        ),
        LET_IN,
        UserAction("others", "o", "other agents", "Purge the text in another agent that contains it"),
        UserAction("receipts", "v", "receipts", "List all purges and verify their receipts"),
        FILTER,
    )
    HELP = """
A purge destroys a text or a memory in every copy: in the whole history on this machine, in undo folders and caches, and
on every remote. Numbers, digests and signatures of all sequences stay valid, and all other data still restores byte for
byte. A purge cannot be undone. If a key or password leaked, first revoke it at the service that issued it.

The text is hidden while you type, and written to no log, no file and no list of processes. The preview lists the places
that contain the text (it shows at most the end of each match), what happens in each place, and what Lifeboat cannot
reach. To start the purge you type a phrase. Afterwards you get a signed receipt that anyone can verify.

A fingerprint (hash) of a purged text of 16 characters or more lets later captures recognise the text and leave it out.
For a shorter or guessable text Lifeboat keeps no fingerprint, because anyone with this disk could find the text by
trying all values. Such a text is captured again when a file that contains it changes. To prevent this, remove the text
from the live files too, or keep a fingerprint anyway. Some files, such as a changed ZIP file, are left out of captures
after a purge until you allow them again.

An endpoint that can read the data waits 24 hours before it purges, so that its owner can refuse. If you type the
endpoint's token with the scope purge, it purges immediately. Lifeboat uses the token once and does not store it.
"""
    CSS = """
    PurgeWizard #pages { height: 1fr; padding-top: 1; }
    """

    def __init__(self, agent_id: str, *, records: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._agent_id, self._records = agent_id, records
        self._name = ""
        self._step = SEARCH
        self._wanted = PurgeChoices(PurgeSubject.RECORDS if records else PurgeSubject.TEXT, records)
        self._text = ""
        self._plan: Purged | None = None
        self._lines: list[Line] = []
        self._receipt: Shown | None = None
        self._others: list[str] = []
        self._told: tuple[Remote, ...] = ()
        """Remotes about which the receipt says nothing yet."""

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield WizardSteps(STEPS, self.glyphs)
        with ContentSwitcher(id="pages", initial="search"):
            yield PurgeSearchPage(self._records)
            yield PurgePreviewPage(self.glyphs)
            yield PurgeConfirmPage()
            yield PurgeProofPage(self.glyphs)
        yield ProgressDisplay(self.glyphs, id="running")
        with Horizontal(id="buttons"):
            yield Button("Cancel", id="cancel", compact=True)
            yield Button(_BUTTONS[SEARCH], id="go", variant="primary", compact=True)

    def crumbs(self) -> tuple[str, ...]:
        return ("lifeboat", self.agent_name, self.NAME.lower(), STEPS[self._step].lower())

    def twin(self) -> tuple[str, ...]:
        if self._step == PROOF and self._receipt is not None:
            return ("receipts", "show", self._receipt.receipt.id)
        return build_purge_command(self.wanted, self.agent_name, dry_run=self._step < CONFIRM)

    @property
    def wanted(self) -> PurgeChoices:
        """Return the choices made so far."""
        if self._step == SEARCH and self.is_mounted:
            return self.query_one(PurgeSearchPage).wanted()
        return self._wanted

    @property
    def agent_name(self) -> str:
        """Return the agent's name, also after the agent was removed."""
        found = self.lifeboat.find_agent(self._agent_id)
        self._name = self._name if found is None else found.name
        return self._name or self._agent_id

    async def load(self) -> None:
        if self._step == PREVIEW and self._plan is not None and not self.is_at_work:
            self.look()
        elif self._step == PROOF and self._receipt is not None:
            await self._show_receipt(self._receipt.receipt.id)

    def handle_event(self, event: JsonObject) -> None:
        """Reload the proof after an event: a remote may have confirmed the purge."""
        if self._step == PROOF and not self.is_at_work and event.get("event") in ("push", "notice"):
            self.reload()

    def on_unmount(self) -> None:
        self._text = ""

    @property
    def is_at_work(self) -> bool:
        return self.has_class("-working")

    def _go(self, step: int) -> None:
        """Show a step."""
        self._step = step
        if step == SEARCH:
            self._text, self._plan = "", None
        self.query_one(WizardSteps).go(step)
        self.query_one(ContentSwitcher).current = _PAGES[step]
        self._focus(step)
        self._say_buttons()

    def _focus(self, step: int) -> None:
        if step == SEARCH:
            self.query_one(PurgeSearchPage).focus_first()
        elif step == PREVIEW:
            self.query_one("#places-table").focus()
        elif step == CONFIRM:
            self.query_one("#cancel", Button).focus()
        else:
            self.query_one(PurgeProofPage).focus()

    def _say_buttons(self) -> None:
        go, cancel = self.query_one("#go", Button), self.query_one("#cancel", Button)
        go.label = _BUTTONS[self._step]
        go.variant = "error" if self._step == CONFIRM else "primary"
        go.disabled = self.is_at_work or (self._step == CONFIRM and not self.query_one(PurgeConfirmPage).is_typed)
        go.refresh(layout=True)
        cancel.display = self._step != PROOF or self.is_at_work
        cancel.label = "Stop" if self.is_at_work else "Cancel"
        cancel.refresh(layout=True)
        self.refresh_bars()

    def _work(self, at_work: bool) -> None:
        if self.is_mounted:
            self.set_class(at_work, "-working")
            if at_work:
                self.show_progress(CommandProgress("..."))
            self._say_buttons()

    # Keys -------------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        if act == "stop":
            return None if self.is_at_work else "no purge is running"
        if self.is_at_work and act in (
            *_STAY,
            "confirm",
            "go_on",
            "destroy",
            "workspace",
            "export",
            *("keep_print", "kept_out", "let_in", "others"),
        ):
            return AT_WORK
        if act == "go_on":
            return self._why_not_on()
        if act in ("workspace", "keep_print") and (self._step != PREVIEW or self._plan is None or self._plan.is_whole):
            return "available only in the preview, and not for a whole agent"
        if act == "keep_print" and self._plan is not None and not (self._plan.guessable or self._wanted.keep_print):
            return "the text is too long to be guessed, so Lifeboat keeps a fingerprint in any case"
        if act == "let_in" and self._step not in (SEARCH, PROOF):
            return "available only before or after a purge"
        if act == "destroy":
            return self._why_not_destroy()
        if act in ("export", "confirm", "kept_out"):
            return self._why_not_after(act)
        return "no other agent contains the text" if act == "others" and not self._others else None

    def _why_not_on(self) -> str | None:
        if self._step == SEARCH:
            wanted = self.wanted
            if wanted.needs_text and not self.query_one(PurgeSearchPage).field.value.strip():
                return "first type the text to purge; it stays hidden"
            return (
                "first type the ids of the memories"
                if wanted.what is PurgeSubject.RECORDS and not wanted.records
                else None
            )
        if self._step == PREVIEW and self._plan is None:
            return "the search has not finished; press esc to go back"
        if self._step == PREVIEW and self._plan is not None and self._plan.is_empty and not self._plan.lies_live:
            return "no sequence contains the text, so there is nothing to purge"
        return None

    def _why_not_destroy(self) -> str | None:
        if self._step != CONFIRM:
            return "first see the preview, then type the phrase"
        page = self.query_one(PurgeConfirmPage)
        return None if page.is_typed else f"type  {page.phrase}  first"

    def _why_not_after(self, act: str) -> str | None:
        if self._step != PROOF or self._receipt is None:
            return "available only after a purge"
        if act == "confirm" and not list_confirmable_vaults(self._receipt.receipt.vaults):
            return "no remote waits for a token"
        if act == "kept_out" and self.lifeboat.find_agent(self._agent_id) is None:
            return "not possible, because the whole agent was purged"
        return None

    def on_key(self, event: events.Key) -> None:
        """Type the letters of the confirmation phrase into its field even though Cancel has the focus."""
        is_for_it = self._step == CONFIRM and not self.is_at_work and isinstance(self.focused, Button)
        if is_for_it and self.query_one(PurgeConfirmPage).type(event.character or ""):
            event.stop()
            event.prevent_default()

    @on(Input.Submitted)
    async def _entered(self, event: Input.Submitted) -> None:
        """Carry out the step on enter; in the confirmation, once the phrase is typed."""
        event.stop()
        if self._step == SEARCH:
            await self.action_act("go_on")
        elif self._step == CONFIRM and self.query_one(PurgeConfirmPage).is_typed:
            await self.action_act("destroy")

    @on(Input.Changed, "#phrase")
    def _typed(self) -> None:
        self._say_buttons()

    @on(Button.Pressed, "#go")
    async def _pressed_go(self) -> None:
        await self.action_act(("go_on", "go_on", "destroy", "back")[self._step])

    @on(Button.Pressed, "#cancel")
    async def _pressed_cancel(self) -> None:
        if self.is_at_work:
            await self.action_act("stop")
        else:
            self.leave()

    async def do_go_on(self) -> None:
        if self._step == SEARCH:
            page = self.query_one(PurgeSearchPage)
            self._wanted = page.wanted()
            taken = page.field.take()
            self._text = taken if self._wanted.needs_text else ""
            self._go(PREVIEW)
            self.look()
        elif self._step == PREVIEW and self._plan is not None:
            await self.query_one(PurgeConfirmPage).show(self._plan)
            self._go(CONFIRM)
        elif self._step == CONFIRM:
            await self.action_act("destroy")
        else:
            self.leave()

    def do_back(self) -> None:
        """Go one step back; from the first step and from the proof close the wizard."""
        if self._step in (SEARCH, PROOF):
            self.leave()
        elif self._step == CONFIRM:
            self.query_one(PurgeConfirmPage).take_tokens()
            self._go(PREVIEW)
        elif not self.query_one("#places", FilteredTable).clear_filter():
            self._go(SEARCH)

    def do_stop(self) -> None:
        self.workers.cancel_group(self, "purge")

    # Preview ----------------------------------------------------------------------------------------------------

    def do_workspace(self) -> None:
        self._wanted = replace(self._wanted, workspace=not self._wanted.workspace)
        self.tell_user(
            "The purge will also remove the text from the files of the workspace."
            if self._wanted.workspace
            else "The purge will not edit the files of the workspace. Captures will leave the text out."
        )
        self.look()

    def do_keep_print(self) -> None:
        self._wanted = replace(self._wanted, keep_print=not self._wanted.keep_print)
        said = (
            "will be kept, so that captures can recognise the text" if self._wanted.keep_print else "will not be kept"
        )
        self.tell_user(f"A fingerprint (hash) of the text {said}.")
        self.look()

    @work(exclusive=True, group="purge", exit_on_error=False)
    async def look(self) -> None:
        """Run the preview of the purge."""
        page = self.query_one(PurgePreviewPage)
        self._plan = None
        page.show(None, self._wanted)
        self._work(True)
        try:
            said = await self.ask(
                *build_purge_command(self._wanted, self._agent_id, dry_run=True),
                text=self._input(),
                tell=self.show_progress,
            )
            self._plan = decode_document(Purged, said.document)
        except LifeboatError as error:
            self._go(SEARCH)
            self.say_problem(error)
        except asyncio.CancelledError:
            if self.is_mounted:
                self._go(SEARCH)
                self.tell_user("The command was stopped before it changed anything.")
            raise
        else:
            self.say_problem(None)
            page.show(self._plan, self._wanted)
            self._others = [name for name in self._plan.elsewhere if self.lifeboat.find_agent(name) is not None]
            for note in said.notes:
                self.tell_user(note, severity="warning")
        finally:
            self._work(False)

    def _input(self) -> str:
        return f"{self._text}\n" if self._text else ""

    # Purge ------------------------------------------------------------------------------------------------------

    def do_destroy(self) -> None:
        tokens = self.query_one(PurgeConfirmPage).take_tokens()
        text, self._text = self._input(), ""
        self._go(PROOF)
        self.carry_out(text, tokens)

    @work(exclusive=True, group="purge", exit_on_error=False)
    async def carry_out(self, text: str, tokens: dict[str, str]) -> None:
        """Purge, then show the proof. If the purge fails or is stopped, find out what happened to it; the result is
        never guessed."""
        self._lines = [
            ("", "The purge is running. Press c to stop; the next command or the daemon then completes the purge.")
        ]
        self._show_lines()
        self._work(True)
        before: set[str] = set()
        try:
            before = await self._receipts()
            said = await self.ask(
                *build_purge_command(self._wanted, self._agent_id, dry_run=False), text=text, tell=self.show_progress
            )
            await self._show_done(decode_document(Purged, said.document), said, tokens)
        except LifeboatError as error:
            self.tell_failure(error)
            nothing = LOST if isinstance(error, CommandLost) else NOT_BEGUN
            await self._find_out(before, ("error", f"{error.title}: {error.message}"), nothing)
        except asyncio.CancelledError:
            if self.is_mounted and self.app.is_running:
                self.find_out_later(before)
            raise
        finally:
            self._work(False)
        self.lifeboat.ask_status()

    async def _show_done(self, done: Purged, said: CommandAnswer, tokens: dict[str, str]) -> None:
        self.say_problem(None)
        self._others = [name for name in done.elsewhere if self.lifeboat.find_agent(name) is not None]
        self._told = done.remotes
        self._lines = [*describe_purge_outcome(done, self._plan), *(("warning", note) for note in said.notes)]
        if done.receipt is not None:
            for name, token in tokens.items():
                self._lines.append(("", await self.confirm_on_remote(done.receipt, name, token)))
            await self._show_receipt(done.receipt)
        self._show_lines()

    @work(group="look-into", exit_on_error=False)
    async def find_out_later(self, before: set[str]) -> None:
        """Find out what happened to a purge that was stopped."""
        with contextlib.suppress(LifeboatError):
            await self._find_out(before, ("warning", STOPPED))

    async def _find_out(self, before: set[str], first: Line, nothing: str = NOT_BEGUN) -> None:
        """Find out what became of a purge that ended abnormally. The next command completes a started purge, and a new
        receipt proves it; without a new receipt show `nothing`."""
        self._lines = [first]
        self._show_lines()
        new = sorted(await self._receipts() - before)
        if new:
            self._lines.append(("done", "The interrupted purge is now complete on this machine. Below is its receipt."))
            self._told = () if self._plan is None else self._plan.remotes
            await self._show_receipt(new[-1])
        elif self._lines == [first]:  # the command reported nothing that it could not complete
            self._lines.append(("", nothing))
        self._show_lines()

    async def _receipts(self) -> set[str]:
        """Return the ids of all receipts. Notes of the command say what could not be completed."""
        said = await self.ask("receipts", "list")
        self._lines += [("warning", note) for note in said.notes]
        return {each.id for each in decode_document(ReceiptList, said.document).receipts}

    # The proof --------------------------------------------------------------------------------------------------

    async def _show_receipt(self, receipt_id: str) -> None:
        try:
            self._receipt = await self.fetch(Shown, "receipts", "show", receipt_id)
        except LifeboatError as error:
            self.tell_failure(error)
        self._show_lines()

    def _show_lines(self) -> None:
        if self.is_mounted:
            shown = [] if self._receipt is None else list(describe_receipt(self._receipt, self._told))
            others = describe_other_agents(self._others) if self._receipt is not None else ""
            self.query_one(PurgeProofPage).show([*self._lines, *shown, *([("warning", others)] if others else [])])
            self._say_buttons()

    def do_export(self) -> None:
        assert self._receipt is not None
        self.export_receipt(self._receipt.receipt.id)

    def do_confirm(self) -> None:
        assert self._receipt is not None
        self.confirm_somewhere(self._receipt.receipt.id, self._receipt.receipt.vaults)

    def do_receipts(self) -> None:
        from lifeboat_tui.screens.purge.receipts_screen import ReceiptsScreen

        self.app.push_screen(ReceiptsScreen())

    @attempted
    async def do_others(self) -> None:
        """Open a new wizard for another agent. The user has to type the text again, because it is not kept."""
        chosen = await self.choose_one(
            "In which agent should the text be purged next?", [(name, name) for name in self._others]
        )
        agent = self.lifeboat.find_agent(chosen) if chosen is not None else None
        if agent is not None:
            self.app.push_screen(PurgeWizard(agent.id))

    def do_kept_out(self) -> None:
        self.cut_kept_out(self._agent_id)

    def do_let_in(self) -> None:
        self.let_in(self._agent_id)
