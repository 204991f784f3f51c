"""Search screen: finds words in all sequences of an agent, also in removed content."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from lifeboat_core.documents.search_documents import Found, Hit
from lifeboat_core.texts.human_text import count_text
from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.screens.agent_screen import AgentScreen
from lifeboat_tui.screens.lifeboat_screen import FILTER
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableColumn, TableRow

LIMIT = 500
COLUMNS = (
    TableColumn("NOW", 7),
    TableColumn("WHERE", 18, grow=2),
    TableColumn("WORDS", 24, grow=5),
    TableColumn("FIRST", 5, rank=1, right=True),
    TableColumn("LAST", 5, right=True),
)
BEFORE = "Type words and press enter. A match is a memory or a line that contains all words. Removed text is found too."


class HistorySearchScreen(AgentScreen):
    """Search in one agent. `found` receives the chosen sequence after the screen has closed; without it the timeline
    opens."""

    NAME = "Search the history"
    ENTER = "open"
    ACTS = (
        UserAction(
            "open",
            "enter",
            "open sequence",
            "Open the sequence that added the match; if the text was removed later, open the last "
            "sequence that contains it",
            footer=True,
        ),
        UserAction(
            "restore",
            "r",
            "restore that",
            "Restore the file from the last sequence that contains the match",
            footer=True,
        ),
        UserAction("words", "F", "other words", "Change the search words", footer=True),
        FILTER,
    )
    HELP = """
Searches the memories and the lines of files in all sequences. Each match is listed once, with the first and the last
sequence that contains it. Purged text is never found.

Enter opens the sequence that added the match; if the match was removed later, Enter opens the last sequence that
contains it. r restores from that sequence.
"""
    CSS = """
    HistorySearchScreen #words { margin: 0 1; }
    HistorySearchScreen #hits { height: 1fr; }
    HistorySearchScreen #detail { height: 6; border: round $secondary; padding: 0 1; }
    """

    def __init__(self, agent_id: str, *, found: Callable[[int], None] | None = None) -> None:
        super().__init__(agent_id)
        self._tell_found = found
        self._words: tuple[str, ...] = ()
        self._hits: dict[str, Hit] = {}

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield Input(placeholder="words to search for in all sequences", compact=True, id="words")
        yield FilteredTable(COLUMNS, title="Places", empty=BEFORE, glyphs=self.glyphs, id="hits")
        with Vertical(id="detail"):
            yield Static("", id="detail-text", markup=False)

    def twin(self) -> tuple[str, ...]:
        return ("search", self.agent_name, *(self._words or ("WORDS",)), "--history", "--limit", str(LIMIT))

    async def load(self) -> None:
        if not self._words:
            return
        found = await self.fetch(Found, "search", self.agent_id, *self._words, "--history", "--limit", str(LIMIT))
        self._hits = {str(at): hit for at, hit in enumerate(found.hits)}
        self.table.empty = f"No sequence of {make_plain(self.agent_name)} contains these words."
        self.table.show(_row(key, hit, self.glyphs) for key, hit in self._hits.items())
        more = (
            f" (only the newest {len(found.hits)} matches are shown; add words to narrow the search)"
            if found.truncated
            else ""
        )
        self.query_one("#detail").border_title = f"{count_text(len(found.hits), 'place')}{more}"
        self._show_detail()
        if found.hits:
            self.table.focus()

    @on(Input.Submitted, "#words")
    def _entered(self, event: Input.Submitted) -> None:
        # A leading dash would be read as an option; the search itself ignores it.
        self._words = tuple(word for word in (each.lstrip("-") for each in event.value.split()) if word)
        self._hits = {}
        self.table.empty = "Searching..." if self._words else BEFORE
        self.table.show(())
        self._show_detail()
        self.reload()

    @property
    def chosen(self) -> Hit | None:
        """Return the place under the cursor."""
        return self._hits.get(self.row_key or "")

    @on(RowTable.Moved, "#hits-table")
    def _moved(self) -> None:
        self._show_detail()
        self.refresh_bars()

    def _show_detail(self) -> None:
        hit = self.chosen
        text = "" if hit is None else "\n".join(map(make_plain, _detail(hit)))
        self.query_one("#detail-text", Static).update(text)

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        if act in ("open", "restore") and self.chosen is None:
            return "no match is selected"
        return None

    def do_open(self) -> None:
        hit = self.chosen
        number = None if hit is None else _telling(hit)
        if number is None:
            return
        if self._tell_found is not None:
            self.lifeboat.back()
            self._tell_found(number)
        else:
            from lifeboat_tui.screens.timeline.timeline_screen import TimelineScreen

            self.app.switch_screen(TimelineScreen(self.agent_id, at=number))

    def do_restore(self) -> None:
        from lifeboat_tui.screens.restore.restore_wizard import RestoreWizard

        hit = self.chosen
        assert hit is not None
        number, path = _last(hit), hit.path or hit.origin_file
        at = None if number is None else str(number)
        self.app.push_screen(RestoreWizard(self.agent_id, at=at, paths=(path,) if path else ()))

    def do_words(self) -> None:
        self.query_one("#words", Input).focus()


def _last(hit: Hit) -> int | None:
    return hit.last if hit.last is not None else hit.sequence


def _telling(hit: Hit) -> int | None:
    """Return the most useful sequence: the first one with the match, or for removed content the last one."""
    return hit.first if hit.present and hit.first is not None else _last(hit)


def _where(hit: Hit) -> str:
    if hit.kind == "memory":
        return f"memory in {hit.origin_file}" if hit.origin_file else f"{hit.memory_type or ''} memory".strip()
    return f"{hit.path}:{hit.line}" if hit.line is not None else hit.path or ""


def _row(key: str, hit: Hit, glyphs: Glyphs) -> TableRow:
    now = (
        TableCell(f"{glyphs.sign('ok')} there", "success")
        if hit.present
        else TableCell(f"{glyphs.sign('pending')} gone", "muted")
    )
    return TableRow(key, (now, TableCell(_where(hit), "strong"), hit.snippet, _number(hit.first), _number(_last(hit))))


def _number(number: int | None) -> str:
    return "" if number is None else str(number)


def _detail(hit: Hit) -> Iterator[str]:
    yield _where(hit)
    yield " ".join(hit.snippet.split())
    stood = (
        f"The match is in all sequences since {hit.first}." if hit.present else f"The match is in sequences {hit.first}"
    )
    yield stood if hit.present else f"{stood} to {_last(hit)}. It was removed afterwards."
    if not hit.present:
        yield f"Press enter to open sequence {_last(hit)}, or r to restore from that sequence."
