"""Screen of one memory: its full text, its source, its earlier versions and its links."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static, TextArea

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.documents.record_documents import Shown
from lifeboat_tui.cell_text import make_plain_lines
from lifeboat_tui.screens.memories.memory_actions import ACTS, MemoryActionsScreen
from lifeboat_tui.screens.memories.memory_texts import (
    BEFORE,
    LONGEST,
    LONGEST_RENDERED,
    RELATIONS,
    build_relation_rows,
    list_earlier_versions,
    list_memory_facts,
    render_memory,
)
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.row_table import RowTable

NOTHING_RELATED = "This memory has no earlier versions and no links."


class MemoryScreen(MemoryActionsScreen):
    NAME = "Memory"
    ENTER = "go"
    ACTS = (
        UserAction(
            "go", "enter", "go there", "Open the earlier version in the timeline, or the linked memory", footer=True
        ),
        *ACTS,
    )
    HELP = """
The whole text of one memory; r shows it as stored. Its source and its validity are below the text.

The list contains earlier versions of the memory and memories that it links to. Enter opens an earlier version in the
timeline, or a linked memory here; esc returns. A linked memory may be missing, because it was deleted or purged, or
because it never existed.
"""
    CSS = """
    MemoryScreen #words, MemoryScreen #rendered { height: 1fr; min-height: 4; border: round $secondary; }
    MemoryScreen #words:focus, MemoryScreen #rendered:focus { border: round $border; }
    MemoryScreen #rendered { padding: 0 1; }
    MemoryScreen.-raw #rendered { display: none; }
    MemoryScreen #words { display: none; }
    MemoryScreen.-raw #words { display: block; }
    MemoryScreen #below { height: 45%; min-height: 8; }
    MemoryScreen #facts { width: 1fr; border: round $secondary; padding: 0 1; }
    MemoryScreen #relations { width: 1fr; height: 1fr; }
    MemoryScreen.-narrow #below { layout: vertical; height: 60%; }
    MemoryScreen.-narrow #facts { height: 1fr; width: 100%; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]

    def __init__(self, agent_id: str, memory_id: str) -> None:
        super().__init__(agent_id)
        self._memory_id = memory_id
        self._shown: Shown | None = None

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        with Vertical():
            with VerticalScroll(id="rendered"):
                yield Static("Loading...", id="rendered-text", markup=False)
            yield TextArea("", read_only=True, show_cursor=False, soft_wrap=True, id="words")
            with Horizontal(id="below"):
                with VerticalScroll(id="facts", can_focus=False):
                    yield Static("", id="facts-text")
                yield FilteredTable(
                    RELATIONS, title="Related", empty=NOTHING_RELATED, glyphs=self.glyphs, id="relations"
                )

    def on_mount(self) -> None:
        self.table.focus()

    def twin(self) -> tuple[str, ...]:
        return ("records", "show", self.agent_name, self._memory_id)

    def crumbs(self) -> tuple[str, ...]:
        return ("lifeboat", self.agent_name, "memories", self._memory_id)

    async def load(self) -> None:
        found = await self.read_memory(self._memory_id)
        if found is not None and self.is_mounted:
            self._show(found)

    def handle_event(self, event: JsonObject) -> None:
        if event.get("event") == "capture" and event.get("agent") == self.agent_id:
            self.reload()

    def _show(self, shown: Shown) -> None:
        self._shown, self._memory_id = shown, shown.id
        self.show_memory()
        self.query_one("#facts-text", Static).update(Content("\n").join(list_memory_facts(shown)))
        self.table.show(build_relation_rows(shown, self.glyphs))
        self.refresh_bars()

    def show_memory(self) -> None:
        shown = self._shown
        if shown is None:
            return
        text, title = _whole(shown), "End of the text" if self.is_gone else "Text"
        is_raw = self.is_raw or len(text) > LONGEST_RENDERED
        self.set_class(is_raw, "-raw")
        words, rendered = self.query_one("#words", TextArea), self.query_one("#rendered", VerticalScroll)
        words.border_title = rendered.border_title = f"{title}, as stored" if is_raw else title
        stored = make_plain_lines(text)
        if is_raw and words.text != stored:
            words.load_text(stored)
        if not is_raw:
            self.query_one("#rendered-text", Static).update(render_memory(text, raw=False))

    # Actions ----------------------------------------------------------------------------------------------------

    @property
    def memory_id(self) -> str | None:
        return None if self._shown is None else self._shown.id

    @property
    def is_gone(self) -> bool:
        return self._shown is not None and (self._shown.forgotten or self._shown.status == "deleted")

    @property
    def is_pinned(self) -> bool:
        return self._shown is not None and self._shown.pinned

    @property
    def writing_sequence(self) -> int | None:
        return None if self._shown is None else self._shown.about.first_sequence

    def changed(self, old_id: str, now: Shown) -> None:
        self._show(now)

    def why_not(self, act: str) -> str | None:
        if act == "go":
            return self._why_not_there()
        return self.why_no_memory_action(act)

    def _why_not_there(self) -> str | None:
        row = self.table.current
        if self._shown is None or row is None:
            return "this memory has no earlier version and no link to open"
        kind, _, at = row.key.partition(":")
        if kind == BEFORE:
            before = list_earlier_versions(self._shown)[int(at)]
            if before.purged:
                return "this version was destroyed by a purge"
            return None if before.sequence is not None else "no stored sequence contains this version"
        link = self._shown.about.links[int(at)]
        return None if link.target is not None else f"the linked memory is {link.state}"

    @on(RowTable.Moved, "#relations-table")
    def _moved(self) -> None:
        self.refresh_bars()

    def do_go(self) -> None:
        row = self.table.current
        assert row is not None and self._shown is not None
        kind, _, at = row.key.partition(":")
        if kind == BEFORE:
            from lifeboat_tui.screens.timeline.timeline_screen import TimelineScreen

            self.app.push_screen(TimelineScreen(self.agent_id, at=list_earlier_versions(self._shown)[int(at)].sequence))
            return
        target = self._shown.about.links[int(at)].target
        assert target is not None
        self.app.push_screen(MemoryScreen(self.agent_id, target))


def _whole(shown: Shown) -> str:
    text = shown.about.text.rstrip("\n")
    if not text.strip():
        return "(the text of this memory is no longer stored)" if shown.status == "deleted" else "(no text)"
    if len(text) <= LONGEST:
        return text
    rest = f"(only the beginning is shown; press y to copy the command that prints all {len(text)} characters)"
    return f"{text[:LONGEST]}\n{rest}"
