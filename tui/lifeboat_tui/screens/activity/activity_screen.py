"""Screen of the activity: the log of operations on agents, newest first, and the log of the service."""

from __future__ import annotations

from textual import on, work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.log_documents import Entry, Log
from lifeboat_core.documents.service_log_documents import ServiceLog
from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.coalesced_request import CoalescedRequest
from lifeboat_tui.screens.activity.activity_texts import (
    DONE_COLUMNS,
    LEVELS,
    NOTED_COLUMNS,
    build_event_rows,
    build_log_rows,
    count_kinds,
    describe_event,
    describe_log_entry,
)
from lifeboat_tui.screens.lifeboat_screen import FILTER, attempted
from lifeboat_tui.screens.report_screen import BUNDLE, ReportScreen
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import ChoiceDialog
from lifeboat_tui.widgets.row_table import RowTable, TableRow

FIRST, MOST = 300, 100_000
"""Numbers of entries that the first request and the largest request ask for."""
NEAR = 50
"""Distance of the cursor from the last row at which more entries are requested."""
DONE, NOTED = "done", "noted"
_NEWS = {
    DONE: frozenset({"capture", "notice", "agent", "gone"}),
    NOTED: frozenset({"capture", "push", "notice", "agent", "gone", "offers", "tick", "stopping"}),
}
"""Events after which each log may have a new entry."""
NOTHING = "No events yet. Captures, pushes, restores and purges will be listed here."
NOTHING_FITS = "No event matches the filters. Press esc to remove the filter that you set last."
NOTHING_NOTED = "The daemon's log is empty. If the daemon is not running, press S to start it."


class ActivityScreen(ReportScreen):
    NAME = "Activity"
    ENTER = "open"
    ACTS = (
        UserAction(
            "open",
            "enter",
            "details",
            "Show all fields and the meaning of the event, and how to fix a problem",
            footer=True,
        ),
        UserAction(
            "origin",
            "o",
            "go there",
            "Open the event's sequence in the timeline; for a purge, open the receipts",
            footer=True,
        ),
        UserAction(
            "kind",
            "K",
            "kind",
            "Show only events of one kind, or only log lines of one level and above",
            footer=True,
        ),
        UserAction("agent", "A", "agent", "Show only the events of one agent", footer=True),
        UserAction("log", "L", "daemon's log", "Switch between the daemon's log and the list of events", footer=True),
        UserAction("follow", "f", "hold events", "Stop adding new events to the list until you press f again"),
        BUNDLE,
        FILTER,
    )
    HELP = """
Events of all agents, newest first: captures, pushes, restores, purges, held captures, verifications. New events are
added automatically, and the cursor stays on its event. The meaning of the selected event is below the list.

L shows the daemon's log: kinds, numbers and times of events, but no content and no file names. b writes a support
report.
"""
    CSS = """
    ActivityScreen FilteredTable { height: 1fr; }
    ActivityScreen #noted { display: none; }
    ActivityScreen.-noted #done { display: none; }
    ActivityScreen.-noted #noted { display: block; }
    ActivityScreen #detail { height: 35%; min-height: 6; border: round $secondary; padding: 0 1; }
    ActivityScreen #detail:focus { border: round $border; }
    ActivityScreen.-opened #detail { height: 3fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._source = DONE
        self._agent: tuple[str, str] | None = None
        """Id and name of the only agent shown, None for all."""
        self._kind = self._level = ""
        self._order: list[str] = []
        """Active filters of the operations log (`kind`, `agent`), the newest last."""
        self._limits = {DONE: FIRST, NOTED: FIRST}
        self._done: dict[str, Entry] = {}
        self._noted: dict[str, JsonObject] = {}
        self._kinds: list[tuple[str, int]] = []
        self._is_held = self._is_waiting = False
        self._news = CoalescedRequest(self._request_news)
        self._shown_as: dict[str, tuple[str, ...]] = {}

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield FilteredTable(DONE_COLUMNS, title="Events", empty="Looking...", glyphs=self.glyphs, id=DONE)
        yield FilteredTable(NOTED_COLUMNS, title="Daemon's log", empty="Looking...", glyphs=self.glyphs, id=NOTED)
        with VerticalScroll(id="detail"):
            yield Static("", id="detail-text")

    def on_mount(self) -> None:
        self.table.focus()

    def twin(self) -> tuple[str, ...]:
        if self._source == NOTED:
            return ("daemon", "log", "--lines", str(self._limits[NOTED]), *self._narrowed())
        name = () if self._agent is None else (self._agent[1],)
        return ("log", *name, "--limit", str(self._limits[DONE]), *self._narrowed())

    def crumbs(self) -> tuple[str, ...]:
        return ("lifeboat", "activity", "daemon's log") if self._source == NOTED else ("lifeboat", "activity")

    def _narrowed(self) -> tuple[str, ...]:
        if self._source == NOTED:
            return ("--level", self._level) if self._level else ()
        return ("--kind", self._kind) if self._kind else ()

    async def load(self) -> None:
        await (self._load_noted() if self._source == NOTED else self._load_done())

    async def _load_done(self) -> None:
        name = () if self._agent is None else (self._agent[0],)
        words = ("log", *name, "--limit", str(self._limits[DONE]), *self._narrowed())
        entries = (await self.fetch(Log, *words)).entries
        if not self._kind:
            self._kinds = count_kinds(one.kind for one in entries)
        rows = list(build_log_rows(entries))
        self._done = {row.key: one for row, one in rows if one is not None}
        parts = [self._kind, "" if self._agent is None else self._agent[1]]
        empty = NOTHING_FITS if any(parts) else NOTHING
        self._show(DONE, [row for row, _ in rows], words, parts, empty)

    async def _load_noted(self) -> None:
        words = ("daemon", "log", "--lines", str(self._limits[NOTED]), *self._narrowed())
        events = (await self.fetch(ServiceLog, *words)).events
        rows = list(build_event_rows(events, self._names(), self.glyphs))
        self._noted = {row.key: one for row, one in rows if one is not None}
        parts = [f"level {self._level} and above" if self._level else ""]
        self._show(NOTED, [row for row, _ in rows], words, parts, NOTHING_FITS if self._level else NOTHING_NOTED)

    def _show(self, source: str, rows: list[TableRow], words: tuple[str, ...], parts: list[str], empty: str) -> None:
        """Show the rows. Rows added since the last answer to the same question flash."""
        if not self.is_mounted:
            return
        table = self.query_one(f"#{source}", FilteredTable).table
        is_news = self._shown_as.get(source) == words and bool(table.rows)
        self._shown_as[source] = words
        title = "Daemon's log" if source == NOTED else "Events"
        table.title = " · ".join([title, *filter(None, (make_plain(part) for part in parts))])
        table.empty = empty
        is_on_top = table.scroll_offset.y == 0 and table.cursor < table.size.height - 2
        table.show(rows, flash=is_news, flash_new=is_news)
        if is_on_top:  # keep new rows in sight when the top was in sight
            table.scroll_to(y=0, animate=False)
        self._describe()

    def _names(self) -> dict[str, str]:
        status = self.lifeboat.status
        return {one.id: one.name for one in status.agents} if status is not None else {}

    # New entries ------------------------------------------------------------------------------------------------

    def handle_event(self, event: JsonObject) -> None:
        kind = event.get("event")
        is_end = kind == "job" and event.get("state") in ("done", "failed")
        if not (is_end or kind in _NEWS[self._source]):
            return
        if self._is_held:
            self._is_waiting = True
        else:
            self.look_for_news()

    @work(group="news", exit_on_error=False)
    async def look_for_news(self) -> None:
        """Request new entries. Events that arrive during a request cause one more request."""
        try:
            await self._news.run()
        except LifeboatError as error:
            self.say_problem(error)

    async def _request_news(self) -> None:
        await self.load()
        self.say_problem(None)

    def do_follow(self) -> None:
        self._is_held = not self._is_held
        self.tell_user(
            "New events are not shown. Press f to show them." if self._is_held else "New events appear automatically."
        )
        if not self._is_held and self._is_waiting:
            self._is_waiting = False
            self.look_for_news()

    # The entry under the cursor ---------------------------------------------------------------------------------

    @property
    def table(self) -> RowTable:
        return self.query_one(f"#{self._source}", FilteredTable).table

    @property
    def entry(self) -> Entry | None:
        """Return the entry under the cursor, None in the log of the service."""
        row = self.table.current if self.is_mounted and self._source == DONE else None
        return None if row is None else self._done.get(row.key)

    @on(RowTable.Moved)
    def _moved(self, event: RowTable.Moved) -> None:
        if event.table is not self.table:
            return
        self._describe()
        self.refresh_bars()
        limit, there = self._limits[self._source], len(self._noted if self._source == NOTED else self._done)
        if limit <= there and limit < MOST and self.table.cursor >= len(self.table.rows) - NEAR:
            self._limits[self._source] = min(MOST, 3 * limit)
            self.look_for_news()

    def _describe(self) -> None:
        row = self.table.current
        lines: list[Content] = []
        if row is not None and self._source == DONE and row.key in self._done:
            lines = list(describe_log_entry(self._done[row.key]))
        elif row is not None and self._source == NOTED and row.key in self._noted:
            lines = list(describe_event(self._noted[row.key], self._names()))
        self.describe(lines)

    def do_open(self) -> None:
        """Enlarge the detail pane and focus it."""
        self.toggle_class("-opened")
        (self.query_one("#detail") if self.has_class("-opened") else self.table).focus()

    def do_back(self) -> None:
        """Close the details; without details remove the newest filter; without filters close the screen."""
        if self.has_class("-opened"):
            self.do_open()
        elif any(listing.clear_filter() for listing in self.query(FilteredTable)):
            return
        elif self._source == NOTED and self._level:
            self.show_level("")
        elif self._source == NOTED:
            self.do_log()
        elif self._order[-1:] == ["agent"]:
            self.show_agent(None)
        elif self._order:
            self.show_kind("")
        else:
            super().do_back()

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        if act == "open" and self.table.current is None:
            return "select a line first"
        if act == "origin":
            return self._why_no_origin()
        if act == "agent" and self._source == NOTED:
            return "the daemon's log cannot be limited to one agent; press / to filter its lines"
        if act == "kind" and self._source == DONE and not self._kinds:
            return "there are no events yet"
        return None

    def _why_no_origin(self) -> str | None:
        one = self.entry
        if one is None:
            return "select an event"
        if one.kind == "purge" or one.sequence is not None:
            return None
        return "this event does not belong to a single sequence"

    def do_origin(self) -> None:
        one = self.entry
        assert one is not None
        if one.kind == "purge":
            from lifeboat_tui.screens.purge.receipts_screen import ReceiptsScreen

            self.app.push_screen(ReceiptsScreen())
            return
        from lifeboat_tui.screens.timeline.timeline_screen import TimelineScreen

        self.app.push_screen(TimelineScreen(one.agent, at=one.sequence))

    def do_log(self) -> None:
        self._source = DONE if self._source == NOTED else NOTED
        self.set_class(self._source == NOTED, "-noted")
        self.table.focus()
        self._describe()
        self.reload()

    @attempted
    async def do_kind(self) -> None:
        """Ask for the kind of entries, or for the level in the log of the service."""
        if self._source == NOTED:
            choices = [("", "everything"), *((level, f"level {level} and above") for level in LEVELS[1:-1])]
            choices.append((LEVELS[-1], "only errors"))
            level = await self.answer(ChoiceDialog("How grave?", choices, here=self._level))
            if level is not None:
                self.show_level(level)
            return
        choices = [("", "every kind"), *((name, f"{name}  ({count})") for name, count in self._kinds)]
        kind = await self.answer(ChoiceDialog("Which kind?", choices, here=self._kind))
        if kind is not None:
            self.show_kind(kind)

    @attempted
    async def do_agent(self) -> None:
        names = self._names()
        here = "" if self._agent is None else self._agent[0]
        question = ChoiceDialog("Which agent?", [("", "all agents"), *names.items()], here=here)
        found = await self.answer(question)
        if found is not None:
            self.show_agent((found, names[found]) if found else None)

    def show_kind(self, kind: str) -> None:
        """Show only entries of one kind, "" for all."""
        self._kind = kind
        self._narrow("kind", is_set=bool(kind))

    def show_agent(self, agent: tuple[str, str] | None) -> None:
        """Show only entries of one agent (its id and name), None for all."""
        self._agent = agent
        self._narrow("agent", is_set=agent is not None)

    def show_level(self, level: str) -> None:
        """Show only entries of the service log from this level up, "" for all."""
        self._level = level
        self._narrow("level", is_set=False)

    def _narrow(self, what: str, *, is_set: bool) -> None:
        self._order = [*(one for one in self._order if one != what), *([what] if is_set else [])]
        self._limits[self._source] = FIRST
        self.reload()
