"""Screen of the remotes: the state of each, its agents, and the actions on it."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.documents import decode_document
from lifeboat_core.documents.receipt_documents import Listed, Receipts
from lifeboat_core.documents.remote_documents import Met, Removed, SecondCopies, SecondCopy, Tried
from lifeboat_core.texts.human_text import count_text
from lifeboat_tui.screens.command_screen import CommandScreen
from lifeboat_tui.screens.lifeboat_screen import FILTER, attempted
from lifeboat_tui.screens.remotes.add_remote_dialog import AddRemoteDialog
from lifeboat_tui.screens.remotes.remote_lines import (
    COLUMNS,
    build_remote_row,
    describe_checks,
    describe_probed_remote,
    describe_remote,
    find_waiting_vault,
)
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.command_progress import OutcomeScreen
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import ChoiceDialog, ConfirmDialog, TextDialog, require_text
from lifeboat_tui.widgets.row_table import RowTable

NOBODY = (
    "You have no remote. If this disk fails, your agents are lost.\n"
    "Press a to add a remote: a folder on a USB stick or a network share, or a server on another "
    "machine (lifeboat endpoint serve)."
)
REVOKE, KEEP = "revoke", "keep"
OF_ONE = frozenset({"open", "test", "token", "remove"})


class RemotesScreen(CommandScreen):
    NAME = "Remotes"
    ENTER = "open"
    ACTS = (
        UserAction("add", "a", "add", "Add a remote", footer=True),
        UserAction(
            "open",
            "enter",
            "agents",
            "Show the agents on this remote, to restore or adopt one",
            footer=True,
        ),
        UserAction(
            "test",
            "t",
            "test",
            "Test whether this remote works correctly (conformance checks)",
            footer=True,
            writes=True,
        ),
        UserAction(
            "sync",
            "s",
            "sync",
            "Capture all agents now and push them to all remotes",
            footer=True,
            writes=True,
        ),
        UserAction("token", "T", "new token", "Replace the token with which this machine uses the remote", writes=True),
        UserAction(
            "remove", "x", "remove", "Remove the remote, so that nothing is pushed to it any longer", writes=True
        ),
        UserAction("purges", "p", "purges", "Show the purges that wait on this remote, and their receipts"),
        FILTER,
    )
    HELP = """
If this disk is lost, you can restore your agents from a remote: an endpoint (a server on another machine), or a folder
on a USB stick or a network share. Captures are pushed to all remotes and read back there.

READABLE BY shows who can read your agents on the remote; details are below. Credentials are always encrypted for your
key.
"""
    CSS = """
    RemotesScreen #copies { height: 1fr; min-height: 4; max-height: 50%; }
    RemotesScreen #detail { height: 1fr; min-height: 7; border: round $secondary; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._copies: tuple[SecondCopy, ...] = ()
        self._receipts: tuple[Listed, ...] = ()

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield FilteredTable(COLUMNS, title="Remotes", empty=NOBODY, glyphs=self.glyphs, id="copies")
        with VerticalScroll(id="detail", can_focus=False):
            yield Static("", id="detail-text")

    def twin(self) -> tuple[str, ...]:
        return ("remote", "list")

    async def load(self) -> None:
        self._copies = (await self.fetch(SecondCopies, "remote", "list")).remotes
        self._show()
        self._receipts = (await self.fetch(Receipts, "receipts", "list")).receipts
        self._show_detail()

    def handle_event(self, event: JsonObject) -> None:
        if event.get("event") == "tick":
            self._show()
        elif event.get("event") in ("push", "agent", "gone", "notice"):
            self.look_again()

    def _show(self) -> None:
        if self.is_mounted:
            now = self.link.now()
            self.table.show([build_remote_row(one, self.glyphs, now) for one in self._copies], flash=True)
            self.fit_table(len(self._copies))
            self._show_detail()

    @property
    def chosen(self) -> SecondCopy | None:
        """Return the remote under the cursor."""
        return next((one for one in self._copies if one.name == self.row_key), None)

    @property
    def waiting(self) -> list[Listed]:
        """Return the purges that are pending on the remote under the cursor."""
        one = self.chosen
        return (
            [] if one is None else [each for each in self._receipts if find_waiting_vault(each, one.name) is not None]
        )

    @on(RowTable.Moved, "#copies-table")
    def _show_detail(self) -> None:
        one = self.chosen
        lines = () if one is None else describe_remote(one, self.waiting, self.glyphs, self.link.now())
        self.describe(lines, title="" if one is None else one.name)
        self.refresh_bars()

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        one = self.chosen
        if act in OF_ONE and one is None:
            return "there is no remote yet; press a to add one"
        if act in ("open", "test", "token") and one is not None and one.problem:
            return "the configuration of this remote cannot be used; press x to remove the remote"
        if act == "token" and one is not None and not one.needs_token:
            return f"this remote is a {one.kind}, which needs no token"
        if act == "purges" and not self.waiting:
            return "no purge is waiting on this remote"
        return None

    def do_open(self) -> None:
        from lifeboat_tui.screens.remotes.remote_agents_screen import RemoteAgentsScreen

        one = self.chosen
        assert one is not None
        self.app.push_screen(RemoteAgentsScreen(one.name))

    def do_purges(self) -> None:
        from lifeboat_tui.screens.purge.receipts_screen import ReceiptsScreen as ReceiptsScreen

        self.app.push_screen(ReceiptsScreen())

    @attempted
    async def do_add(self) -> None:
        met = await self.answer(AddRemoteDialog(self.link, may_add=not self.lifeboat.is_readonly))
        if met is None:
            return
        self.reload()
        question = ConfirmDialog(
            f"{met.name} is now a remote of your agents",
            [met.readable, "", "Push all agents to the new remote now?"],
            yes="Sync",
        )
        if await self.answer(question):
            await self._sync()

    def do_sync(self) -> None:
        self.attempt(self._sync())

    async def _sync(self) -> None:
        said = await self.carry_out("Syncing all agents to all remotes", "sync")
        agents: list[JsonObject] = said.document.get("agents", [])
        behind = sum(any(each.get("state") != "ok" for each in one.get("remotes", [])) for one in agents)
        done = f"{count_text(len(agents), 'agent')} captured and pushed"
        self.tell_user(f"{done}; {behind} not yet on all remotes" if behind else done)
        self.lifeboat.ask_status()

    @attempted
    async def do_test(self) -> None:
        one = self.chosen
        assert one is not None
        said = await self.carry_out(f"Testing {one.name}", "remote", "test", one.name)
        tried = decode_document(Tried, said.document)
        failed = sum(not check.ok for check in tried.checks)
        title = (
            f"The remote {one.name} failed {failed} of {count_text(len(tried.checks), 'check')}"
            if failed
            else f"The remote {one.name} passed all checks ({count_text(len(tried.checks), 'check')})"
        )
        await self.answer(OutcomeScreen(title, list(describe_checks(tried, self.glyphs))))

    @attempted
    async def do_token(self) -> None:
        one = self.chosen
        assert one is not None
        lines = [
            "The new token is tested before it replaces the old token. The old token stays valid until you revoke "
            "it on the endpoint."
        ]
        token = await self.answer(
            TextDialog(
                f"New token for {one.name}",
                lines,
                secret=True,
                yes="Replace",
                problem=require_text("type or paste the token"),
            )
        )
        if token is not None:
            said = await self.carry_out(
                "Testing the token", "remote", "token", one.name, "--token-stdin", text=f"{token}\n"
            )
            ends = list(describe_probed_remote(decode_document(Met, said.document)))[2:]
            self.tell_user(" ".join([f"The remote {one.name} accepts the new token.", *ends]))

    @attempted
    async def do_remove(self) -> None:
        one = self.chosen
        assert one is not None
        words = ["remote", "remove", one.name, "--yes"]
        if one.has_token:
            choices = [
                (REVOKE, "Revoke this machine's token on the endpoint"),
                (KEEP, "Keep the token, because another machine uses it too"),
            ]
            chosen = await self.answer(ChoiceDialog(f"Should the token for {one.name} be revoked?", choices))
            if chosen is None:
                return
            words += ["--keep-token"] if chosen == KEEP else []
        left = sum(not other.problem for other in self._copies) - 1
        lines = [
            f"Lifeboat will stop pushing to {one.name} and remove its configuration from this machine.",
            "The copies on the remote stay. You can add the remote again later.",
            *([] if left else ["This is the last remote. Without it, your agents are only on this disk."]),
        ]
        if await self.answer(ConfirmDialog(f"Remove {one.name}?", lines, yes="Remove", phrase=one.name)):
            said = await self.ask(*words)
            revoked = decode_document(Removed, said.document).token_revoked
            told = f"Removed {one.name}.{' Its token was revoked.' if revoked else ''}"
            self.tell_user(" ".join([told, *said.notes]))
            self.lifeboat.ask_status()
