"""First page of the restore wizard: the sequence, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from textual import on
from textual.app import ComposeResult
from textual.widgets import Static

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.remote_documents import Away, SecondCopies, There
from lifeboat_core.documents.timeline_documents import Entry, Timeline
from lifeboat_tui.cell_text import format_local_day, format_local_time, format_short_age
from lifeboat_tui.screens.restore.restore_step_page import RestoreStepPage
from lifeboat_tui.screens.timeline.timeline_rows import COLUMNS, build_timeline_rows, describe_sequence_changes
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import ChoiceDialog, TextDialog
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableRow

NEWEST = "newest"
"""Key of the row for the newest state of a remote."""
NOTHING = "This machine has no captured state of this agent. Press f to restore from a remote."
_LOCAL = "="
"""Key of this machine in the choice of sources."""


class RestorePointPage(RestoreStepPage):
    STEP = "Point"
    LABELS = {"open": "this one", "time": "type a time", "source": "other source", "filter": "filter"}

    def __init__(self) -> None:
        super().__init__(id="point")
        self.timeline = Timeline()
        self.away: Away | None = None
        """The agent as it is on the chosen remote."""

    def compose(self) -> ComposeResult:
        yield Static("", id="point-said", classes="said", markup=False)
        yield FilteredTable(COLUMNS, title="Sequences", empty=NOTHING, glyphs=self.wizard.glyphs, id="points")
        yield Static("", id="point-detail", classes="said", markup=False)

    @property
    def table(self) -> RowTable:
        return self.query_one("#points", FilteredTable).table

    def twin(self) -> tuple[str, ...]:
        agent, remote = self.wizard.agent_label, self.wanted.remote
        return ("timeline", agent) if remote is None or self._is_aside else ("agents", "list", "--remote", remote)

    @property
    def _is_aside(self) -> bool:
        return any(each.name == self.wanted.remote for each in self.timeline.set_aside)

    async def begin(self) -> None:
        try:
            self.timeline = await self.wizard.fetch(Timeline, "timeline", self.wanted.agent)
        except LifeboatError as error:
            if self.wanted.remote is None or error.code != "unknown_agent":
                raise
        self.away = await self._elsewhere()
        self._show()

    async def _elsewhere(self) -> Away | None:
        """Return the agent as it is on the chosen remote."""
        if self.wanted.remote is None or self._is_aside:
            return None
        there = (await self.wizard.fetch(There, "agents", "list", "--remote", self.wanted.remote)).agents
        return next((one for one in there if self.wanted.agent in (one.id, one.name)), None)

    # What is shown ----------------------------------------------------------------------------------------------

    def _show(self) -> None:
        self.say("point-said", *self._sentences())
        rows = [self._elsewhere_row()] if self.wanted.remote is not None else []
        entries = self.timeline.entries if self.wanted.remote is None else ()
        rows += build_timeline_rows(entries, {}, self.wizard.link.now(), self.wizard.glyphs)
        is_first = self.table.current is None
        self.table.show(rows)
        if is_first:
            self.table.select(self.wanted.at or self._offered() or "")

    def _sentences(self) -> Iterator[str | tuple[str, str]]:
        agent = self.wizard.agent
        if agent is not None and agent.held is not None and self.wanted.remote is None:
            yield (
                "error",
                (
                    "The newest capture is held, because it may be an accident: "
                    f"{agent.held.get('reason', 'it removed much')}."
                ),
            )
            if self._offered() is not None:
                yield f"Sequence {self._offered()} is the last one before the held capture."
        if self.wanted.remote is None:
            yield "Source: this machine. Choose the sequence to restore. Nothing is written before the last step."
        elif self._is_aside:
            yield (
                f"Source: the history {self.wanted.remote}, which another history replaced. Press t to choose "
                "an earlier sequence."
            )
        else:
            yield f"Source: the remote {self.wanted.remote}. Press t to choose an earlier sequence."

    def _offered(self) -> str | None:
        """Return the last sequence before a held one, None if nothing is held."""
        agent = self.wizard.agent
        previous = None if agent is None or agent.held is None else agent.held.get("previous")
        return None if previous is None else str(previous)

    def _elsewhere_row(self) -> TableRow:
        now, away = self.wizard.link.now(), self.away
        if self._is_aside:
            return TableRow(
                NEWEST, ("", TableCell("newest", "strong"), "", "the newest sequence of this history", "", "", "")
            )
        if away is None or away.sequence is None:
            return TableRow(
                NEWEST, ("", TableCell("none", "muted"), "", "the remote has no sequence of this agent", "", "", "")
            )
        when = format_short_age(away.written_at or away.time, now)
        what = f"the newest on the remote, {when}" + (f" by {away.machine}" if away.machine else "")
        return TableRow(NEWEST, ("", TableCell(str(away.sequence), "strong"), "", what, "", "", ""))

    def entry(self, at: str | None) -> Entry | None:
        """Return a sequence of this machine, the newest for None."""
        if self.wanted.remote is not None:
            return None
        entries = self.timeline.entries
        return next((each for each in entries if at is None or str(each.sequence) == at), None)

    @on(RowTable.Moved, "#points-table")
    def _moved(self, event: RowTable.Moved) -> None:
        event.stop()
        entry = None if event.row is None else self.entry(event.row.key)
        self.say("point-detail", *([] if entry is None else self._detail(entry)))

    def _detail(self, entry: Entry) -> Iterator[str | tuple[str, str]]:
        when = f"{format_local_day(entry.created_at)} {format_local_time(entry.created_at)}"
        label = f', named "{entry.label}"' if entry.label else ""
        yield f"Sequence {entry.sequence}, captured at {when}{label}: {describe_sequence_changes(entry)} changed."
        if entry.verified:
            places = ", ".join("on this machine" if each == "local" else f"in {each}" for each in entry.verified)
            yield "success", f"{self.wizard.glyphs.sign('done')} Verified {places}."
        if not entry.signed:
            yield "error", f"{self.wizard.glyphs.sign('warning')} This sequence has no valid signature."

    # Choosing ---------------------------------------------------------------------------------------------------

    async def open_row(self, key: str) -> None:
        if key == NEWEST and not self._is_aside and (self.away is None or self.away.sequence is None):
            self.wizard.tell_user(
                f"the remote {self.wanted.remote} has no sequence of this agent yet", severity="warning"
            )
            return
        self.wizard.wanted = replace(self.wanted, at=None if key == NEWEST else key)
        self.wizard.go_on()

    async def type_time(self) -> None:
        """Ask for a time, which selects the last sequence before it."""
        lines = [
            "Type a sequence number, or a local time such as 2026-11-20T18:00 for the last sequence before that time.",
            "If you leave the field empty, the newest sequence is used.",
        ]
        typed = await self.app.push_screen_wait(
            TextDialog("Which sequence or time?", lines, value=self.wanted.at or "", yes="This one")
        )
        if typed is not None:
            self.wizard.wanted = replace(self.wanted, at=typed.strip() or None)
            self.wizard.go_on()

    async def choose_source(self) -> None:
        """Ask for the source: this machine, a remote, or a displaced history."""
        found = (await self.wizard.fetch(SecondCopies, "remote", "list")).remotes
        choices = [(_LOCAL, "this machine")]
        choices += [(one.name, f"remote {one.name}") for one in found]
        choices += [
            (
                each.name,
                f"{each.name}: a history that was replaced"
                + (f" on {format_local_day(each.since)}" if each.since else ""),
            )
            for each in self.timeline.set_aside
        ]
        chosen = await self.app.push_screen_wait(
            ChoiceDialog("From which source should the agent be restored?", choices, here=self.wanted.remote or _LOCAL)
        )
        if chosen is not None:
            self.wizard.wanted = replace(self.wanted, remote=None if chosen == _LOCAL else chosen, at=None)
            self.wizard.reload()
