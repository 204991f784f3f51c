"""Screen of the agents on a remote: restore one here, or make this machine its writer."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.documents import decode_document
from lifeboat_core.documents.remote_documents import Adoption, Away, There
from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.screens.command_screen import CommandScreen
from lifeboat_tui.screens.lifeboat_screen import FILTER, attempted
from lifeboat_tui.screens.remotes.remote_lines import (
    AWAY_COLUMNS,
    build_remote_agent_row,
    describe_adoption,
    describe_remote_agent,
)
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.command_progress import OutcomeScreen
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import ConfirmDialog
from lifeboat_tui.widgets.row_table import RowTable


class RemoteAgentsScreen(CommandScreen):
    NAME = "Remote agents"
    ENTER = "restore"
    ACTS = (
        UserAction("restore", "r", "restore", "Restore the agent from this remote, with its credentials", footer=True),
        UserAction(
            "adopt",
            "A",
            "adopt",
            "Make this machine the writer of the agent, after a preview of the changes",
            footer=True,
            writes=True,
        ),
        FILTER,
    )
    HELP = """
The agents on this remote. If an agent is not on this machine, you can restore it. If another machine writes an agent
that is also here, you can adopt the agent: the workspace on this machine becomes the agent's next sequence, and the
other machine can no longer push.
"""
    CSS = """
    RemoteAgentsScreen #away { height: 1fr; min-height: 5; max-height: 75%; }
    RemoteAgentsScreen #detail { height: 1fr; min-height: 6; border: round $secondary; padding: 0 1; }
    """

    def __init__(self, remote: str) -> None:
        super().__init__()
        self._remote = remote
        self._agents: tuple[Away, ...] = ()

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        asking = f"Loading the agents on {self._remote}..."
        yield FilteredTable(
            AWAY_COLUMNS, title=f"Agents on the remote {self._remote}", empty=asking, glyphs=self.glyphs, id="away"
        )
        with VerticalScroll(id="detail", can_focus=False):
            yield Static("", id="detail-text", markup=False)

    def twin(self) -> tuple[str, ...]:
        return ("agents", "list", "--remote", self._remote)

    def crumbs(self) -> tuple[str, ...]:
        return ("lifeboat", "remotes", self._remote)

    async def load(self) -> None:
        self._agents = (await self.fetch(There, *self.twin())).agents
        self.table.empty = (
            f"The remote {make_plain(self._remote)} contains no agent yet. Press esc and then s to push your agents."
        )
        self._show()

    def handle_event(self, event: JsonObject) -> None:
        if event.get("event") == "tick":
            self._show()

    def _show(self) -> None:
        if self.is_mounted:
            now = self.link.now()
            self.table.show([build_remote_agent_row(one, now) for one in self._agents])
            self.fit_table(len(self._agents))
            self._show_detail()

    @property
    def chosen(self) -> Away | None:
        return next((one for one in self._agents if one.id == self.row_key), None)

    @on(RowTable.Moved, "#away-table")
    def _show_detail(self) -> None:
        one = self.chosen
        lines = [] if one is None else list(describe_remote_agent(one, self.link.now()))
        self.query_one("#detail-text", Static).update("\n".join(make_plain(line) for line in lines))
        self.refresh_bars()

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        one = self.chosen
        if act in ("restore", "adopt") and one is None:
            return "this remote contains no agent"
        if act in ("restore", "adopt") and one is not None and one.sequence is None:
            return "the remote contains no sequence of this agent yet"
        if act == "adopt" and one is not None and one.here is None:
            return "this agent is not on this machine; press r to restore it"
        return None

    def do_restore(self) -> None:
        from lifeboat_tui.screens.restore.restore_wizard import RestoreWizard

        one = self.chosen
        assert one is not None
        self.app.push_screen(RestoreWizard(one.id, remote=self._remote))

    @attempted
    async def do_adopt(self) -> None:
        """Show the changes of an adoption, have the name of the current machine typed, and adopt."""
        one = self.chosen
        assert one is not None
        adopt = ("agents", "adopt", one.id, "--from", self._remote)
        said = await self.carry_out(f"Comparing {one.here} with the remote", *adopt, "--dry-run")
        found = decode_document(Adoption, said.document)
        phrase = found.take_over or one.here or one.id
        lines = [*describe_adoption(found, self.link.now()), *said.notes]
        if not await self.answer(
            ConfirmDialog(f"Make this machine the writer of {one.here}?", lines, yes="Adopt", phrase=phrase)
        ):
            return
        take_over = ("--take-over", found.take_over) if found.take_over else ()
        said = await self.carry_out(f"Making this machine the writer of {one.here}", *adopt, *take_over, "--yes")
        self.lifeboat.ask_status()
        missed: dict[str, str] = said.document.get("missed") or {}
        left = [
            *(f"The remote {name} does not have the new sequence yet: {why}" for name, why in missed.items()),
            *(f"Note: {text}" for text in said.document.get("warnings") or ()),
        ]
        if said.document.get("aside"):
            left.append("The history that this machine had before is kept for 90 days.")
        await self.answer(
            OutcomeScreen(
                f"This machine is now the writer of {one.here}", [*left, "Press s to capture and push it now."]
            )
        )
