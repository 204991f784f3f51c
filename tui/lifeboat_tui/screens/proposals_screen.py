"""Proposals screen: what an agent asks for, what it would change, and the user's decision."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from textual import on, work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents import decode_document
from lifeboat_core.documents.proposal_documents import Listed, Previewed, Proposed
from lifeboat_core.texts.human_text import count_text
from lifeboat_core.texts.proposal_text import describe_request
from lifeboat_tui.cell_text import format_local_time, make_plain
from lifeboat_tui.screens.agent_screen import AgentScreen
from lifeboat_tui.screens.lifeboat_screen import FILTER, attempted, format_problem
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import ConfirmDialog
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableColumn, TableRow

MOST_LINES = 200
"""Lines of each text that are shown."""
REST = 0.08
"""Seconds that the cursor must rest on a proposal before its preview is loaded."""
COLUMNS = (
    TableColumn("NUMBER", 6, right=True),
    TableColumn("MADE", 16, rank=2),
    TableColumn("KIND", 14, rank=1),
    TableColumn("WHAT", 24, grow=3),
    TableColumn("REASON GIVEN BY THE AGENT", 25, grow=2, rank=3),
)
NOTHING = "The agent has no open proposals."
LABEL = "label"
_ABOUT_ONE = frozenset(("accept", "reject"))
_STYLES = {"-": "$text-error", "+": "$text-success"}


@dataclass(frozen=True, slots=True)
class ProposalPreview:
    """What accepting a proposal would change, or the lines that say why it is not possible (`refusal`)."""

    change: JsonObject | None = None
    refusal: tuple[str, ...] = ()


class ProposalsScreen(AgentScreen):
    NAME = "Proposals"
    ACTS = (
        UserAction(
            "accept",
            "a",
            "accept",
            "Carry out this proposal after a confirmation; the workspace is captured first",
            footer=True,
            writes=True,
        ),
        UserAction("reject", "r", "reject", "Close this proposal; nothing changes", footer=True, writes=True),
        FILTER,
    )
    HELP = """
Open proposals of the agent, which it made through `lifeboat mcp`. Nothing happens before you accept one; an open
proposal expires after seven days. Below the list is what the selected one would change.

The agent chose the reason, and a memory may have dictated it. Look at the change, not at the reason. u on the dashboard
undoes a restored file.
"""
    CSS = """
    ProposalsScreen #proposals { height: 1fr; }
    ProposalsScreen #detail { height: 60%; border: round $secondary; padding: 0 1; }
    ProposalsScreen #detail:focus { border: round $border; }
    """

    def __init__(self, agent_id: str) -> None:
        super().__init__(agent_id)
        self._proposals: dict[str, Proposed] = {}
        self._previews: dict[str, ProposalPreview] = {}
        self._known: tuple[int, int] | None = None
        self._is_deciding = False

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield FilteredTable(COLUMNS, title="Proposals", empty="Looking...", glyphs=self.glyphs, id="proposals")
        with VerticalScroll(id="detail"):
            yield Static("", id="detail-text", markup=False)

    def on_mount(self) -> None:
        self.table.focus()

    def twin(self) -> tuple[str, ...]:
        return ("proposals", "list", self.agent_name)

    async def load(self) -> None:
        self._known = self._counted
        found = (await self.fetch(Listed, "proposals", "list", self.agent_id)).proposals
        self._proposals = {str(one.number): one for one in found}
        self._previews = {}
        self.table.empty = NOTHING
        self.table.title = count_text(len(found), "open proposal")
        self.table.show([_row(one) for one in found])
        self.follow_cursor()

    def handle_event(self, event: JsonObject) -> None:
        """Load again after a capture, which can change the previews, and when the status counts other proposals."""
        is_captured = event.get("event") == "capture" and event.get("agent") == self.agent_id
        if is_captured or (event.get("event") == "status" and self._counted != self._known):
            self.reload()

    @property
    def _counted(self) -> tuple[int, int] | None:
        """Return the number of open proposals, and the newest one, as the status knows them."""
        agent = self.lifeboat.find_agent(self.agent_id)
        return None if agent is None else (agent.proposals, agent.newest_proposal)

    @property
    def chosen(self) -> Proposed | None:
        """Return the proposal under the cursor."""
        return self._proposals.get(self.row_key or "")

    @on(RowTable.Moved, "#proposals-table")
    def _moved(self) -> None:
        self.refresh_bars()
        self.follow_cursor()

    @work(exclusive=True, group="detail", exit_on_error=False)
    async def follow_cursor(self) -> None:
        """Load what the proposal would change once the cursor rests on it."""
        one = self.chosen
        if one is None:
            self.describe((), title="")
            return
        key = str(one.number)
        if key not in self._previews:
            self._show_detail(one, None)
            await asyncio.sleep(REST)
            self._previews[key] = await self._load_preview(one)
        self._show_detail(one, self._previews[key])
        self.refresh_bars()

    async def _load_preview(self, one: Proposed) -> ProposalPreview:
        try:
            said = await self.ask("proposals", "show", self.agent_id, str(one.number))
            shown = decode_document(Previewed, said.document)
        except LifeboatError as error:
            return ProposalPreview(refusal=(format_problem(error),))
        if shown.state != "open":
            return ProposalPreview(refusal=(f"The proposal is {shown.state}.",))
        if shown.preview is None and shown.kind != LABEL:
            return ProposalPreview(refusal=said.notes or ("It cannot be carried out now.",))
        return ProposalPreview(shown.preview)

    def _show_detail(self, one: Proposed, preview: ProposalPreview | None) -> None:
        self.describe(_detail(one, preview), title=f"proposal {one.number}")

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        if act not in _ABOUT_ONE:
            return None
        if self.chosen is None:
            return "select a proposal first"
        if self._is_deciding:
            return "another proposal is being carried out"
        preview = self._previews.get(self.row_key or "")
        if act == "accept" and preview is None:
            return "what it would change is not loaded yet"
        if act == "accept" and preview is not None and preview.refusal:
            return "it cannot be carried out now; the reason is below the list"
        return None

    @attempted
    async def do_accept(self) -> None:
        one = self.chosen
        assert one is not None
        question = ConfirmDialog(
            f"Accept proposal {one.number}?",
            [
                f"It asks to {describe_request(one)}",
                "",
                "Lifeboat captures the workspace, and then does what the preview shows.",
            ],
            yes="Accept",
        )
        if await self.answer(question):
            self.tell_user(f"Carrying out proposal {one.number}...")
            done = await self._decide("accept", one, "--yes")
            self.tell_user(f"Proposal {one.number} was carried out (sequence {done.get('made_sequence')}).")

    @attempted
    async def do_reject(self) -> None:
        one = self.chosen
        assert one is not None
        await self._decide("reject", one)
        self.tell_user(f"Proposal {one.number} rejected. Nothing was changed.")

    async def _decide(self, decision: str, one: Proposed, *more: str) -> JsonObject:
        """Accept or reject a proposal and load the list again. A failed one is no longer open either."""
        self._is_deciding = True
        try:
            done = (await self.ask("proposals", decision, self.agent_id, str(one.number), *more)).document
        except LifeboatError:
            with contextlib.suppress(LifeboatError):
                await self.load()
            raise
        finally:
            self._is_deciding = False
        self.reload()
        self.lifeboat.ask_status()
        return done


def _row(one: Proposed) -> TableRow:
    made = format_local_time(one.made_at)
    what = TableCell(describe_request(one), "strong")
    kind = one.kind.replace("_", " ")
    return TableRow(str(one.number), (str(one.number), made, kind, what, TableCell(one.reason, "muted")))


def _detail(one: Proposed, preview: ProposalPreview | None) -> Iterator[Content]:
    yield Content.styled(make_plain(describe_request(one)), "bold")
    client = f'a client that calls itself "{one.client}"' if one.client else "a client without a name"
    yield Content(make_plain(f"made {format_local_time(one.made_at)} by {client}"))
    if one.reason:
        yield Content(make_plain(f'reason given by the agent: "{one.reason}"'))
    if preview is None:
        yield Content("Loading what it would change...")
    elif preview.refusal:
        for line in preview.refusal:
            yield Content.styled(make_plain(line), "$text-warning")
    elif preview.change is None:
        yield Content("Only the sequence gets this name. No file changes.")
    else:
        yield from _change_lines(preview.change)


def _change_lines(change: JsonObject) -> Iterator[Content]:
    """Yield what would change. A sign before each line of an agent's text shows that it is not Lifeboat's."""
    if "memory" in change:
        for title, sign, text in (("now", "-", change["now"]), ("then", "+", change["then"])):
            yield Content(f"The memory {title}:{' (deleted)' if text is None else ''}")
            yield from _text_lines([f"{sign} {line}" for line in (text or "").splitlines()])
        return
    yield Content(make_plain(f"{change['operation']} {change['path']}"))
    # The first two lines of a diff repeat the path.
    yield from _text_lines(str(change.get("diff", "")).split("\n")[2:])
    if change.get("cut"):
        yield Content("(the rest of the changes is omitted)")


def _text_lines(lines: list[str]) -> Iterator[Content]:
    for line in lines[:MOST_LINES]:
        yield Content.styled(f"  {make_plain(line)}", _STYLES.get(line[:1], ""))
    if len(lines) > MOST_LINES:
        yield Content(f"  ({count_text(len(lines) - MOST_LINES, 'more line')})")
