"""Actions on one memory, shared by the list of memories and the screen of one memory."""

from __future__ import annotations

from textual import work

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents import decode_document
from lifeboat_core.documents.record_documents import Change, Showing, Shown
from lifeboat_tui.screens.agent_screen import AgentScreen
from lifeboat_tui.user_actions import UserAction

ACTS = (
    UserAction(
        "forget",
        "f",
        "forget",
        "Hide the memory from search and lists, or show it again; its file and the history keep the text",
        footer=True,
        writes=True,
    ),
    UserAction(
        "pin",
        "p",
        "pin",
        "Pin or unpin the memory; a pinned memory that disappears from its file is archived, not deleted",
        footer=True,
        writes=True,
    ),
    UserAction("origin", "o", "origin", "Open the sequence that wrote the memory", footer=True),
    UserAction("raw", "r", "raw text", "Switch between the stored text and the formatted text", footer=True),
    UserAction("purge", "P", "purge", "Destroy this memory in the whole history, with a signed receipt"),
)
NAMES = frozenset(act.name for act in ACTS)
NONE_CHOSEN = "select a memory first"


class MemoryActionsScreen(AgentScreen):
    """Screen with actions on a memory. A subclass says which memory (`memory_id`, `is_gone`, `is_pinned`,
    `writing_sequence`), draws it (`show_memory`) and handles its change (`changed`). `is_raw`: the text is shown as it
    is stored, not as rendered Markdown."""

    def __init__(self, agent_id: str) -> None:
        super().__init__(agent_id)
        self.is_raw = False

    @property
    def memory_id(self) -> str | None:
        """Return the id of the memory that the actions apply to."""
        return None

    @property
    def is_gone(self) -> bool:
        """Return True if the memory was deleted or forgotten."""
        return False

    @property
    def is_pinned(self) -> bool:
        return False

    @property
    def writing_sequence(self) -> int | None:
        """Return the sequence that wrote the memory, if known."""
        return None

    def changed(self, old_id: str, now: Shown) -> None:
        """Handle that a memory was forgotten, restored, pinned or unpinned. It may have a new id."""

    def why_no_memory_action(self, act: str) -> str | None:
        """Return why an action does nothing now, or None."""
        if act in NAMES and self.memory_id is None:
            return NONE_CHOSEN
        if act == "pin" and self.is_gone:
            return "this memory was forgotten or deleted; press f to restore it"
        if act == "origin" and self.writing_sequence is None:
            return "the first sequence that contained this memory is no longer stored"
        return None

    def show_memory(self) -> None:
        """Draw the text of the memory again."""

    def do_raw(self) -> None:
        self.is_raw = not self.is_raw
        self.show_memory()

    def do_forget(self) -> None:
        if self.is_gone:
            self.change("restore", "Memory restored.")
        else:
            self.change("forget", "Memory forgotten. Press f to show it again.")

    def do_pin(self) -> None:
        if self.is_pinned:
            self.change("unpin", "Memory unpinned.")
        else:
            self.change(
                "pin", "Memory pinned. If it disappears from its file, Lifeboat archives it instead of deleting it."
            )

    def do_origin(self) -> None:
        from lifeboat_tui.screens.timeline.timeline_screen import TimelineScreen

        self.app.push_screen(TimelineScreen(self.agent_id, at=self.writing_sequence))

    def do_purge(self) -> None:
        from lifeboat_tui.screens.purge.purge_wizard import PurgeWizard

        assert self.memory_id is not None
        self.app.push_screen(PurgeWizard(self.agent_id, records=(self.memory_id,)))

    @work(group="change", exit_on_error=False)
    async def change(self, command: str, done: str) -> None:
        """Run a command on the memory, report the result, and read the memory again."""
        memory_id = self.memory_id
        assert memory_id is not None
        try:
            said = await self.ask("records", command, self.agent_id, memory_id)
            now = await self.read_memory(memory_id)
        except LifeboatError as error:
            self.tell_failure(error)
            return
        self.say_problem(None)
        self.tell_user(
            done
            if decode_document(Change, said.document).changed
            else "The memory was already in this state, so nothing changed."
        )
        if now is not None:
            self.changed(memory_id, now)

    async def read_memory(self, memory_id: str) -> Shown | None:
        """Read a memory by any id of its chain of versions. Raises LifeboatError."""
        return next(iter((await self.fetch(Showing, "records", "show", self.agent_id, memory_id)).records), None)
