"""A Textual app with one table and nothing else. It shows how much of the dashboard's time Textual itself takes.

python -m benchmarks.bare_table datatable|ours ROWS
"""

from __future__ import annotations

import sys

from textual.app import App, ComposeResult
from textual.widgets import DataTable

TITLES = ("NAME", "TYPE", "STATE", "FROM", "SELF", "MEMORY")


def cells(number: int) -> tuple[str, ...]:
    return (f"row-{number:05}", "semantic", "active", f"memory/{number % 400}.md", "1", f"The harbour of row {number}.")


class Theirs(App[None]):
    """App with Textual's DataTable."""

    def compose(self) -> ComposeResult:
        yield DataTable(cursor_type="row")

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_columns(*TITLES)
        table.add_rows(cells(number) for number in range(int(sys.argv[2])))


def ours() -> App[None]:
    from lifeboat_tui.widgets.row_table import RowTable, TableColumn, TableRow

    class Ours(App[None]):
        def compose(self) -> ComposeResult:
            yield RowTable([TableColumn(title, 12, grow=1) for title in TITLES])

        def on_mount(self) -> None:
            self.query_one(RowTable).show(TableRow(str(number), cells(number)) for number in range(int(sys.argv[2])))

    return Ours()


if __name__ == "__main__":
    (Theirs() if sys.argv[1] == "datatable" else ours()).run()
