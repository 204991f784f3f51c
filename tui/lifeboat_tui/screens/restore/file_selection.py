"""Dialog over the restore wizard that lists files to select."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import Dialog
from lifeboat_tui.widgets.row_table import RowTable, TableColumn, TableRow

COLUMNS = (TableColumn("", 9), TableColumn("FILE", 20, grow=1), TableColumn("SIZE", 9, rank=1, right=True))


class FileSelectionDialog(Dialog[frozenset[str] | None]):
    """List of files with marks. Its result is the keys of the marked rows, or None if the user cancels."""

    CSS = """
    FileSelectionDialog > Vertical { width: 100; height: 90%; }
    FileSelectionDialog .title { height: auto; }
    FileSelectionDialog Horizontal { height: 1; margin-top: 0; }
    """
    BINDINGS = [
        Binding("slash", "filter", "Filter"),
        Binding("a", "all", "All shown files"),
        Binding("n", "none", "None"),
    ]

    def __init__(self, rows: Sequence[TableRow], marked: set[str], glyphs: Glyphs) -> None:
        super().__init__()
        self._rows, self._marked, self._glyphs = rows, marked, glyphs

    def compose(self) -> ComposeResult:
        with Vertical():
            said = (
                "Press space to mark a file, / to filter the list, a to mark all shown files, n to unmark all. "
                "Enter confirms, esc cancels."
            )
            yield Static(said, classes="title", markup=False)
            yield FilteredTable(
                COLUMNS, title="Files", empty="No files.", glyphs=self._glyphs, markable=True, id="files"
            )
            with Horizontal():
                yield Button("Cancel", id="cancel", compact=True)
                yield Button("Take these", id="yes", variant="primary", compact=True)

    @property
    def listing(self) -> FilteredTable:
        return self.query_one("#files", FilteredTable)

    def on_mount(self) -> None:
        self.listing.table.show(self._rows)
        self.listing.table.mark(self._marked)
        self.listing.table.focus()

    def action_filter(self) -> None:
        self.listing.open_filter()

    def action_all(self) -> None:
        table = self.listing.table
        table.mark(table.marked | {row.key for row in table.rows})

    def action_none(self) -> None:
        self.listing.table.mark(())

    def action_cancel(self) -> None:
        if not self.listing.clear_filter():
            self.cancel()

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        """Accept the marked rows on enter, or the row under the cursor if none is marked."""
        marked = self.listing.table.marked or {event.row.key}
        self.dismiss(frozenset(marked))

    def accept(self) -> None:
        self.dismiss(frozenset(self.listing.table.marked))
