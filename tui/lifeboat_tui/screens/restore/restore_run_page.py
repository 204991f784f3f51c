"""Last page of the restore wizard: progress and result."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Button, Static

from lifeboat_core.documents.restore_documents import Done
from lifeboat_daemon.control.command_runner import CommandProgress
from lifeboat_tui.screens.restore.restore_command import build_restore_command
from lifeboat_tui.screens.restore.restore_step_page import RestoreStepPage
from lifeboat_tui.screens.restore.restore_texts import describe_restored
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.progress_display import ProgressDisplay
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableColumn, TableRow

COLUMNS = (TableColumn("LEFT TO DO", 22, grow=1), TableColumn("COMMAND", 20, grow=1))


class RestoreRunPage(RestoreStepPage):
    STEP = "Run"
    LABELS = {"undo": "undo", "receipt": "receipt", "copy": "copy command"}
    DEFAULT_CSS = """
    RestoreRunPage > VerticalScroll { height: auto; max-height: 60%; padding: 1 1; }
    RestoreRunPage > VerticalScroll > Static { height: auto; }
    RestoreRunPage #left { height: auto; max-height: 12; min-height: 4; }
    RestoreRunPage #run-buttons { height: 1; align-horizontal: right; }
    """

    def __init__(self) -> None:
        super().__init__(id="run")
        self.done: Done | None = None

    def compose(self) -> ComposeResult:
        yield ProgressDisplay(self.wizard.glyphs, id="progress")
        with VerticalScroll(can_focus=False):
            yield Static("", id="outcome")
        yield FilteredTable(COLUMNS, title="Next", empty="", glyphs=self.wizard.glyphs, id="left")
        with Horizontal(id="run-buttons"):
            yield Button("Close", id="close", compact=True)

    @property
    def table(self) -> RowTable:
        return self.query_one("#left", FilteredTable).table

    def twin(self) -> tuple[str, ...]:
        return build_restore_command(self.wizard.labelled_choices, dry_run=False)

    def command_under_cursor(self) -> str | None:
        """Return the remaining command under the cursor."""
        row = self.table.current
        return None if row is None or self.done is None else self.done.next[int(row.key)].command

    def start(self, doing: str) -> None:
        """Show that a command has started."""
        self.done = None
        self._place(working=True)
        self.query_one(ProgressDisplay).tell(CommandProgress(doing))
        self.say(
            "outcome",
            "Press c to stop before any file is changed.",
            "After Lifeboat has begun to move files into place, the restore can no longer be stopped.",
        )

    def tell(self, progress: CommandProgress) -> None:
        self.query_one(ProgressDisplay).tell(progress)

    def say_done(self, done: Done) -> None:
        """Show the result and the remaining steps."""
        self.done = done
        sign = self.wizard.glyphs.sign("done")
        lines = [(kind, f"{sign} {text}" if kind == "success" else text) for kind, text in describe_restored(done)]
        self._place(working=False)
        self.say("outcome", *lines)
        self.table.show(
            [TableRow(str(at), (TableCell(step.title, "strong"), step.command)) for at, step in enumerate(done.next)]
        )
        self.query_one("#left").set_class(not done.next, "gone")
        self.focus_first()

    def say_outcome(self, *lines: str | tuple[str, str]) -> None:
        """Show the end of a command that failed, was stopped, or whose result is unknown."""
        self.done = None
        self._place(working=False)
        self.say("outcome", *lines)
        self.focus_first()

    def _place(self, *, working: bool) -> None:
        self.query_one(ProgressDisplay).display = working
        self.query_one("#left").add_class("gone")
        self.query_one("#close", Button).disabled = working

    def focus_first(self) -> None:
        left = self.query_one("#left")
        target = self.query_one("#close", Button) if left.has_class("gone") else self.table
        target.focus()

    def why_not(self, act: str) -> str | None:
        if act == "receipt" and (self.done is None or not self.done.receipt):
            return "this restore has no receipt"
        return None
