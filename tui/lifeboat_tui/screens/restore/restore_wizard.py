"""The restore wizard: point, what, preview, run. Nothing is written before the last step."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from textual import on, work
from textual.app import ComposeResult
from textual.widgets import Button, ContentSwitcher

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.log_documents import Entry, Log
from lifeboat_core.documents.remote_documents import Away, There
from lifeboat_core.documents.restore_documents import Done
from lifeboat_core.documents.status_documents import Agent
from lifeboat_daemon.control.command_runner import CommandProgress
from lifeboat_tui.screens.lifeboat_screen import FILTER, LifeboatScreen, attempted
from lifeboat_tui.screens.restore.restore_command import RestoreChoices, build_restore_command
from lifeboat_tui.screens.restore.restore_options_page import RestoreOptionsPage
from lifeboat_tui.screens.restore.restore_point_page import RestorePointPage
from lifeboat_tui.screens.restore.restore_preview_page import RestorePreviewPage
from lifeboat_tui.screens.restore.restore_receipt_screen import RestoreReceiptScreen
from lifeboat_tui.screens.restore.restore_run_page import RestoreRunPage
from lifeboat_tui.screens.restore.restore_step_page import RestoreStepPage
from lifeboat_tui.screens.restore.restore_texts import (
    ALL_OR_NOTHING,
    KEPT,
    UNCERTAIN,
    UNPROVEN,
    build_takeover_dialog,
    describe_trouble,
    list_hazards,
)
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import ConfirmDialog, TextDialog
from lifeboat_tui.widgets.row_table import RowTable
from lifeboat_tui.widgets.screen_bars import KeyHint
from lifeboat_tui.widgets.wizard_steps import WizardSteps

POINT, WHAT, PREVIEW, RUN = range(4)
AT_WORK = "the restore is running; press c to stop it"
LOCKED = frozenset({"key_locked", "needs_key", "key_passphrase", "no_passphrase"})
ACCEPT_PHRASE = "restore unsigned"
_ONLY_IN = {
    "time": (POINT,),
    "source": (POINT,),
    "go_on": (POINT, WHAT),
    "credentials": (WHAT, PREVIEW),
    "accept": (PREVIEW,),
    "run": (PREVIEW,),
    "receipt": (RUN,),
}
"""Actions that exist only on some steps."""
_WHILE_AT_WORK = frozenset({"stop", "help", "copy", "jump"})


class RestoreWizard(LifeboatScreen):
    """Restore of one agent. `at` is a sequence or a time; with `at` or `paths` the wizard opens with the preview."""

    NAME = "Restore"
    ENTER = "open"
    ACTS = (
        UserAction("run", "R", "restore", "Restore as shown in the preview", footer=True, writes=True),
        UserAction("go_on", "ctrl+n", "continue", "Continue with the next step", footer=True),
        UserAction(
            "open", "enter", "choose", "Choose the sequence, change the option, or show the differences in the file"
        ),
        UserAction("time", "t", "type a time", "Type a sequence number or a time"),
        UserAction("source", "f", "other source", "Restore from a remote, or from a history that was replaced"),
        UserAction("credentials", "i", "credentials", "Include credentials, or leave them out"),
        UserAction("unlock", "U", "unlock", "Unlock your key with its passphrase", writes=True),
        UserAction(
            "accept",
            "A",
            "accept unsigned",
            "Accept a sequence without a valid signature; you have to type a phrase",
            writes=True,
        ),
        UserAction("stop", "c", "stop", "Stop the restore before any file is changed", footer=True),
        UserAction("undo", "u", "undo", "Undo the last restore of the agent", writes=True),
        UserAction("receipt", "e", "receipt", "Show the receipt: what happened to each file, memory and credential"),
        FILTER,
    )
    HELP = """
A restore has four steps: choose a sequence, choose what to restore and where, check the preview of every file, restore.
Only the last step writes. The current state is captured first, and for seven days u undoes the restore.

A restore is written completely or not at all, even if the computer loses power. It works without the daemon. c stops
the restore as long as no file is changed.
"""
    CSS = """
    RestoreWizard ContentSwitcher { height: 1fr; }
    RestoreWizard ContentSwitcher > RestoreStepPage { height: 1fr; }
    RestoreWizard FilteredTable { height: 1fr; }
    RestoreWizard.-narrow #command { max-height: 1; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]

    def __init__(
        self, agent_id: str, *, at: str | None = None, paths: tuple[str, ...] = (), remote: str | None = None
    ) -> None:
        super().__init__()
        self.wanted = RestoreChoices(agent_id, at=None if at is None else str(at), paths=tuple(paths), remote=remote)
        self.step = PREVIEW if at is not None or paths else POINT
        self.is_at_work = False
        self.point, self.what, self.preview, self.run = (
            RestorePointPage(),
            RestoreOptionsPage(),
            RestorePreviewPage(),
            RestoreRunPage(),
        )
        self._command: tuple[str, ...] = ()
        self._before: tuple[Entry, ...] | None = None
        """Log entries of earlier restores; None if the log could not be read."""

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield WizardSteps([page.STEP for page in self._pages], self.glyphs, here=self.step)
        with ContentSwitcher(initial=self.page.id):
            yield from self._pages

    @property
    def _pages(self) -> tuple[RestoreStepPage, ...]:
        return (self.point, self.what, self.preview, self.run)

    @property
    def page(self) -> RestoreStepPage:
        return self._pages[self.step]

    @property
    def agent(self) -> Agent | None:
        return self.lifeboat.find_agent(self.wanted.agent)

    @property
    def away(self) -> Away | None:
        """Return the agent as it is on the chosen remote."""
        return self.point.away

    @property
    def agent_label(self) -> str:
        """Return the agent's name, or its id while the name is unknown."""
        return self.wanted.agent if self.agent is None else self.agent.name

    @property
    def labelled_choices(self) -> RestoreChoices:
        """Return the choices with names instead of ids, as a user would type them."""
        return replace(self.wanted, agent=self.agent_label)

    def twin(self) -> tuple[str, ...]:
        return self.page.twin()

    def crumbs(self) -> tuple[str, ...]:
        away = self.away
        name = away.name if self.agent is None and away is not None and away.name else self.agent_label
        return ("lifeboat", name, "restore")

    async def load(self) -> None:
        if self.is_at_work:
            return
        await self.page.begin()
        if self.focused is None:
            self.page.focus_first()

    def on_mount(self) -> None:
        self.page.focus_first()

    def handle_event(self, event: JsonObject) -> None:
        """Reload after a capture: it adds a sequence and means that files have changed."""
        is_ours = self.agent is not None and event.get("agent") == self.agent.id and self.wanted.remote is None
        if event.get("event") == "capture" and is_ours and self.step in (POINT, PREVIEW) and not self.is_at_work:
            self.reload()

    def _hints(self) -> Iterator[KeyHint]:
        """Yield the keys of the current step."""
        acts = {act.name: act for act in self.acts()}
        labels = {"stop": "stop"} if self.is_at_work else dict(self.page.LABELS)
        if self.step == PREVIEW and not self.is_at_work:
            needed = {"unlock": self.preview.refused is not None and self._is_locked(), "accept": self._is_unproven()}
            labels = {**{name: acts[name].label for name, is_needed in needed.items() if is_needed}, **labels}
        for name, label in {**labels, "help": "help", "back": "back"}.items():
            act = acts[name]
            yield KeyHint(act.key_text, label, f"screen.act('{name}')", self.refusal(act) is not None)

    # Steps ------------------------------------------------------------------------------------------------------

    def go(self, step: int, *, look: bool = True) -> None:
        """Show another step; `look`: load its content."""
        self.step = step
        if step == PREVIEW:
            self.preview.forget()
        self.query_one(ContentSwitcher).current = self.page.id
        self.query_one(WizardSteps).go(step)
        self.page.focus_first()
        self.refresh_bars()
        if look:
            self.reload()

    def go_on(self) -> None:
        self.preview.say_trouble()
        self.go(self.step + 1)

    def tell(self, progress: CommandProgress) -> None:
        """Show the progress of a command."""
        if not self.is_mounted:
            return
        if self.is_at_work:
            self.run.tell(progress)
        elif self.step == PREVIEW and self.preview.plan is None:
            self.preview.say("head", f"{progress.text}... Nothing is written yet.")

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        if self.is_at_work:
            return None if act in _WHILE_AT_WORK else AT_WORK
        if act == "stop":
            return "no restore is running"
        if self.step not in _ONLY_IN.get(act, range(4)):
            return f"available only in the step {' or '.join(self._pages[step].STEP for step in _ONLY_IN[act])}"
        if act == "unlock" and not self._is_locked():
            return "your key is already unlocked"
        if act == "accept" and not self._is_unproven():
            return "the sequence has a valid signature, so there is nothing to accept"
        if act == "undo" and self.run.done is not None and not self.run.done.undo:
            return "the restore replaced nothing, so there is nothing to undo"
        return self.page.why_not(act) if self.is_mounted else None

    def _is_locked(self) -> bool:
        refused, status = self.preview.refused, self.lifeboat.status
        state = "ok" if status is None else status.key.state
        return (refused is not None and refused.code in LOCKED) or state == "needs_key"

    def _is_unproven(self) -> bool:
        if self.wanted.accept_unsigned:
            return False
        plan, refused = self.preview.plan, self.preview.refused
        return (plan is not None and not plan.is_signed) or (refused is not None and refused.code in UNPROVEN)

    @on(Button.Pressed)
    async def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "restore":
            await self.action_act("run")
        elif event.button.id in ("cancel", "close"):
            self.leave()

    def do_open(self) -> None:
        table = self.page.query(RowTable).first()
        if table.current is not None:
            self.attempt(self.page.open_row(table.current.key))

    def do_go_on(self) -> None:
        row = self.point.table.current
        if self.step == POINT and row is not None:
            self.attempt(self.point.open_row(row.key))
        else:
            self.go_on()

    def do_back(self) -> None:
        """Clear a filter if one is set; otherwise go one step back; from the first step and after the restore close the
        wizard."""
        if any([listing.clear_filter() for listing in self.query(FilteredTable)]):
            return
        if self.step == RUN and self.run.done is None:
            self.go(PREVIEW)
        elif self.step in (POINT, RUN):
            self.leave()
        else:
            self.preview.say_trouble()
            self.go(self.step - 1)

    def do_time(self) -> None:
        self.attempt(self.point.type_time())

    def do_source(self) -> None:
        self.attempt(self.point.choose_source())

    def do_credentials(self) -> None:
        self.what.switch_credentials(self.preview.plan if self.step == PREVIEW else None)
        if self.step == PREVIEW:
            self.go(PREVIEW)

    def do_receipt(self) -> None:
        done = self.run.done
        if done is not None:
            self.app.push_screen(RestoreReceiptScreen(done))

    def do_copy(self) -> None:
        """Copy the remaining command under the cursor, or the command of the current step."""
        command = self.run.command_under_cursor() if self.step == RUN else None
        if command is None:
            super().do_copy()
            return
        self.app.copy_to_clipboard(command)
        self.tell_user(f"Copied: {command}")

    @attempted
    async def do_unlock(self) -> None:
        if await self._unlock_key():
            self.lifeboat.ask_status()
            self.go(self.step)

    async def _unlock_key(self) -> bool:
        """Ask for the passphrase and unlock the key for a while. Returns False if the user cancels."""
        question = TextDialog(
            "Passphrase of your key",
            ["The passphrase unlocks your key for 30 minutes, so that credentials can be restored."],
            secret=True,
        )
        typed = await self.answer(question)
        if not typed:
            return False
        await self.ask("keys", "unlock", "--for", "30m", "--passphrase-stdin", text=f"{typed}\n")
        return True

    @attempted
    async def do_accept(self) -> None:
        if await self._ask_to_accept():
            self.go(PREVIEW)

    async def _ask_to_accept(self) -> bool:
        """Show what could run, and ask to accept an unsigned state. Credentials are never written into such a state."""
        plan = self.preview.plan
        lines = [
            "This sequence has no signature by a key that you trust, so a person or a program may have changed it.",
            *list_hazards(plan),
        ]
        question = ConfirmDialog("Restore this sequence anyway?", lines, yes="Take it", phrase=ACCEPT_PHRASE)
        if not await self.answer(question):
            return False
        seen = None if plan is None else plan.seen
        self.wanted = replace(self.wanted, accept_unsigned=True, with_credentials=None, seen=seen)
        return True

    # Running the restore ----------------------------------------------------------------------------------------

    @attempted
    async def do_run(self) -> None:
        plan = self.preview.plan
        if plan is None:
            return
        is_accepted = plan.is_signed or (self.wanted.accept_unsigned and self.wanted.seen == plan.seen)
        if not is_accepted and not await self._ask_to_accept():
            return
        self.preview.say_trouble()
        self.start(f"Restoring {self.agent_label}", build_restore_command(self.wanted, dry_run=False))

    @attempted
    async def do_undo(self) -> None:
        lines = [
            f"The files that the last restore of {self.agent_label} wrote will be removed, and the previous files "
            "will return.",
            f"The current files are captured before that and kept for {KEPT}.",
        ]
        if await self.answer(ConfirmDialog("Undo the last restore?", lines, yes="Undo")):
            self.start("Undoing the last restore", ("undo", self.wanted.agent))

    def start(self, doing: str, command: tuple[str, ...]) -> None:
        """Run a writing command on the last page. A second call while one runs does nothing."""
        if self.is_at_work:
            return
        self.workers.cancel_group(self, "load")
        self.is_at_work, self._command = True, command
        self.go(RUN, look=False)
        self.run.start(doing)
        self.refresh_bars()
        self.carry_out(command)

    def do_stop(self) -> None:
        self.tell_user("Stopping when the current step is complete...")
        self.workers.cancel_group(self, "run")

    @work(exclusive=True, group="run", exit_on_error=False)
    async def carry_out(self, command: tuple[str, ...]) -> None:
        """Run the command and show the result, whether it succeeds, fails or is stopped."""
        try:
            self._before = await self._read_restore_log()
            done = await self.fetch(Done, *command, tell=self.tell)
        except LifeboatError as error:
            self._end_work()
            self._handle_failure(error)
        except asyncio.CancelledError:
            if self.is_mounted and self.app.is_running:
                self._end_work()
                self.find_out_result(None)
            raise
        else:
            self._end_work()
            self.query_one(WizardSteps).go(len(self._pages))
            self.run.say_done(done)
            self.refresh_bars()

    def _end_work(self) -> None:
        self.is_at_work = False
        self.lifeboat.ask_status()
        self.refresh_bars()

    def _handle_failure(self, error: LifeboatError) -> None:
        if error.code in UNCERTAIN:
            self.find_out_result(error)
        elif error.code in LOCKED | UNPROVEN or error.code in ("moved_elsewhere", "target_changed"):
            self.attempt(self._resolve_error(error))
        else:
            self._say_trouble(error)

    def _say_trouble(self, error: LifeboatError) -> None:
        """Show a failure with a new preview, or on the last page if the command was `undo`."""
        if self._command[0] == "undo":
            self.run.say_outcome(*(("error", line) for line in describe_trouble(error)))
            self.refresh_bars()
            return
        self.preview.say_trouble(*describe_trouble(error))
        self.go(PREVIEW)

    async def _resolve_error(self, error: LifeboatError) -> None:
        """Ask the user to accept or unlock what caused the error, then run the command again."""
        is_undo = self._command[0] == "undo"
        if is_undo and error.code == "target_changed" and "--force" not in self._command:
            is_overcome = await self._ask_to_force(error)
        elif error.code == "moved_elsewhere":
            is_overcome = await self._ask_takeover(error)
        elif error.code in UNPROVEN:
            is_overcome = not self.wanted.accept_unsigned and await self._ask_to_accept()
        else:
            is_overcome = error.code in LOCKED and await self._unlock_key()
        if not is_overcome:
            self._say_trouble(error)
        elif is_undo:
            self.start("Undoing the last restore", (*self._command, *["--force"] * (error.code == "target_changed")))
        else:
            self.start(f"Restoring {self.agent_label}", build_restore_command(self.wanted, dry_run=False))

    async def _ask_to_force(self, error: LifeboatError) -> bool:
        lines = [
            f"{error.message}.",
            f"Lifeboat moves files that changed after the restore into another folder and keeps them for {KEPT}.",
        ]
        question = ConfirmDialog("Undo the restore anyway?", lines, yes="Undo", dangerous=True)
        return await self.answer(question) or False

    async def _ask_takeover(self, error: LifeboatError) -> bool:
        """Ask for the name of the machine that wrote last, to confirm that this one takes over."""
        remote = self.wanted.remote
        if remote is None:
            return False
        there = (await self.fetch(There, "agents", "list", "--remote", remote)).agents
        machine = next((one.machine for one in there if self.wanted.agent in (one.id, one.name)), "")
        if not machine or not await self.answer(build_takeover_dialog(error, machine)):
            return False
        self.wanted = replace(self.wanted, take_over=machine)
        return True

    # The result -------------------------------------------------------------------------------------------------

    async def _read_restore_log(self) -> tuple[Entry, ...] | None:
        """Return the log entries of restores, None if the log cannot be read."""
        try:
            kinds = ("--kind", "restore", "--kind", "undo")
            return (await self.fetch(Log, "log", self.wanted.agent, *kinds, "--limit", "5")).entries
        except LifeboatError:
            return None

    @work(exclusive=True, group="look", exit_on_error=False)
    async def find_out_result(self, error: LifeboatError | None) -> None:
        """Find out from the log whether a restore was done that was stopped or ended without an answer."""
        self.run.say_outcome("Checking the result...")
        before, after = self._before, await self._read_restore_log()
        new = [] if before is None or after is None else [each for each in after if each not in before]
        if new:
            lines = ["The restore finished before it could be stopped:", new[0].text, "Press u to undo the restore."]
        elif error is None or error.code == "cancelled":
            lines = ["The restore was stopped before it changed anything.", "Press esc to return to the preview."]
        else:
            lines = [
                *describe_trouble(error),
                ALL_OR_NOTHING,
                "Press esc for a new preview that shows the current state.",
            ]
        self.run.say_outcome(*(("warning" if at == 0 else "", line) for at, line in enumerate(lines)))
        self.refresh_bars()
