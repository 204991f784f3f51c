"""Screen of purge receipts: every purge with its state, and whether its receipt is valid."""

from __future__ import annotations

import os

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents import decode_document
from lifeboat_core.documents.receipt_documents import Audited, Listed, Shown
from lifeboat_core.documents.receipt_documents import Receipts as ReceiptList
from lifeboat_tui.cell_text import format_short_age, make_plain, protect_dashed_name
from lifeboat_tui.glyphs import STYLES
from lifeboat_tui.screens.lifeboat_screen import FILTER, attempted
from lifeboat_tui.screens.purge.painted_lines import paint_lines
from lifeboat_tui.screens.purge.purge_proof_texts import (
    Line,
    build_receipt_heading,
    describe_audit,
    describe_purge_state,
    describe_purged_items,
    describe_receipt,
    describe_receipt_findings,
)
from lifeboat_tui.screens.purge.receipt_actions import LET_IN, ReceiptActionsScreen, list_confirmable_vaults
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import TextDialog, require_text
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableColumn, TableRow

COLUMNS = (
    TableColumn("STANDS", 16, grow=2),
    TableColumn("AGENT", 12, grow=1),
    TableColumn("WHAT", 14, grow=1, rank=1),
    TableColumn("ASKED FOR", 10, rank=2),
    TableColumn("RECEIPT", 13, rank=3),
)
NOTHING = (
    "No purge has run yet. A purge destroys a text or a memory in the whole history; its receipt is listed here. "
    "To start a purge, press 1, then P. To verify a receipt in a file, press V."
)
_ID = 13
"""Number of characters of an id that distinguishes receipts."""


class ReceiptsScreen(ReceiptActionsScreen):
    NAME = "Receipts"
    ACTS = (
        UserAction(
            "audit",
            "a",
            "audit view",
            "Show details for an auditor: the signed record, hashes, and positions in the logs of the vaults",
            footer=True,
        ),
        UserAction(
            "export", "e", "export", "Write the receipt to a file that anyone can verify", footer=True, writes=True
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
            "kept_out", "x", "clean workspace", "Remove purged text that is still in the workspace", writes=True
        ),
        LET_IN,
        UserAction("check", "V", "verify a file", "Verify a receipt in a file", footer=True),
        FILTER,
    )
    HELP = """
Every purge has a receipt. It lists what each vault (copy of the agent) destroyed, which remotes are waiting, and what
Lifeboat cannot reach. Each vault signs its own part. The selected receipt is verified when it is shown. A receipt
contains no purged content.

An endpoint waits 24 hours before it purges; if its owner types the token with the scope purge, it purges immediately.
An exported receipt can be verified on any machine, offline.
"""
    CSS = """
    ReceiptsScreen #list { height: 1fr; min-height: 6; }
    ReceiptsScreen #below { height: 55%; min-height: 6; border: round $secondary; padding: 0 1; }
    ReceiptsScreen #below:focus { border: round $border; }
    ReceiptsScreen.-wide #parts { layout: horizontal; }
    ReceiptsScreen.-narrow #parts { layout: vertical; }
    ReceiptsScreen.-wide #list { width: 1fr; height: 1fr; }
    ReceiptsScreen.-wide #below { width: 1fr; height: 1fr; }
    ReceiptsScreen #detail { height: auto; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (130, "-wide")]

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, Listed] = {}
        self._shown: Shown | None = None
        self._is_audit = False

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        with Horizontal(id="parts"):
            yield FilteredTable(COLUMNS, title="Receipts", empty=NOTHING, glyphs=self.glyphs, id="list")
            with VerticalScroll(id="below", can_focus=True):
                yield Static("", id="detail")

    def twin(self) -> tuple[str, ...]:
        row = self.table.current
        if row is None:
            return ("receipts", "list")
        return ("receipts", "show", row.key, *(["--audit"] if self._is_audit else []))

    async def load(self) -> None:
        found = await self.fetch(ReceiptList, "receipts", "list")
        self._known = {each.id: each for each in found.receipts}
        newest = sorted(found.receipts, key=lambda each: each.requested_at or "", reverse=True)
        broken = [
            TableRow(
                each.id,
                (TableCell(f"{self.glyphs.sign('error')} damaged", "error"), each.message, "", "", each.id[:_ID]),
            )
            for each in found.damaged
        ]
        self.table.show([*broken, *map(self._row, newest)])
        self.follow_cursor()

    def handle_event(self, event: JsonObject) -> None:
        if event.get("event") in ("push", "notice", "gone"):
            self.reload()

    def _row(self, one: Listed) -> TableRow:
        state, said = describe_purge_state(one)
        return TableRow(
            one.id,
            (
                TableCell(f"{self.glyphs.sign(state)} {said}", STYLES[state]),
                TableCell(one.agent or one.agent_id[:_ID], "strong"),
                describe_purged_items(one),
                format_short_age(one.requested_at, self.link.now()),
                TableCell(one.id[:_ID], "muted"),
            ),
        )

    @on(RowTable.Moved, "#list-table")
    def _moved(self) -> None:
        self.follow_cursor()

    @work(exclusive=True, group="detail", exit_on_error=False)
    async def follow_cursor(self) -> None:
        """Verify the receipt under the cursor and show the result."""
        row = self.table.current
        self._shown = None
        if row is None or row.key not in self._known:
            self._say([("error", "This receipt cannot be read.")] if row is not None else [], "")
            return
        one = self._known[row.key]
        try:
            if self._is_audit:
                audited = await self.fetch(Audited, "receipts", "show", one.id, "--audit")
                self._say(list(describe_audit(audited)), "Details for an auditor")
            else:
                self._shown = await self.fetch(Shown, "receipts", "show", one.id)
                lines = [
                    *build_receipt_heading(self._shown.receipt, one.agent, self.link.now()),
                    *describe_receipt(self._shown),
                ]
                self._say(lines, "The receipt")
        except LifeboatError as error:
            self._say([("error", f"{error.title}: {error.message}")], "")
        self.refresh_bars()

    def _say(self, lines: list[Line], title: str) -> None:
        self.query_one("#below").border_title = title
        self.query_one("#detail", Static).update(paint_lines(lines, self.glyphs) if lines else Content(""))

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        if act not in ("audit", "export", "confirm", "kept_out", "let_in"):
            return None
        one = self._chosen()
        if one is None:
            return "select a receipt first"
        if act == "confirm" and not list_confirmable_vaults(one.vaults):
            return "no remote waits for a token"
        if act in ("kept_out", "let_in") and self.lifeboat.find_agent(one.agent_id) is None:
            return "the agent is no longer on this machine"
        return None

    def _chosen(self) -> Listed | None:
        return self._known.get(self.row_key or "")

    def do_audit(self) -> None:
        self._is_audit = not self._is_audit
        self.follow_cursor()

    def do_export(self) -> None:
        one = self._chosen()
        assert one is not None
        self.export_receipt(one.id)

    def do_confirm(self) -> None:
        one = self._chosen()
        assert one is not None
        self.confirm_somewhere(one.id, one.vaults)

    def do_let_in(self) -> None:
        one = self._chosen()
        assert one is not None
        self.let_in(one.agent_id)

    def do_kept_out(self) -> None:
        one = self._chosen()
        assert one is not None
        self.cut_kept_out(one.agent_id)

    @attempted
    async def do_check(self) -> None:
        """Verify a receipt file."""
        question = TextDialog(
            "Verify a receipt in a file",
            ["The verification works offline, with the keys and vaults in your Lifeboat directory."],
            placeholder="the file",
            yes="Verify",
            problem=require_text("type the path of a file"),
        )
        file = await self.answer(question)
        if file is None:
            return
        said = await self.ask("receipts", "verify", *protect_dashed_name(os.path.expanduser(file.strip())))
        shown = decode_document(Shown, said.document)
        self.say_problem(None)
        self._say(list(describe_receipt_findings(shown.holds, shown.findings)), make_plain(file).replace("[", r"\["))
        self.tell_user(
            "The receipt is valid." if shown.holds else "The receipt is not valid.",
            severity="information" if shown.holds else "error",
        )
