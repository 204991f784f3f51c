"""Screen of an agent's memories: a list with filters, and details of the memory under the cursor with its source."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.record_documents import Memory, Page, Shown
from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.markdown_text import strip_markdown
from lifeboat_tui.screens.lifeboat_screen import FILTER, attempted
from lifeboat_tui.screens.memories.memory_actions import ACTS, MemoryActionsScreen
from lifeboat_tui.screens.memories.memory_texts import (
    COLUMNS,
    build_memory_row,
    describe_listed_memory,
    describe_memory,
    style_faint,
)
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import ChoiceDialog
from lifeboat_tui.widgets.row_table import RowTable

FIRST_PAGE, LARGEST_PAGE = 500, 5000
"""Number of memories on the first page, and the maximum of later pages."""
NEAR = 100
"""Distance of the cursor from the last row at which the next page is requested."""
REST = 0.06
"""Seconds for which the cursor must rest on a memory before its details are read."""
TYPING = 0.4
"""Seconds after the last typed letter before the search starts."""
REMEMBERED = 128
"""Number of memory details that are cached while the list stays the same."""
TYPE, STATUS, IDENTITY, WORDS = "--type", "--status", "--identity-version", "--words"
_NAMES = {TYPE: "type", STATUS: "state", IDENTITY: "identity version", WORDS: "words"}
_ALL = ""
NOTHING = "No memories have been captured yet. To capture now: press 1, then s."
NOTHING_FITS = "No memory matches the filters. Press esc to remove the filter that you set last."


class MemoriesScreen(MemoryActionsScreen):
    NAME = "Memories"
    ENTER = "open"
    ACTS = (
        UserAction("open", "enter", "open", "Show the whole memory, its earlier versions and its links", footer=True),
        UserAction("words", "w", "find", "Search all memories, including those that are not loaded yet", footer=True),
        *ACTS,
        UserAction("review", "v", "review", "Review what the agent changed since you last looked"),
        UserAction("type", "T", "type", "Show only the memories of one type"),
        UserAction("status", "D", "state", "Show only active, archived or deleted memories"),
        UserAction(
            "identity",
            "I",
            "identity",
            "Show only the memories that were made under one version of the agent's identity",
        ),
        FILTER,
    )
    HELP = """
Current memories, newest first. The text, the source and the validity of the selected memory are beside the list or
below it; r shows the text as stored. D shows deleted and forgotten memories. w searches all memories.

T, D and I filter the list; esc removes these filters one by one. Forgetting hides a memory, even if its file still
contains it, and can be undone. P purges a memory: it is destroyed in the whole history. v shows what changed since you
last looked.
"""
    CSS = """
    MemoriesScreen #asked { display: none; background: $panel; }
    MemoriesScreen #asked.-shown { display: block; }
    MemoriesScreen #split { height: 1fr; }
    MemoriesScreen #memories { width: 60%; }
    MemoriesScreen #detail { width: 1fr; height: 1fr; border: round $secondary; padding: 0 1; }
    MemoriesScreen #detail:focus { border: round $border; }
    MemoriesScreen.-narrow #split { layout: vertical; }
    MemoriesScreen.-narrow #memories { width: 100%; height: 1fr; }
    MemoriesScreen.-narrow #detail { width: 100%; height: 45%; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]

    def __init__(self, agent_id: str) -> None:
        super().__init__(agent_id)
        self._filters: dict[str, str] = {}
        """Active filters by option, the newest last."""
        self._page = Page()
        self._memories: dict[str, Memory] = {}
        self._changed: dict[str, Memory] = {}
        """Memories changed on this screen. They stay visible even if they no longer match the filters."""
        self._read: dict[str, Shown] = {}
        self._is_loaded = False
        self._is_other = False
        """True if the next answer belongs to another question than the list that is shown."""
        self._typing: Timer | None = None
        self._sequence: int | None = None

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield Input(placeholder="type words to search for; esc clears the search", compact=True, id="asked")
        with Horizontal(id="split"):
            yield FilteredTable(COLUMNS, title="Memories", empty="Looking...", glyphs=self.glyphs, id="memories")
            with VerticalScroll(id="detail"):
                yield Static("", id="detail-text")

    def on_mount(self) -> None:
        self.table.focus()

    def twin(self) -> tuple[str, ...]:
        if self.memory_id is not None:
            return ("records", "show", self.agent_name, self.memory_id)
        return ("records", "list", self.agent_name, *self._narrowed())

    def _narrowed(self) -> tuple[str, ...]:
        return tuple(word for pair in self._filters.items() for word in pair)

    async def load(self) -> None:
        """Reload as many memories as are shown already."""
        before = self._narrowed()
        limit = max(FIRST_PAGE, len(self._memories))
        self._page = await self.fetch(Page, "records", "list", self.agent_id, *before, "--limit", str(limit))
        self._sequence = self._page.sequence
        if before == self._narrowed():
            self._is_loaded = True
            self._memories = {one.id: one for one in self._page.records}
            self._read.clear()
            self._show()
            self.follow_cursor()

    def handle_event(self, event: JsonObject) -> None:
        kind = event.get("event")
        if kind == "capture" and event.get("agent") == self.agent_id:
            self.reload()
        elif kind == "status" and self._is_loaded:
            agent = self.lifeboat.find_agent(self.agent_id)
            if agent is not None and agent.sequence != self._sequence and not self.lifeboat.is_stale:
                self._sequence = agent.sequence
                self.reload()

    def _show(self) -> None:
        if not self.is_mounted:
            return
        memories = list(_with(self._memories.values(), self._changed.values()))
        table = self.table
        table.empty = NOTHING_FITS if self._filters else NOTHING
        table.title = self._title(len(memories))
        here = None if table.current is None else table.current.key
        table.show([build_memory_row(one) for one in memories])
        if self._is_other and here not in {one.id for one in memories}:
            table.cursor = 0
        self._is_other = False
        self.refresh_bars()

    def _title(self, shown: int) -> str:
        loaded = f", the newest of {self._page.total}" if self._page.next is not None and shown else ""
        parts = [f"{_NAMES[option]}: {make_plain(value)}" for option, value in self._filters.items()]
        return " · ".join([f"Memories{loaded}", *parts])

    # The next page ----------------------------------------------------------------------------------------------

    @work(exclusive=True, group="more", exit_on_error=False)
    async def load_more(self) -> None:
        """Load the page after the last shown row."""
        after, before = self._page.next, self._narrowed()
        if after is None:
            return
        limit = str(min(LARGEST_PAGE, 2 * max(FIRST_PAGE, len(self._memories))))
        try:
            page = await self.fetch(Page, "records", "list", self.agent_id, *before, "--limit", limit, "--after", after)
        except LifeboatError as error:
            self.say_problem(error)
            return
        if before == self._narrowed() and after == self._page.next:
            self._page = page
            self._memories |= {one.id: one for one in page.records}
            self._show()

    # The memory under the cursor --------------------------------------------------------------------------------

    @property
    def chosen(self) -> Memory | None:
        key = self.row_key or ""
        return self._changed.get(key) or self._memories.get(key)

    @on(RowTable.Moved, "#memories-table")
    def _moved(self) -> None:
        self.refresh_bars()
        self.follow_cursor()
        if self._page.next is not None and self.table.cursor >= len(self.table.rows) - NEAR:
            self.load_more()

    @work(exclusive=True, group="detail", exit_on_error=False)
    async def follow_cursor(self) -> None:
        """Read the memory once the cursor rests on it."""
        memory = self.chosen
        if memory is None:
            self.describe((), title="")
            return
        if memory.id not in self._read:
            self.describe(describe_listed_memory(memory), title=memory.id)
            await asyncio.sleep(REST)
            try:
                found = await self.read_memory(memory.id)
            except LifeboatError as error:
                self.describe(
                    [
                        Content(make_plain(strip_markdown(memory.snippet))),
                        style_faint(f"{error.title}: {error.message}"),
                    ],
                    title=memory.id,
                )
                return
            if found is not None:
                self._remember(memory.id, found)
        shown = self._read.get(memory.id)
        if shown is not None:
            self.describe(describe_memory(shown, self.glyphs, raw=self.is_raw), title=memory.id)
            self.refresh_bars()

    def _remember(self, memory_id: str, shown: Shown) -> None:
        while len(self._read) >= REMEMBERED:
            del self._read[next(iter(self._read))]
        self._read[memory_id] = shown

    # Filters ----------------------------------------------------------------------------------------------------

    def narrow(self, option: str, value: str) -> None:
        """Set a filter; an empty value removes it."""
        if self._filters.get(option, "") == value:
            return
        self._filters.pop(option, None)
        if value:
            self._filters[option] = value
        self._memories, self._changed, self._page = {}, {}, msgspec.structs.replace(self._page, next=None)
        self._is_other = True
        self.reload()

    def do_type(self) -> None:
        self.choose(TYPE, "Which type?", self._page.types, "all types")

    def do_status(self) -> None:
        self.choose(STATUS, "Which state?", self._page.statuses, "all except deleted")

    def do_identity(self) -> None:
        versions = dict(sorted(self._page.identity_versions.items(), key=lambda each: (len(each[0]), each[0])))
        self.choose(IDENTITY, "Which version of the identity?", versions, "all versions")

    @attempted
    async def choose(self, option: str, title: str, counts: dict[str, int], every: str) -> None:
        """Ask which of several values to filter by."""
        choices = [(_ALL, every), *((name, f"{name}  ({count})") for name, count in counts.items())]
        found = await self.answer(ChoiceDialog(title, choices, here=self._filters.get(option, _ALL)))
        if found is not None:
            self.narrow(option, found)

    def do_words(self) -> None:
        asked = self.query_one("#asked", Input)
        asked.add_class("-shown")
        asked.focus()

    @on(Input.Changed, "#asked")
    def _typed(self) -> None:
        self._stop_typing()
        self._typing = self.set_timer(TYPING, self._look_for)

    @on(Input.Submitted, "#asked")
    def _entered(self) -> None:
        self._look_for()
        self.table.focus()

    def _look_for(self) -> None:
        self._stop_typing()
        self.narrow(WORDS, " ".join(self.query_one("#asked", Input).value.split()))

    def _stop_typing(self) -> None:
        if self._typing is not None:
            self._typing.stop()
            self._typing = None

    def _close_words(self) -> None:
        asked = self.query_one("#asked", Input)
        with asked.prevent(Input.Changed):
            asked.value = ""
        self._stop_typing()
        asked.remove_class("-shown")
        self.table.focus()

    def do_back(self) -> None:
        """Close the text filter of the list; otherwise remove the newest filter; without filters close the screen."""
        if self.query_one("#memories", FilteredTable).has_class("-filtering"):
            super().do_back()
            return
        last = next(reversed(self._filters), None)
        is_asking = self.query_one("#asked", Input).has_class("-shown")
        if last == WORDS or (is_asking and WORDS not in self._filters):
            self._close_words()
            self.narrow(WORDS, "")
        elif last is not None:
            self.narrow(last, "")
        else:
            super().do_back()

    # Actions ----------------------------------------------------------------------------------------------------

    @property
    def memory_id(self) -> str | None:
        chosen = self.chosen
        return None if chosen is None else chosen.id

    @property
    def is_gone(self) -> bool:
        return self.chosen is not None and self.chosen.is_gone

    @property
    def is_pinned(self) -> bool:
        return self.chosen is not None and self.chosen.pinned

    @property
    def writing_sequence(self) -> int | None:
        shown = self._read.get(self.memory_id or "")
        return None if shown is None else shown.about.first_sequence

    def why_not(self, act: str) -> str | None:
        if act == "open" and self.memory_id is None:
            return "select a memory first"
        if act == "review" and self.link.is_demo:
            return "the demo has no changes to review"
        counts = {"type": self._page.types, "status": self._page.statuses, "identity": self._page.identity_versions}
        if act in counts and not counts[act]:
            return "the list contains no memory"
        return self.why_no_memory_action(act)

    def do_open(self) -> None:
        from lifeboat_tui.screens.memories.memory_screen import MemoryScreen as MemoryScreen

        assert self.memory_id is not None
        self.is_outdated = True
        self.app.push_screen(MemoryScreen(self.agent_id, self.memory_id))

    def do_review(self) -> None:
        from lifeboat_tui.screens.memories.review_screen import ReviewScreen

        self.is_outdated = True
        self.app.push_screen(ReviewScreen(self.agent_id))

    def show_memory(self) -> None:
        self.follow_cursor()

    def changed(self, old_id: str, now: Shown) -> None:
        """Keep the changed memory visible and under the cursor, even if it no longer matches the filters."""
        before = self._changed.pop(old_id, None) or self._memories.get(old_id)
        if before is None:
            return
        self._memories.pop(old_id, None)
        self._changed[now.id] = msgspec.structs.replace(
            before, id=now.id, status=now.status, pinned=now.pinned, forgotten=now.forgotten
        )
        self._read.pop(old_id, None)
        self._remember(now.id, now)
        self._show()
        self.table.select(now.id)
        self.follow_cursor()

    def do_purge(self) -> None:
        self.is_outdated = True
        super().do_purge()


def _with(listed: Iterable[Memory], changed: Iterable[Memory]) -> Iterable[Memory]:
    """Insert the changed memories into the list, ordered by time."""
    kept = {one.id: one for one in changed}
    rest = [kept.pop(one.id, one) for one in listed]
    for one in kept.values():
        at = next((at for at, other in enumerate(rest) if other.created_at <= one.created_at), len(rest))
        rest.insert(at, one)
    return rest
