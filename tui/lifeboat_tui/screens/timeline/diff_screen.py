"""Screen of the differences between two sequences: files and memories on the left, their lines on the right."""

from __future__ import annotations

import asyncio
import glob
from collections.abc import Iterator

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.documents.diff_documents import Difference, Moment
from lifeboat_core.texts.human_text import count_text, quote_argument
from lifeboat_tui.cell_text import format_local_day, format_local_time, make_plain
from lifeboat_tui.screens.agent_screen import AgentScreen
from lifeboat_tui.screens.lifeboat_screen import FILTER
from lifeboat_tui.screens.timeline.diff_lines import (
    FILES,
    MEMORIES,
    OTHERS,
    WORDS,
    DiffChange,
    build_change_lines,
    list_changes,
    summarize_changes,
)
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.diff_view import DiffView
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableColumn, TableRow

WORKSPACE = "workspace"
"""Name of the current workspace on the command line."""
COLUMNS = (
    TableColumn("", 1),
    TableColumn("NAME", 14, grow=1),
    TableColumn("+", 4, right=True, rank=2),
    TableColumn("-", 4, right=True, rank=1),
)
HEADINGS = {FILES: "FILES", MEMORIES: "MEMORIES", OTHERS: "DERIVED"}
_LETTER_KINDS = {"A": "added", "D": "removed", "M": "accent", "T": "muted"}


class DiffScreen(AgentScreen):
    """Difference of `first` and `second`, each a sequence or `workspace`, the earlier one first. `path`: show only this
    file, complete."""

    NAME = "Differences"
    ACTS = (
        UserAction("next_change", "n", "next", "Go to the next change", footer=True),
        UserAction("last_change", "N", "previous", "Go to the previous change", footer=True),
        UserAction("whole", "L", "all lines", "Show all changed lines of the file under the cursor", footer=True),
        UserAction("restore", "r", "restore before", "Restore the file as it was before the change", footer=True),
        UserAction("restore_after", "R", "restore after", "Restore the file as it was after the change"),
        FILTER,
    )
    HELP = """
The list on the left contains the changes; the lines of each change are on the right: + was added, - was removed. Tab
moves the focus to the lines; n and N jump between changes.

A means added, M modified, D deleted, T only a new date or new permissions. Secrets that were removed from the stored
files are not shown.
"""
    CSS = """
    DiffScreen #about { height: auto; max-height: 4; padding: 0 1; }
    DiffScreen #split { height: 1fr; }
    DiffScreen #changes { width: 38%; min-width: 30; max-width: 64; }
    DiffScreen #lines { width: 1fr; height: 1fr; }
    DiffScreen.-narrow #split { layout: vertical; }
    DiffScreen.-narrow #changes { width: 100%; max-width: 100%; height: 35%; min-height: 5; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]

    def __init__(self, agent_id: str, first: str, second: str, *, path: str | None = None) -> None:
        super().__init__(agent_id)
        self.first, self.second, self.path = first, second, path
        self._difference: Difference | None = None
        self._changes: dict[str, DiffChange] = {}

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield Static("", id="about", markup=False)
        with Horizontal(id="split"):
            yield FilteredTable(COLUMNS, title="Changes", empty="Looking...", glyphs=self.glyphs, id="changes")
            yield DiffView(glyphs=self.glyphs, id="lines")

    def twin(self) -> tuple[str, ...]:
        return ("diff", self.agent_name, self.first, self.second, *self._only())

    def crumbs(self) -> tuple[str, ...]:
        path = () if self.path is None else (self.path,)
        return ("lifeboat", self.agent_name, f"{self.first} {self.glyphs.sign('arrow')} {self.second}", *path)

    def _only(self) -> tuple[str, ...]:
        return () if self.path is None else (f"--path={glob.escape(self.path)}",)

    async def load(self) -> None:
        found = await self.fetch(Difference, "diff", self.agent_id, self.first, self.second, *self._only())
        if found == self._difference:
            return
        changes = await asyncio.to_thread(list_changes, found)
        lines = await asyncio.to_thread(build_change_lines, changes)
        self._difference, self._changes = found, {change.key: change for change in changes}
        part = self.view.part
        self.view.show(lines)
        self.view.go_to_part(part)
        self.table.empty = "No differences."
        self.table.show(_rows(changes))
        self.query_one("#about", Static).update("\n".join(map(make_plain, self._about(found, changes))))

    def handle_event(self, event: JsonObject) -> None:
        if event.get("event") == "capture" and event.get("agent") == self.agent_id and self.second == WORKSPACE:
            self.reload()

    def _about(self, found: Difference, changes: list[DiffChange]) -> Iterator[str]:
        ends = f"{_moment(found.first)} {self.glyphs.sign('arrow')} {_moment(found.second)}"
        yield f"{ends}: {summarize_changes(changes)} changed"
        if found.truncated:
            shown = len(changes)
            total = shown if found.total is None else found.total.files + found.total.records + found.total.documents
            missing = f" Not shown: {count_text(total - shown, 'change')}." if total > shown else ""
            command = " ".join(("lifeboat", *map(quote_argument, self.twin()), "--limit", "1GB"))
            yield (
                f"{self.glyphs.sign('warning')} The changes are too long to show here.{missing} To see all "
                f"changes: {command}"
            )

    @property
    def view(self) -> DiffView:
        return self.query_one("#lines", DiffView)

    @property
    def chosen(self) -> DiffChange | None:
        """Return the change under the cursor."""
        return self._changes.get(self.row_key or "")

    @on(RowTable.Moved, "#changes-table")
    def _moved(self, event: RowTable.Moved) -> None:
        if event.row is not None and event.row.key != self.view.part:
            self.view.go_to_part(event.row.key)
        self.refresh_bars()

    @on(RowTable.Chosen, "#changes-table")
    def _chosen(self) -> None:
        self.view.focus()

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        change = self.chosen
        if act == "whole":
            return _why_not_whole(change)
        if act in ("restore", "restore_after") and change is None:
            return "no change is selected"
        if act == "restore" and change is not None and change.path and change.letter == "A":
            return "this file did not exist before the change; press R to restore the new version"
        if act == "restore_after" and self.second == WORKSPACE:
            return "the workspace already contains this version"
        if act == "restore_after" and change is not None and change.path and change.letter == "D":
            return "this change removed the file; press r to restore the earlier version"
        return None

    def do_next_change(self) -> None:
        self._go(1, "This is the last change.")

    def do_last_change(self) -> None:
        self._go(-1, "This is the first change.")

    def _go(self, step: int, otherwise: str) -> None:
        if self.view.go_to_change(step):
            self.table.select(self.view.part)
        else:
            self.tell_user(otherwise)

    def do_whole(self) -> None:
        change = self.chosen
        if change is not None:
            self.app.push_screen(DiffScreen(self.agent_id, self.first, self.second, path=change.path))

    def do_restore(self) -> None:
        self._restore(self.first)

    def do_restore_after(self) -> None:
        self._restore(self.second)

    def _restore(self, at: str) -> None:
        from lifeboat_tui.screens.restore.restore_wizard import RestoreWizard

        self.is_outdated = True
        change = self.chosen
        paths = (change.path,) if change is not None and change.path else ()
        self.app.push_screen(RestoreWizard(self.agent_id, at=at, paths=paths))


def _why_not_whole(change: DiffChange | None) -> str | None:
    if change is None or not change.path:
        return "select a file on the left"
    return None if change.is_cut else "all changed lines of this file are already shown"


def _moment(moment: Moment) -> str:
    if moment.sequence is None or moment.time is None:
        return "the current workspace"
    return f"sequence {moment.sequence} ({format_local_day(moment.time)} {format_local_time(moment.time)})"


def _rows(changes: list[DiffChange]) -> Iterator[TableRow]:
    kind = None
    for change in changes:
        if change.kind != kind:
            kind = change.kind
            count = sum(each.kind == kind for each in changes)
            yield TableRow(f"heading:{kind}", (f"{HEADINGS[kind]} [{count}]",), heading=True)
        yield TableRow(
            change.key,
            (
                TableCell(change.letter, _LETTER_KINDS.get(change.letter, "")),
                change.name,
                TableCell(str(change.added or ""), "added"),
                TableCell(str(change.removed or ""), "removed"),
            ),
            search=f"{change.name} {WORDS.get(change.letter, '')}",
        )
