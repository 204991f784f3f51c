"""The newest sequences of the agent under the cursor, beside the list of agents on a wide terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from lifeboat_core.documents.timeline_documents import Entry
from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.screens.timeline.timeline_rows import build_timeline_rows
from lifeboat_tui.widgets.row_table import RowTable, TableColumn, TableRow

COLUMNS = (
    TableColumn("SEQ", 5, right=True),
    TableColumn("TIME", 8),
    TableColumn("CHANGES", 19, grow=2),
    TableColumn("SIZE", 8, rank=3, right=True),
    TableColumn("VERIFIED IN", 12, grow=1, rank=1),
    TableColumn("NAME", 8, grow=1, rank=2),
)
LIMIT = 100
"""Number of sequences to load. The timeline shows all of them."""
READING, NONE_YET = "Loading...", "The agent has not been captured yet."


class RecentSequences(RowTable):
    """Table of the newest sequences of one agent, below their days."""

    DEFAULT_CSS = """
    RecentSequences { border: round $secondary; }
    RecentSequences:focus { border: round $border; }
    """

    def __init__(self, glyphs: Glyphs, *, id: str) -> None:
        super().__init__(COLUMNS, title="Timeline", empty=READING, glyphs=glyphs, id=id)
        self._agent_id: str | None = None
        self._entries: tuple[Entry, ...] = ()

    @property
    def sequence(self) -> int | None:
        """Return the sequence under the cursor."""
        row = self.current
        return None if row is None or row.heading else int(row.key)

    def begin(self, agent_id: str | None, name: str) -> None:
        """Show that the sequences of an agent are being loaded; keep those of the same agent."""
        if agent_id != self._agent_id:
            self._agent_id, self._entries = agent_id, ()
            self.title, self.empty = f"Timeline of {name}" if name else "Timeline", READING if agent_id else ""
            self.show(())

    def say(self, entries: Sequence[Entry], now: datetime) -> None:
        """Show the sequences, newest first."""
        was_empty = not self._entries
        self._entries, self.empty = tuple(entries), NONE_YET
        rows = build_timeline_rows(self._entries, {}, now, self.glyphs)
        self.show(TableRow(row.key, row.cells if row.heading else row.cells[1:], heading=row.heading) for row in rows)
        if was_empty and self._entries:
            self.select(str(self._entries[0].sequence))
