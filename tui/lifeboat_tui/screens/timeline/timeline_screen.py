"""Timeline of an agent: every sequence by day, and the changes of the sequence under the cursor."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static
from textual.worker import Worker

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.diff_documents import Difference
from lifeboat_core.documents.timeline_documents import Entry
from lifeboat_core.documents.timeline_documents import Timeline as Answer
from lifeboat_core.texts.human_text import quote_argument, time_text
from lifeboat_daemon.control.command_runner import CommandProgress
from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.screens.agent_screen import AgentScreen
from lifeboat_tui.screens.dashboard_screen import describe_outcome
from lifeboat_tui.screens.lifeboat_screen import FILTER, attempted
from lifeboat_tui.screens.timeline.diff_lines import FILES, MEMORIES, DiffChange, list_changes
from lifeboat_tui.screens.timeline.diff_screen import DiffScreen
from lifeboat_tui.screens.timeline.timeline_rows import (
    COLUMNS,
    WORKSPACE,
    build_preview_lines,
    build_timeline_rows,
    build_workspace_row,
    describe_sequence,
    format_change_counts,
    format_chart_range,
    format_chart_unit,
)
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.bar_chart import BarChart
from lifeboat_tui.widgets.diff_view import MUTED, NOTE, DiffLine, DiffView
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.progress_display import ProgressDisplay
from lifeboat_tui.widgets.question_dialogs import TextDialog
from lifeboat_tui.widgets.row_table import RowTable

DAYS = 60
"""Number of days in the chart."""
LONGEST_NAME = 200
PREVIEW = "64KB"
"""Maximum size of a comparison requested while the cursor moves."""
REMEMBERED = 64
"""Number of cached comparisons, so that earlier rows appear without delay."""
PAUSE = 0.08
"""Seconds that the cursor must rest before a comparison starts, so that a held key causes none."""
_ABOUT_ONE = ("open", "restore", "mark", "label", "now", "verify")


class TimelineScreen(AgentScreen):
    """Timeline of one agent. `at` is the sequence under the cursor at first."""

    NAME = "Timeline"
    ENTER = "open"
    ACTS = (
        UserAction("open", "enter", "full diff", "Show what this sequence changed, line by line", footer=True),
        UserAction("restore", "r", "restore from here", "Restore the agent from this sequence", footer=True),
        UserAction("mark", "m", "mark", "Mark this sequence; mark a second one to compare the two", footer=True),
        UserAction(
            "label",
            "t",
            "name",
            "Name the sequence, so that it is never removed as an old sequence",
            footer=True,
            writes=True,
        ),
        UserAction("find", "F", "search history", "Search all sequences for words", footer=True),
        UserAction("now", "d", "diff to now", "Show what changed between this sequence and the current workspace"),
        UserAction("verify", "v", "verify", "Read this sequence back and compare every byte"),
        UserAction("sync", "s", "sync", "Capture the agent now and push it to every remote", writes=True),
        UserAction("stop", "x", "stop", "Stop the running command at its next safe point"),
        UserAction("chart", "D", "hours, days", "Switch the chart between hours and days"),
        UserAction(
            "older",
            "H",
            "replaced history",
            "Restore from an earlier history of this agent, which another history replaced",
        ),
        FILTER,
    )
    HELP = """
Each line is one captured sequence. Its changes are beside the list or below it. A sequence has the same number on every
machine. The first line is the workspace if it has changes that are not captured yet.

A verified sequence was read back and compared byte for byte. Lifeboat removes (thins) old sequences, but never a named
sequence. To compare two sequences, press m on each of them; esc removes the mark.
"""
    CSS = """
    TimelineScreen #aside { display: none; height: auto; max-height: 2; padding: 0 1; color: $text-warning; }
    TimelineScreen #aside.-shown { display: block; }
    TimelineScreen #split { height: 1fr; }
    TimelineScreen #sequences { width: 62%; }
    TimelineScreen #preview { width: 1fr; height: 1fr; }
    TimelineScreen.-narrow #split { layout: vertical; }
    TimelineScreen.-narrow #sequences { width: 100%; height: 60%; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]

    def __init__(self, agent_id: str, *, at: int | None = None) -> None:
        super().__init__(agent_id)
        self._at = at
        self._answer = Answer()
        self._by_key: dict[str, int] = {}
        """Position in the entries of each row's sequence."""
        self._marks: list[str] = []
        self._ahead: tuple[str, str] | None = None
        """Text of the workspace's row, and the kind of its style."""
        self._ahead_changes: list[DiffChange] = []
        self._seen: dict[str, list[DiffLine]] = {}
        self._days: int | None = None
        self._at_work: Worker[None] | None = None
        self._known: tuple[object, ...] = ()

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield BarChart(self.glyphs, id="chart")
        yield Static("", id="aside", markup=False)
        with Horizontal(id="split"):
            yield FilteredTable(COLUMNS, title="Sequences", empty="Looking...", glyphs=self.glyphs, id="sequences")
            yield DiffView(glyphs=self.glyphs, id="preview")
        yield ProgressDisplay(self.glyphs, id="running")

    def twin(self) -> tuple[str, ...]:
        return ("timeline", self.agent_name, *self._chart_words())

    def _chart_words(self) -> tuple[str, ...]:
        return () if self._days is None else ("--days", str(self._days))

    async def load(self) -> None:
        self._answer = await self.fetch(Answer, "timeline", self.agent_id, *self._chart_words())
        self._by_key = {str(entry.sequence): at for at, entry in enumerate(self._answer.entries)}
        self._seen.clear()
        self.table.empty = f"{make_plain(self.agent_name)} has not been captured yet. Press s to capture it now."
        self._show()
        self.look_at_workspace()
        if self._at is not None:
            self.show_sequence(self._at)
            self._at = None

    def handle_event(self, event: JsonObject) -> None:
        kind, about_whom = event.get("event"), event.get("agent")
        if (kind in ("capture", "push", "notice") and about_whom == self.agent_id) or (
            kind == "status" and self._has_news()
        ):
            self.reload()
        elif kind == "tick":
            self._show()  # relative days change at midnight

    def _has_news(self) -> bool:
        """Return True if the status reports a change that this screen shows."""
        agent = self.lifeboat.find_agent(self.agent_id)
        before, self._known = self._known, () if agent is None else (agent.sequence, agent.last_verified_at)
        return bool(before) and before != self._known

    def _show(self) -> None:
        if not self.is_mounted:
            return
        activity, aside = self._answer.activity, self._answer.set_aside
        self.query_one(BarChart).say(
            activity.counts, format_chart_unit(activity), partial(format_chart_range, activity)
        )
        marks = {key: f"m{nth}" for nth, key in enumerate(self._marks, 1)}
        rows = list(build_timeline_rows(self._answer.entries, marks, self.link.now(), self.glyphs))
        if self._ahead is not None:
            rows.insert(0, build_workspace_row(*self._ahead, mark=marks.get(WORKSPACE, "")))
        table, was_empty = self.table, not self.table.rows
        is_on_top = table.scroll_offset.y == 0 and table.cursor < table.size.height - 2
        table.show(rows)
        if was_empty and self._answer.entries:
            table.select(str(self._answer.entries[0].sequence))
        if is_on_top:  # keep new rows in sight when the top was in sight
            table.scroll_to(y=0, animate=False)
        note = self.query_one("#aside", Static)
        note.set_class(bool(aside), "-shown")
        note.update("\n".join(self._aside_lines()))

    def _aside_lines(self) -> Iterator[str]:
        for one in self._answer.set_aside:
            until = f" until {time_text(one.until)}" if one.until else ""
            yield (
                f"{self.glyphs.sign('warning')} An earlier history of this agent, which was replaced, is "
                f"kept{until}. Press H to restore from it."
            )

    def show_sequence(self, number: int) -> None:
        """Put the cursor on a sequence, or on the next older one if it was thinned."""
        self.query_one("#sequences", FilteredTable).clear_filter()
        found = next((entry for entry in self._answer.entries if entry.sequence <= number), None)
        if found is not None:
            self.table.select(str(found.sequence))
            if found.sequence != number:
                self.tell_user(f"Sequence {number} is no longer stored; the sequence before it is shown.")

    @work(exclusive=True, group="workspace", exit_on_error=False)
    async def look_at_workspace(self) -> None:
        """Show changes that are not captured yet as the first row."""
        if not self._answer.entries:
            return
        try:
            found = await self.fetch(Difference, "diff", self.agent_id)
            self._ahead_changes = await asyncio.to_thread(list_changes, found)
            self._ahead = None if found.is_empty else (_waiting_text(self._ahead_changes), "warning")
        except LifeboatError as error:
            self._ahead_changes = []
            self._ahead = (f"the workspace cannot be read: {error.message}", "error")
        self._show()
        if self._chosen_key == WORKSPACE:
            self.follow_cursor()

    # The sequence under the cursor ------------------------------------------------------------------------------

    @property
    def view(self) -> DiffView:
        return self.query_one("#preview", DiffView)

    @property
    def _chosen_key(self) -> str | None:
        row = self.table.current if self.is_mounted else None
        return None if row is None or row.heading else row.key

    @property
    def chosen(self) -> Entry | None:
        """Return the sequence under the cursor; None on the row of the workspace."""
        at = self._by_key.get(self._chosen_key or "")
        return None if at is None else self._answer.entries[at]

    def _before(self, entry: Entry) -> Entry | None:
        """Return the next older sequence."""
        at = self._by_key[str(entry.sequence)] + 1
        return self._answer.entries[at] if at < len(self._answer.entries) else None

    @on(RowTable.Moved, "#sequences-table")
    def _moved(self) -> None:
        self.refresh_bars()
        self.follow_cursor()

    @work(exclusive=True, group="preview", exit_on_error=False)
    async def follow_cursor(self) -> None:
        """Show the changes of the sequence under the cursor."""
        key, entry = self._chosen_key, self.chosen
        if key is None:
            self._preview("", [])
        elif entry is None:
            await self._preview_workspace()
        else:
            await self._preview_sequence(key, entry)

    async def _preview_workspace(self) -> None:
        newest = self._answer.entries[0].sequence if self._answer.entries else ""
        command = f"lifeboat diff {quote_argument(self.agent_name)}"
        head = [DiffLine("The current changes are not captured yet. Press s to capture them.", NOTE)]
        self._preview(
            f"{newest} {self.glyphs.sign('arrow')} now",
            [*head, *build_preview_lines(self._ahead_changes, truncated=False, command=command)],
        )

    async def _preview_sequence(self, key: str, entry: Entry) -> None:
        before, head = self._before(entry), list(describe_sequence(entry))
        if before is None:
            self._preview(key, [*head, DiffLine(""), DiffLine("This is the oldest stored sequence.", MUTED)])
            return
        title = f"{before.sequence} {self.glyphs.sign('arrow')} {key}"
        if key not in self._seen:
            self._preview(title, [*head, DiffLine(""), DiffLine("Comparing...", MUTED)])
            await asyncio.sleep(PAUSE)
            self._remember(key, await self._compared(before, entry))
        self._preview(title, [*head, *self._seen[key]])

    async def _compared(self, before: Entry, entry: Entry) -> list[DiffLine]:
        words = (str(before.sequence), str(entry.sequence))
        try:
            found = await self.fetch(Difference, "diff", self.agent_id, *words, "--limit", PREVIEW)
        except LifeboatError as error:
            return [DiffLine(""), DiffLine(f"{error.title}: {error.message}", NOTE)]
        command = " ".join(("lifeboat", "diff", quote_argument(self.agent_name), *words))
        return build_preview_lines(
            await asyncio.to_thread(list_changes, found), truncated=found.truncated, command=command
        )

    def _remember(self, key: str, lines: list[DiffLine]) -> None:
        while len(self._seen) >= REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self._seen[key] = lines

    def _preview(self, title: str, lines: list[DiffLine]) -> None:
        self.view.border_title = make_plain(title).replace("[", r"\[")
        self.view.show(lines)

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        key, entry = self._chosen_key, self.chosen
        if act in _ABOUT_ONE and key is None:
            return "the agent has no sequence yet; press s to capture it"
        if act in ("restore", "label", "verify") and entry is None:
            return "the current workspace is selected; select a sequence"
        if act == "open" and entry is not None and self._before(entry) is None:
            return "there is no earlier sequence to compare with; press d to compare with the workspace"
        if act in ("verify", "sync") and self._at_work is not None:
            return "a command is running; press x to stop it"
        if act == "stop" and self._at_work is None:
            return "no command is running"
        if act == "older" and not self._answer.set_aside:
            return "no earlier history of this agent was replaced"
        return None

    def do_open(self) -> None:
        entry = self.chosen
        if entry is None:
            self._compare(str(self._answer.entries[0].sequence), WORKSPACE)
        elif (before := self._before(entry)) is not None:
            self._compare(str(before.sequence), str(entry.sequence))

    def do_now(self) -> None:
        entry = self.chosen or self._answer.entries[0]
        self._compare(str(entry.sequence), WORKSPACE)

    def _compare(self, first: str, second: str) -> None:
        self.app.push_screen(DiffScreen(self.agent_id, first, second))

    def do_mark(self) -> None:
        """Set the first mark, or the second one and compare both sequences, the earlier one first."""
        key = self._chosen_key
        assert key is not None
        if key in self._marks:
            self._marks.remove(key)
        else:
            self._marks = [*self._marks, key] if len(self._marks) < 2 else [key]
        self._show()
        if len(self._marks) == 2:
            first, second = sorted(self._marks, key=lambda each: (each == WORKSPACE, int(each.replace(WORKSPACE, "0"))))
            self._compare(first, second)
        elif self._marks:
            self.tell_user("The sequence is marked. Press m on another sequence to compare the two.")

    def do_back(self) -> None:
        """Clear a filter if one is set; otherwise clear the marks; otherwise close the screen."""
        if self._marks and not self.query_one("#sequences", FilteredTable).has_class("-filtering"):
            self._marks = []
            self._show()
            return
        super().do_back()

    def do_restore(self) -> None:
        entry = self.chosen
        assert entry is not None
        self._restore(at=str(entry.sequence))

    def _restore(self, **of: Any) -> None:
        from lifeboat_tui.screens.restore.restore_wizard import RestoreWizard

        self.is_outdated = True
        self.app.push_screen(RestoreWizard(self.agent_id, **of))

    @attempted
    async def do_older(self) -> None:
        """Restore from a displaced history. If there are several, ask which."""
        aside = self._answer.set_aside
        name = await self.choose_one(
            "Which history?", [(one.name, f"{one.name}  {time_text(one.since) if one.since else ''}") for one in aside]
        )
        if name is not None:
            self._restore(remote=name)

    def do_find(self) -> None:
        from lifeboat_tui.screens.history_search_screen import HistorySearchScreen

        self.app.push_screen(HistorySearchScreen(self.agent_id, found=self.show_sequence))

    def do_chart(self) -> None:
        self._days = DAYS if self._days is None else None
        self.reload()

    @attempted
    async def do_label(self) -> None:
        """Ask for a name; an empty one removes the name."""
        entry = self.chosen
        assert entry is not None
        question = TextDialog(
            f"Name for sequence {entry.sequence}",
            [
                "Old sequences are removed after some time, but this machine keeps named ones. To remove the name, "
                "leave the field empty."
            ],
            value=entry.label or "",
            placeholder="before the move",
            problem=_name_problem,
        )
        name = await self.answer(question)
        if name is None or name.strip() == (entry.label or ""):
            return
        words = (name.strip(),) if name.strip() else ("--remove",)
        await self.ask("label", self.agent_id, str(entry.sequence), *words)
        self.tell_user(
            f"Sequence {entry.sequence} "
            + (f"is now named: {name.strip()}" if name.strip() else "no longer has a name")
        )
        self.reload()

    # Long-running commands --------------------------------------------------------------------------------------

    def do_verify(self) -> None:
        entry = self.chosen
        assert entry is not None
        self._start(f"Verifying sequence {entry.sequence}", "verify", self.agent_id, "--at", str(entry.sequence))

    def do_sync(self) -> None:
        self._start("Syncing", "sync", self.agent_id)

    def do_stop(self) -> None:
        if self._at_work is not None:
            self.tell_user("Stopping when the current step is complete...")
            self._at_work.cancel()

    def _start(self, doing: str, *words: str) -> None:
        """Run a command as a worker of the app, so that it continues when this screen closes."""
        work_to_do = self._carry_out(doing, words)
        self._at_work = self.lifeboat.run_worker(work_to_do, group="run", exit_on_error=False)

    async def _carry_out(self, doing: str, words: tuple[str, ...]) -> None:
        app, name, running = self.lifeboat, self.agent_name, self.query_one(ProgressDisplay)
        running.tell(CommandProgress(doing))
        running.add_class("-shown")
        self.refresh_bars()
        try:
            said = await app.link.run(*words, tell=running.tell)
        except asyncio.CancelledError:
            app.notify(f"{doing}: stopped.", severity="warning", markup=False)
            raise
        except LifeboatError as error:
            app.notify(make_plain(f"{error.title}: {error.message}"), severity="error", markup=False)
            self._end_work(error)
        else:
            ended = make_plain(f"{name}: {describe_outcome(words, said.document)}")
            app.notify(ended, severity="error" if said.status else "information", markup=False)
            self._end_work(None)
        finally:
            self._at_work = None
            running.remove_class("-shown")
            app.refresh_bars()

    def _end_work(self, error: LifeboatError | None) -> None:
        self.lifeboat.ask_status()
        if self.is_attached:
            self.say_problem(error)
            if error is None:
                self.reload()


def _waiting_text(changes: list[DiffChange]) -> str:
    return format_change_counts(*(sum(change.kind == kind for change in changes) for kind in (FILES, MEMORIES)))


def _name_problem(text: str) -> str | None:
    name = text.strip()
    if len(name) > LONGEST_NAME or not name.isprintable():
        return f"A name is one line of at most {LONGEST_NAME} characters."
    return "A name cannot begin with -." if name.startswith("-") else None
