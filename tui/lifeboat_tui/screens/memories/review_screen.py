"""Review screen: what the agent changed in its memories since the user last looked."""

from __future__ import annotations

from collections.abc import Iterator

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.documents.review_documents import Changed, Inbox
from lifeboat_core.texts.human_text import count_text, snippet_text
from lifeboat_tui.cell_text import format_local_time, format_size, make_plain
from lifeboat_tui.screens.agent_screen import AgentScreen
from lifeboat_tui.screens.lifeboat_screen import FILTER, attempted
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import ConfirmDialog, TextDialog
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableColumn, TableRow

LIMIT = 500
MOST_LINES = 200
"""Lines of each text that are shown."""
COLUMNS = (
    TableColumn("WHEN", 16, rank=2),
    TableColumn("WHAT", 7),
    TableColumn("FILE", 16, grow=1, rank=3),
    TableColumn("MARKS", 13, grow=1, rank=1),
    TableColumn("MEMORY", 24, grow=4),
)
NOTHING = "No change waits for a review."
_ABOUT_ONE = frozenset(("approve", "undo", "label", "open"))
_STYLES = {"created": "success", "updated": "strong", "deleted": "warning"}


class ReviewScreen(AgentScreen):
    NAME = "Review"
    ENTER = "open"
    ACTS = (
        UserAction("approve", "a", "approve", "Approve this change: it is not shown again", footer=True, writes=True),
        UserAction(
            "undo",
            "u",
            "undo",
            "Write the text before this change into the live file; the state before is kept",
            footer=True,
            writes=True,
        ),
        UserAction("open", "enter", "full diff", "Show all changes of the file since you last looked", footer=True),
        UserAction(
            "all", "A", "approve all", "Approve every change that is known to this screen", footer=True, writes=True
        ),
        UserAction("label", "t", "name", "Name the sequence of this change, so that it is kept", writes=True),
        FILTER,
    )
    HELP = """
Memories whose text changed since you last looked, newest first, with the text before and after. A mark is only a
hint that a change deserves a look. A change without marks can be wrong, too.

Approved changes are not shown again; nothing else happens to them. Press u to write the former text of a memory back
into its file in the workspace.
"""
    CSS = """
    ReviewScreen #changes { height: 1fr; }
    ReviewScreen #detail { height: 45%; border: round $secondary; padding: 0 1; }
    ReviewScreen #detail:focus { border: round $border; }
    """

    def __init__(self, agent_id: str) -> None:
        super().__init__(agent_id)
        self._inbox = Inbox()
        self._changes: dict[str, Changed] = {}

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield FilteredTable(COLUMNS, title="Changes", empty="Looking...", glyphs=self.glyphs, id="changes")
        with VerticalScroll(id="detail"):
            yield Static("", id="detail-text", markup=False)

    def on_mount(self) -> None:
        self.table.focus()

    def twin(self) -> tuple[str, ...]:
        return ("review", self.agent_name)

    async def load(self) -> None:
        self._inbox = await self.fetch(Inbox, "review", self.agent_id, "--limit", str(LIMIT))
        self._changes = {change.id: change for change in self._inbox.changes}
        self.table.empty = NOTHING
        self.table.title = self._title()
        self.table.show([_row(change) for change in self._inbox.changes])
        self._show_detail()

    def handle_event(self, event: JsonObject) -> None:
        if event.get("event") == "capture" and event.get("agent") == self.agent_id:
            self.reload()

    def _title(self) -> str:
        shown, total = len(self._inbox.changes), self._inbox.total
        return f"Changes, the newest {shown} of {total}" if self._inbox.truncated else count_text(total, "change")

    @property
    def chosen(self) -> Changed | None:
        """Return the change under the cursor."""
        return self._changes.get(self.row_key or "")

    @on(RowTable.Moved, "#changes-table")
    def _moved(self) -> None:
        self._show_detail()
        self.refresh_bars()

    def _show_detail(self) -> None:
        change = self.chosen
        self.describe(() if change is None else _detail(change), title="" if change is None else change.id)

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        if act in _ABOUT_ONE and self.chosen is None:
            return "select a change first"
        if act == "all" and self._until is None:
            return "no change waits for a review"
        return None

    @property
    def _until(self) -> int | None:
        """Return the newest sequence that this screen knows: what came later was not seen."""
        return self._inbox.agents[0].until if self._inbox.agents and self._inbox.total else None

    @attempted
    async def do_approve(self) -> None:
        change = self.chosen
        assert change is not None
        words = ("--approve", change.id, "--until", str(change.sequence))
        await self.ask("review", self.agent_id, *words)
        self.tell_user("Change approved.")
        self.reload()

    @attempted
    async def do_all(self) -> None:
        """Approve everything up to the newest sequence that is shown."""
        until, total = self._until, self._inbox.total
        question = ConfirmDialog(
            f"Approve {count_text(total, 'change')}?",
            ["Approved changes are not shown again. Changes that were captured later stay here."],
            yes="Approve",
        )
        if await self.answer(question):
            await self.ask("review", self.agent_id, "--approve-all", "--until", str(until))
            self.tell_user(f"{count_text(total, 'change')} approved.")
            self.reload()

    @attempted
    async def do_undo(self) -> None:
        change = self.chosen
        assert change is not None
        question = ConfirmDialog(
            "Undo this change?",
            [
                f"Lifeboat captures the workspace, and then writes the text before the change into "
                f"{change.origin_file or 'the file'}. Nothing else in the file changes."
            ],
            yes="Undo",
        )
        if await self.answer(question):
            await self.ask("review", self.agent_id, "--undo", change.id)
            self.tell_user("Change undone.")
            self.reload()

    @attempted
    async def do_label(self) -> None:
        change = self.chosen
        assert change is not None
        lines = ["Old sequences are removed after some time, but this machine keeps named ones."]
        question = TextDialog(f"Name for sequence {change.sequence}", lines, placeholder="before the clean-up")
        name = await self.answer(question)
        if name is not None and name.strip():
            await self.ask("label", self.agent_id, str(change.sequence), name.strip())
            self.tell_user(f"Sequence {change.sequence} is now named: {name.strip()}")

    def do_open(self) -> None:
        from lifeboat_tui.screens.timeline.diff_screen import DiffScreen

        change, agent = self.chosen, self._inbox.agents[0]
        assert change is not None
        # Both ends are kept sequences. The one right before a change may have been removed as an old sequence.
        path = change.origin_file or None
        self.app.push_screen(DiffScreen(self.agent_id, str(agent.base), str(agent.until), path=path))


def _row(change: Changed) -> TableRow:
    marks = ", ".join(mark.kind for mark in change.marks)
    what = TableCell(change.operation, _STYLES.get(change.operation, "strong"))
    text = snippet_text(change.before or "" if change.after is None else change.after)
    return TableRow(
        change.id, (format_local_time(change.time), what, change.origin_file, TableCell(marks, "warning"), text)
    )


def _detail(change: Changed) -> Iterator[Content]:
    origin = f"sequence {change.sequence}, {format_local_time(change.time)}, {format_size(change.bytes)}"
    session = f", session {change.session}" if change.session else ""
    yield Content(make_plain(f"{change.operation} in {change.origin_file or 'no file'}: {origin}{session}"))
    for mark in change.marks:
        quote = f': "{mark.quote}"' if mark.quote else ""
        other = f" (memory {mark.other})" if mark.other else ""
        yield Content.styled(make_plain(f"! {mark.kind}{quote}{other}"), "$text-warning")
    for sign, text, style in (("-", change.before, "$text-error"), ("+", change.after, "$text-success")):
        lines = (text or "").rstrip("\n").split("\n") if text else []
        for line in lines[:MOST_LINES]:
            yield Content.styled(make_plain(f"{sign} {line}"), style)
        if len(lines) > MOST_LINES:
            yield Content(f"  ({count_text(len(lines) - MOST_LINES, 'more line')})")
