"""The doctor: what could go wrong, checked, the worst first; each finding with what helps."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from lifeboat_core.texts.words import count_text
from lifeboat_daemon.control.commands import Progress
from lifeboat_tui import documents
from lifeboat_tui.acts import Act
from lifeboat_tui.documents.doctor import Examination, Finding
from lifeboat_tui.glyphs import STYLES
from lifeboat_tui.screens.base import FILTER
from lifeboat_tui.screens.bundle import BUNDLE, BundleScreen
from lifeboat_tui.screens.doctor_places import Place, is_choice, place_of
from lifeboat_tui.text import plain
from lifeboat_tui.widgets.listing import Listing
from lifeboat_tui.widgets.running import Running
from lifeboat_tui.widgets.table import Cell, Column, Row, Table

COLUMNS = (
    Column("LEVEL", 10),
    Column("CHECK", 18, grow=2, rank=2),
    Column("OF WHAT", 14, grow=2, rank=1),
    Column("FOUND", 24, grow=5),
)
_HEADINGS = {"error": "BROKEN", "warning": "TO LOOK AT", "ok": "AS IT MUST BE"}
"""Levels, the worst first. One that nobody knows stands between broken and what is only to be looked at."""
_ORDER = ("error", "", "warning", "ok")
CHECKING = "Checking the home, the key, every agent and its copies..."


class Doctor(BundleScreen):
    NAME = "Doctor"
    ACTS = (
        Act("go", "enter", "go there", "The place where what was found is put right", footer=True),
        Act("again", "r", "check again", "Look at everything again", footer=True),
        Act("stop", "x", "stop", "Stop checking", footer=True),
        BUNDLE,
        FILTER,
    )
    HELP = """
Everything that could go wrong is looked at, and what was found stands here, the worst first. Below is what helps
against the finding under the cursor: enter goes to the place where it is put right, y copies the command or what to do.

b writes a report for somebody who helps you: versions, counts and findings, and nothing that is yours.
"""
    CSS = """
    Doctor #running { display: none; }
    Doctor #running.-shown { display: block; }
    Doctor #summary { height: auto; padding: 0 1; text-style: bold; display: none; }
    Doctor #summary.-shown { display: block; }
    Doctor #findings { height: 1fr; }
    Doctor #detail { height: 30%; min-height: 8; border: round $secondary; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._findings: dict[str, Finding] = {}
        self._is_checking = False

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield Static("", id="summary", markup=False)
        yield Running(self.glyphs, id="running")
        yield Listing(COLUMNS, title="Findings", empty="Checking...", glyphs=self.glyphs, id="findings")
        with VerticalScroll(id="detail", can_focus=False):
            yield Static("", id="detail-text")

    def twin(self) -> tuple[str, ...]:
        return ("doctor",)

    def crumbs(self) -> tuple[str, ...]:
        return ("lifeboat", "doctor")

    async def load(self) -> None:
        """Check everything; it takes seconds. What was found before stays in sight meanwhile."""
        running = self.query_one(Running)
        self._checking(True)
        running.tell(Progress(CHECKING))
        try:
            said = await self.ask("doctor", tell=self._tell)
            self._show(documents.read(Examination, said.document))
        except asyncio.CancelledError:
            if self.is_mounted and not self._findings:
                self.table.empty = "Nothing was checked: r checks."
                self.table.refresh()
            raise
        finally:
            self._checking(False)

    def _checking(self, is_checking: bool) -> None:
        self._is_checking = is_checking
        if self.is_mounted:
            self.query_one(Running).set_class(is_checking, "-shown")
            self.query_one("#summary").set_class(not is_checking and bool(self._findings), "-shown")
            self.refresh_bars()

    def _tell(self, progress: Progress) -> None:
        if self.is_mounted:
            self.query_one(Running).tell(Progress(CHECKING, progress.done, progress.total))

    def _show(self, examination: Examination) -> None:
        if not self.is_mounted:
            return
        self._findings = _keyed(examination.findings)
        self.query_one("#summary", Static).update(self._summary())
        self.table.empty = "Nothing was checked."
        self.table.show(self._rows())
        self._describe()

    def _summary(self) -> str:
        levels = [one.level for one in self._findings.values()]
        checked, broken, warned = count_text(len(levels), "check"), levels.count("error"), levels.count("warning")
        if broken:
            return f"{self.glyphs.sign('error')} {broken} of {checked} found something broken"
        if warned:
            return f"{self.glyphs.sign('warning')} Nothing is broken; {warned} of {checked} found something to look at"
        return f"{self.glyphs.sign('ok')} All is as it must be ({checked})"

    def _rows(self) -> Iterator[Row]:
        for level in _ORDER:
            rows = [self._row(key, one) for key, one in self._findings.items() if _known(one.level) == level]
            if rows:
                yield Row(f"heading {level}", (f"{_HEADINGS.get(level, 'OTHERS')} ({len(rows)})",), heading=True)
                yield from rows

    def _row(self, key: str, one: Finding) -> Row:
        level = Cell(f"{self.glyphs.sign(one.level)} {one.level}", STYLES.get(one.level, "muted"))
        return Row(key, (level, one.title, Cell(one.subject, "strong"), one.result))

    # The finding under the cursor -------------------------------------------------------------------------------

    @property
    def table(self) -> Table:
        return self.query_one("#findings", Listing).table

    @property
    def finding(self) -> Finding | None:
        row = self.table.current if self.is_mounted else None
        return None if row is None else self._findings.get(row.key)

    @property
    def place(self) -> Place | None:
        """Where the finding under the cursor is put right."""
        found = self.finding
        return None if found is None else place_of(found)

    @on(Table.Moved, "#findings-table")
    def _moved(self) -> None:
        self._describe()
        self.refresh_bars()

    def _describe(self) -> None:
        found = self.finding
        lines = [] if found is None else list(self._lines(found))
        self.query_one("#detail-text", Static).update(Content("\n").join(lines))

    def _lines(self, found: Finding) -> Iterator[Content]:
        yield Content.styled(plain(f"{found.title}: {found.subject}"), "bold")
        yield Content(plain(found.result))
        yield Content("")
        if found.fix is None:
            yield Content.styled(
                "There is nothing to do about it here." if found.level != "ok" else "", "$foreground 60%"
            )
            return
        yield Content.assemble(("what helps  ", "$foreground 60%"), plain(found.fix))
        place = self.place
        goes = f"enter opens {place.label}; " if place is not None else ""
        yield Content.styled(f"{goes}y copies what helps", "$foreground 60%")

    # Acts -------------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        if act == "go":
            if self.finding is None:
                return "there is no finding under the cursor"
            if self.place is None:
                return "this is done in a shell (y copies what helps)" if self.finding.fix else "nothing is to be done"
        if act == "again" and self._is_checking:
            return "it is being checked (x stops that)"
        if act == "stop" and not self._is_checking:
            return "nothing runs"
        return None

    @on(Table.Chosen, "#findings-table")
    async def _chosen(self) -> None:
        await self.action_act("go")

    async def do_go(self) -> None:
        place = self.place
        assert place is not None
        if place.screen == "start_daemon":
            await self.action_act("start_daemon")
            return
        if place.screen == "receipts":
            from lifeboat_tui.screens.receipts import Receipts

            self.app.push_screen(Receipts())
            return
        agent = None if place.agent is None else self.lifeboat.find_agent(place.agent)
        self.lifeboat.open(place.screen, None if agent is None else agent.id)

    def do_again(self) -> None:
        self.reload()

    def do_stop(self) -> None:
        self.workers.cancel_group(self, "load")
        self.tell_user("Stopped.")

    def do_copy(self) -> None:
        """What helps against the finding under the cursor; the screen's own command where nothing has to."""
        found = self.finding
        if found is None or found.fix is None or is_choice(found.fix):
            super().do_copy()
            return
        self.app.copy_to_clipboard(plain(found.fix))
        self.tell_user(f"Copied: {found.fix}")


def _known(level: str) -> str:
    return level if level in _HEADINGS else ""


def _keyed(findings: Iterable[Finding]) -> dict[str, Finding]:
    """Findings by names that stay from one examination to the next."""
    seen: Counter[str] = Counter()
    keyed: dict[str, Finding] = {}
    for one in findings:
        name = f"{one.check} {one.subject}"
        seen[name] += 1
        keyed[f"{name} {seen[name]}"] = one
    return keyed
