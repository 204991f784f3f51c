"""Receipts of purges: every purge, where it stands, and whether its receipt holds."""

from __future__ import annotations

import os

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.json_types import JsonObject
from lifeboat_tui import documents
from lifeboat_tui.acts import Act
from lifeboat_tui.documents.receipts import Audited, Listed, Shown
from lifeboat_tui.documents.receipts import Receipts as ReceiptList
from lifeboat_tui.glyphs import STYLES
from lifeboat_tui.screens.base import FILTER
from lifeboat_tui.screens.purge_lines import painted
from lifeboat_tui.screens.purge_proof import Line, audited, findings, heading, proof, what_went, where_it_stands
from lifeboat_tui.screens.purge_receipt import LET_IN, ReceiptScreen, to_confirm
from lifeboat_tui.text import named, plain, short_age
from lifeboat_tui.widgets.dialogs import Ask
from lifeboat_tui.widgets.listing import Listing
from lifeboat_tui.widgets.table import Cell, Column, Row, Table

COLUMNS = (
    Column("STANDS", 16, grow=2),
    Column("AGENT", 12, grow=1),
    Column("WHAT", 14, grow=1, rank=1),
    Column("ASKED FOR", 10, rank=2),
    Column("RECEIPT", 13, rank=3),
)
NOTHING = (
    "Nothing was purged. A purge destroys something that an agent knows in all its history, and leaves a receipt "
    "here. P on the dashboard begins one; V checks a receipt in a file."
)
_ID = 13
"""Characters of an id that tell receipts apart."""


class Receipts(ReceiptScreen):
    NAME = "Receipts"
    ACTS = (
        Act("audit", "a", "audit view", "For an auditor: the record, hashes, and places in the chains", footer=True),
        Act(
            "export", "e", "export", "Write the receipt into a file, for whoever wants proof", footer=True, writes=True
        ),
        Act(
            "confirm", "t", "confirm", "Let it happen now where it waits, by the second token", footer=True, writes=True
        ),
        Act("kept_out", "x", "cut live files", "Cut from live files what was purged and still lies there", writes=True),
        LET_IN,
        Act("check", "V", "verify a file", "Whether a receipt in a file holds, whoever made it", footer=True),
        FILTER,
    )
    HELP = """
Every purge leaves a receipt. It says what each vault destroyed, what waits, and what nobody here can reach. Each vault
signs for itself; the one under the cursor is checked against this home as it is shown. Nothing in it is content.

A purge that waits at an endpoint happens there after 24 hours, or at once with the second token of its owner. A receipt
that was exported can be checked on any machine, offline.
"""
    CSS = """
    Receipts #list { height: 1fr; min-height: 6; }
    Receipts #below { height: 55%; min-height: 6; border: round $secondary; padding: 0 1; }
    Receipts #below:focus { border: round $border; }
    Receipts.-wide #parts { layout: horizontal; }
    Receipts.-narrow #parts { layout: vertical; }
    Receipts.-wide #list { width: 1fr; height: 1fr; }
    Receipts.-wide #below { width: 1fr; height: 1fr; }
    Receipts #detail { height: auto; }
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
            yield Listing(COLUMNS, title="Receipts", empty=NOTHING, glyphs=self.glyphs, id="list")
            with VerticalScroll(id="below", can_focus=True):
                yield Static("", id="detail")

    def twin(self) -> tuple[str, ...]:
        row = self.table.current
        if row is None:
            return ("receipts", "list")
        return ("receipts", "show", row.key, *(["--audit"] if self._is_audit else []))

    @property
    def table(self) -> Table:
        return self.query_one("#list", Listing).table

    async def load(self) -> None:
        found = documents.read(ReceiptList, (await self.ask("receipts", "list")).document)
        self._known = {each.id: each for each in found.receipts}
        newest = sorted(found.receipts, key=lambda each: each.requested_at or "", reverse=True)
        broken = [
            Row(each.id, (Cell(f"{self.glyphs.sign('error')} damaged", "error"), each.message, "", "", each.id[:_ID]))
            for each in found.damaged
        ]
        self.table.show([*broken, *map(self._row, newest)])
        self.follow_cursor()

    def happened(self, event: JsonObject) -> None:
        if event.get("event") in ("push", "notice", "gone"):
            self.reload()

    def _row(self, one: Listed) -> Row:
        state, said = where_it_stands(one)
        return Row(
            one.id,
            (
                Cell(f"{self.glyphs.sign(state)} {said}", STYLES[state]),
                Cell(one.agent or one.agent_id[:_ID], "strong"),
                what_went(one),
                short_age(one.requested_at, self.link.now()),
                Cell(one.id[:_ID], "muted"),
            ),
        )

    @on(Table.Moved, "#list-table")
    def _moved(self) -> None:
        self.follow_cursor()

    @work(exclusive=True, group="detail", exit_on_error=False)
    async def follow_cursor(self) -> None:
        """The receipt under the cursor, checked."""
        row = self.table.current
        self._shown = None
        if row is None or row.key not in self._known:
            self._say([("error", "This receipt cannot be read.")] if row is not None else [], "")
            return
        one = self._known[row.key]
        try:
            if self._is_audit:
                said = await self.ask("receipts", "show", one.id, "--audit")
                self._say(list(audited(documents.read(Audited, said.document))), "For an auditor")
            else:
                said = await self.ask("receipts", "show", one.id)
                self._shown = documents.read(Shown, said.document)
                lines = [*heading(self._shown.receipt, one.agent, self.link.now()), *proof(self._shown)]
                self._say(lines, "The receipt")
        except LifeboatError as error:
            self._say([("error", f"{error.title}: {error.message}")], "")
        self.refresh_bars()

    def _say(self, lines: list[Line], title: str) -> None:
        self.query_one("#below").border_title = title
        self.query_one("#detail", Static).update(painted(lines, self.glyphs) if lines else Content(""))

    # Acts -------------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        if act not in ("audit", "export", "confirm", "kept_out", "let_in"):
            return None
        one = self._chosen()
        if one is None:
            return "there is no receipt under the cursor"
        if act == "confirm" and not to_confirm(one.vaults):
            return "it waits nowhere"
        if act in ("kept_out", "let_in") and self.lifeboat.find_agent(one.agent_id) is None:
            return "that agent is not here any more"
        return None

    def _chosen(self) -> Listed | None:
        row = self.table.current if self.is_mounted else None
        return None if row is None else self._known.get(row.key)

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

    @work(group="act", exit_on_error=False)
    async def do_check(self) -> None:
        """Whether a receipt in a file holds."""
        question = Ask(
            "Verify a receipt in a file",
            ["Nobody is asked; the keys and the vaults of this home count, where they know of it."],
            placeholder="the file",
            yes="Verify",
            problem=lambda text: None if text.strip() else "type the name of a file",
        )
        file = await self.app.push_screen_wait(question)
        if file is None:
            return
        try:
            said = await self.ask("receipts", "verify", *named(os.path.expanduser(file.strip())))
            shown = documents.read(Shown, said.document)
        except LifeboatError as error:
            self.failed(error)
            return
        self.say_problem(None)
        self._say(list(findings(shown.holds, shown.findings)), plain(file).replace("[", r"\["))
        self.tell_user(
            "It holds." if shown.holds else "It does not hold.", severity="information" if shown.holds else "error"
        )
