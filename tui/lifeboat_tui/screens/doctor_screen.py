"""Screen of the doctor: all findings, the worst first, each with its fix."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from lifeboat_core.documents.doctor_documents import Examination, Finding
from lifeboat_core.texts.human_text import count_text
from lifeboat_daemon.control.command_runner import CommandProgress
from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.glyphs import STYLES
from lifeboat_tui.screens.finding_fixes import FindingFix, find_fix, is_command_choice
from lifeboat_tui.screens.lifeboat_screen import FILTER
from lifeboat_tui.screens.report_screen import BUNDLE, ReportScreen
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.progress_display import ProgressDisplay
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableColumn, TableRow

COLUMNS = (
    TableColumn("LEVEL", 10),
    TableColumn("CHECK", 18, grow=2, rank=2),
    TableColumn("SUBJECT", 14, grow=2, rank=1),
    TableColumn("FOUND", 24, grow=5),
)
_HEADINGS = {"error": "ERRORS", "warning": "WARNINGS", "ok": "OK"}
"""Levels, the worst first. An unknown level is placed between errors and warnings."""
_ORDER = ("error", "", "warning", "ok")
CHECKING = "Checking the Lifeboat directory, the key, all agents and all remotes..."


class DoctorScreen(ReportScreen):
    NAME = "Doctor"
    ENTER = "go"
    ACTS = (
        UserAction("go", "enter", "go there", "Open the screen where this problem can be fixed", footer=True),
        UserAction("again", "r", "check again", "Run all checks again", footer=True),
        UserAction("stop", "x", "stop", "Stop the checks", footer=True),
        BUNDLE,
        FILTER,
    )
    HELP = """
Results of all checks, worst first. The fix for the selected finding is below the list. Enter opens the screen for the
fix, y copies the command. b writes a support report with versions, counts and findings, but without your content.
"""
    CSS = """
    DoctorScreen #summary { height: auto; padding: 0 1; text-style: bold; display: none; }
    DoctorScreen #summary.-shown { display: block; }
    DoctorScreen #findings { height: 1fr; }
    DoctorScreen #detail { height: 30%; min-height: 8; border: round $secondary; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._findings: dict[str, Finding] = {}
        self._is_checking = False

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield Static("", id="summary", markup=False)
        yield ProgressDisplay(self.glyphs, id="running")
        yield FilteredTable(COLUMNS, title="Findings", empty="Checking...", glyphs=self.glyphs, id="findings")
        with VerticalScroll(id="detail", can_focus=False):
            yield Static("", id="detail-text")

    def twin(self) -> tuple[str, ...]:
        return ("doctor",)

    async def load(self) -> None:
        """Run all checks, which takes seconds. The earlier findings stay visible meanwhile."""
        running = self.query_one(ProgressDisplay)
        self._checking(True)
        running.tell(CommandProgress(CHECKING))
        try:
            self._show(await self.fetch(Examination, "doctor", tell=self._tell))
        except asyncio.CancelledError:
            if self.is_mounted and not self._findings:
                self.table.empty = "No check has run yet. Press r to run all checks."
                self.table.refresh()
            raise
        finally:
            self._checking(False)

    def _checking(self, is_checking: bool) -> None:
        self._is_checking = is_checking
        if self.is_mounted:
            self.query_one(ProgressDisplay).set_class(is_checking, "-shown")
            self.query_one("#summary").set_class(not is_checking and bool(self._findings), "-shown")
            self.refresh_bars()

    def _tell(self, progress: CommandProgress) -> None:
        self.show_progress(CommandProgress(CHECKING, progress.done, progress.total))

    def _show(self, examination: Examination) -> None:
        if not self.is_mounted:
            return
        self._findings = _keyed(examination.findings)
        self.query_one("#summary", Static).update(self._summary())
        self.table.empty = "No check has run yet."
        self.table.show(self._rows())
        self._describe()

    def _summary(self) -> str:
        levels = [one.level for one in self._findings.values()]
        checked, broken, warned = count_text(len(levels), "check"), levels.count("error"), levels.count("warning")
        if broken:
            return f"{self.glyphs.sign('error')} {broken} of {checked} failed"
        if warned:
            return f"{self.glyphs.sign('warning')} No check failed; {warned} of {checked} gave a warning"
        return f"{self.glyphs.sign('ok')} No problems found ({checked})"

    def _rows(self) -> Iterator[TableRow]:
        for level in _ORDER:
            rows = [self._row(key, one) for key, one in self._findings.items() if _known(one.level) == level]
            if rows:
                yield TableRow(f"heading {level}", (f"{_HEADINGS.get(level, 'OTHERS')} ({len(rows)})",), heading=True)
                yield from rows

    def _row(self, key: str, one: Finding) -> TableRow:
        level = TableCell(f"{self.glyphs.sign(one.level)} {one.level}", STYLES.get(one.level, "muted"))
        return TableRow(key, (level, one.title, TableCell(one.subject, "strong"), one.result))

    # The finding under the cursor -------------------------------------------------------------------------------

    @property
    def finding(self) -> Finding | None:
        return self._findings.get(self.row_key or "")

    @property
    def place(self) -> FindingFix | None:
        """Return the screen where the finding under the cursor can be fixed."""
        found = self.finding
        return None if found is None else find_fix(found)

    @on(RowTable.Moved, "#findings-table")
    def _moved(self) -> None:
        self._describe()
        self.refresh_bars()

    def _describe(self) -> None:
        found = self.finding
        self.describe(() if found is None else self._lines(found))

    def _lines(self, found: Finding) -> Iterator[Content]:
        yield Content.styled(make_plain(f"{found.title}: {found.subject}"), "bold")
        yield Content(make_plain(found.result))
        yield Content("")
        if found.fix is None:
            yield Content.styled("No fix is needed." if found.level != "ok" else "", "$foreground 60%")
            return
        yield Content.assemble(("fix  ", "$foreground 60%"), make_plain(found.fix))
        place = self.place
        goes = f"Press enter to {place.label}, " if place is not None else ""
        yield Content.styled(f"{goes}y to copy the fix", "$foreground 60%")

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        if act == "go":
            if self.finding is None:
                return "select a finding first"
            if self.place is None:
                return (
                    "the fix is a shell command; press y to copy it" if self.finding.fix else "this result needs no fix"
                )
        if act == "again" and self._is_checking:
            return "the checks are running; press x to stop them"
        if act == "stop" and not self._is_checking:
            return "no check is running"
        return None

    async def do_go(self) -> None:
        place = self.place
        assert place is not None
        if place.screen == "start_daemon":
            await self.action_act("start_daemon")
            return
        if place.screen == "receipts":
            from lifeboat_tui.screens.purge.receipts_screen import ReceiptsScreen

            self.app.push_screen(ReceiptsScreen())
            return
        agent = None if place.agent is None else self.lifeboat.find_agent(place.agent)
        self.lifeboat.open(place.screen, None if agent is None else agent.id)

    def do_again(self) -> None:
        self.reload()

    def do_stop(self) -> None:
        self.workers.cancel_group(self, "load")
        self.tell_user("Stopped.")

    def do_copy(self) -> None:
        """Copy the fix of the finding under the cursor, or the twin command if it has none."""
        found = self.finding
        if found is None or found.fix is None or is_command_choice(found.fix):
            super().do_copy()
            return
        self.app.copy_to_clipboard(make_plain(found.fix))
        self.tell_user(f"Copied: {found.fix}")


def _known(level: str) -> str:
    return level if level in _HEADINGS else ""


def _keyed(findings: Iterable[Finding]) -> dict[str, Finding]:
    """Map findings to keys that stay the same in the next examination."""
    seen: Counter[str] = Counter()
    keyed: dict[str, Finding] = {}
    for one in findings:
        name = f"{one.check} {one.subject}"
        seen[name] += 1
        keyed[f"{name} {seen[name]}"] = one
    return keyed
