"""A table with a filter: `/` opens the filter, rows are filtered while the user types, and escape clears it."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.widgets.row_table import RowTable, TableColumn


class FilteredTable(Vertical):
    """Table and filter field. The table's id is this widget's id with `-table` appended."""

    DEFAULT_CSS = """
    FilteredTable { height: 1fr; }
    FilteredTable > RowTable { height: 1fr; border: round $secondary; }
    FilteredTable > RowTable:focus { border: round $border; }
    FilteredTable > Input { background: $panel; display: none; }
    FilteredTable.-filtering > Input { display: block; }
    """

    def __init__(
        self,
        columns: Sequence[TableColumn],
        *,
        title: str,
        empty: str,
        glyphs: Glyphs | None = None,
        markable: bool = False,
        id: str,
    ) -> None:
        super().__init__(id=id)
        self.table = RowTable(columns, title=title, empty=empty, glyphs=glyphs, markable=markable, id=f"{id}-table")
        self._input = Input(
            placeholder="filter: type words to show only rows that contain them; esc clears the filter",
            compact=True,
            id=f"{id}-filter",
        )

    def compose(self) -> ComposeResult:
        yield self.table
        yield self._input

    def open_filter(self) -> None:
        """Let the user type words that rows must contain."""
        self.add_class("-filtering")
        self._input.focus()

    def clear_filter(self) -> bool:
        """Show all rows again. Returns False if there was no filter."""
        if not self.has_class("-filtering"):
            return False
        self.remove_class("-filtering")
        self._input.value = ""
        self.table.filter("")
        self.table.focus()
        return True

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input is self._input:
            self.table.filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input is self._input:
            event.stop()
            self.table.focus()
