"""The first screen: a sentence on everything, the list of agents, and details of the selected agent."""

from __future__ import annotations

from collections.abc import Iterator

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.log_documents import Entry, Log
from lifeboat_core.documents.status_documents import Agent, Remote, Status
from lifeboat_core.texts.human_text import count_text
from lifeboat_tui.cell_text import format_local_time, format_pair, format_short_age, format_size, make_plain
from lifeboat_tui.glyphs import STYLES
from lifeboat_tui.screens.lifeboat_screen import FILTER, LifeboatScreen, attempted
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import ConfirmDialog
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableColumn, TableRow
from lifeboat_tui.widgets.screen_bars import KeyHint
from lifeboat_tui.widgets.stable_static import StableStatic, set_border_title

COLUMNS = (
    TableColumn("STATE", 11),
    TableColumn("AGENT", 14, grow=1),
    TableColumn("RUNTIME", 9, rank=3),
    TableColumn("LAST VERIFIED", 14, rank=1),
    TableColumn("WHERE", 10, rank=4),
    TableColumn("QUEUE", 5, rank=2, right=True),
    TableColumn("NOTE", 16, grow=4, rank=5),
)
CHANGES = 12
"""Number of recent entries shown for an agent."""
ASKING = "Asking how your agents stand..."
NOBODY = "No agent is protected yet. Press a to look for agents on this machine and protect them."


class DashboardScreen(LifeboatScreen):
    NAME = "Dashboard"
    ENTER = "open"
    ACTS = (
        UserAction(
            "sync", "s", "sync", "Capture the agent now, and send it to every second copy", footer=True, writes=True
        ),
        UserAction(
            "pause", "space", "pause", "Let the agent's captures rest, or go on with them", footer=True, writes=True
        ),
        UserAction("open", "enter", "open", "The agent's timeline", footer=True),
        UserAction("restore", "r", "restore", "Bring the agent back as it was, in place or elsewhere", footer=True),
        UserAction("accept", "A", "accept", "Say that a removal which is held was meant", writes=True),
        UserAction("verify", "v", "verify", "Read the agent's copy back and compare every byte"),
        UserAction("undo", "u", "undo", "Take the last restore of the agent back", writes=True),
        UserAction("purge", "P", "purge", "Destroy something in all history, with proof"),
        UserAction("add", "a", "add agents", "Find agents on this machine and protect them"),
        FILTER,
    )
    HELP = """
The first line says how old the last verified copy is and where it lies: that is what you would get back today. The
table has one line an agent; what is known of the one under the cursor stands below, with what was done last.

An agent that is held, moved, overdue or in error needs you. Its note says why, and the line below which key helps.
"""
    CSS = """
    DashboardScreen #verdict { height: auto; max-height: 3; padding: 0 1; text-style: bold; }
    DashboardScreen #agents { height: 1fr; min-height: 6; }
    DashboardScreen #below { height: 40%; min-height: 7; }
    DashboardScreen #detail, DashboardScreen #changes { width: 1fr; border: round $secondary; padding: 0 1; }
    DashboardScreen.-narrow #changes { display: none; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]

    def __init__(self) -> None:
        super().__init__()
        self._changes: tuple[Entry, ...] = ()
        self._changes_of: str | None = None

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield StableStatic("", id="verdict", markup=False)
        yield FilteredTable(COLUMNS, title="Agents", empty=ASKING, glyphs=self.glyphs, id="agents")
        with Horizontal(id="below"):
            with VerticalScroll(id="detail", can_focus=False):
                yield StableStatic("", id="detail-text")
            with VerticalScroll(id="changes", can_focus=False):
                yield StableStatic("", id="changes-text")

    def _hints(self) -> Iterator[KeyHint]:
        """Yield the hints of the footer. Without agents, the keys that lead to one come first."""
        status = self.lifeboat.status
        if status is not None and not status.agents:
            yield KeyHint("a", "add agents", "screen.act('add')")
        yield from super()._hints()

    def twin(self) -> tuple[str, ...]:
        agent = self.chosen
        return ("status",) if agent is None else ("status", agent.name)

    def crumbs(self) -> tuple[str, ...]:
        return ("lifeboat",)

    async def load(self) -> None:
        self._show()
        self.lifeboat.ask_status()
        self.follow_cursor()

    def handle_event(self, event: JsonObject) -> None:
        if event.get("event") == "status":
            self._show()
        elif event.get("event") in ("capture", "push", "notice") and event.get("agent") == self.lifeboat.agent_id:
            self.follow_cursor()

    @property
    def chosen(self) -> Agent | None:
        """Return the agent under the cursor."""
        return self.lifeboat.find_agent(self.row_key)

    def _show(self) -> None:
        status = self.lifeboat.status
        if status is None or not self.is_mounted:
            return
        self.query_one("#verdict", StableStatic).say(self._verdict(status))
        before = self.table.current
        self.table.show([self._row(agent) for agent in status.agents], flash=not self.lifeboat.is_stale)
        if before is None and self.lifeboat.agent_id is not None:
            self.table.select(self.lifeboat.agent_id)
        self.table.empty = _nobody(status)
        self._show_detail()

    def _verdict(self, status: Status) -> str:
        first = f"{self.glyphs.sign(status.state)} {make_plain(status.verdict)}"
        key = "" if status.key.state == "ok" or not status.agents else f"  {make_plain(status.key.note)}"
        stale = "  (as it was when last seen)" if self.lifeboat.is_stale else ""
        return f"{first}{key}{stale}"

    def _row(self, agent: Agent) -> TableRow:
        now = self.link.now()
        kind = STYLES.get(agent.state, "")
        where = "this disk" if agent.verified_in == "local" else agent.verified_in or ""
        note = "at work" if agent.at_work and not agent.reasons else next(iter(agent.reasons), "")
        return TableRow(
            agent.id,
            (
                TableCell(self.glyphs.state(agent.state), kind),
                TableCell(agent.name, "strong"),
                TableCell(agent.runtime, "muted"),
                format_short_age(agent.last_verified_at, now),
                TableCell(where, "muted"),
                TableCell(str(agent.queue), "warning" if agent.queue else "muted"),
                TableCell(note, kind if agent.state != "ok" else "muted"),
            ),
        )

    # The agent under the cursor ---------------------------------------------------------------------------------

    @on(RowTable.Moved, "#agents-table")
    def _moved(self, event: RowTable.Moved) -> None:
        if event.row is not None:
            self.lifeboat.agent_id = event.row.key
        self._show_detail()
        self.refresh_bars()
        self.follow_cursor()

    @work(exclusive=True, group="changes", exit_on_error=False)
    async def follow_cursor(self) -> None:
        """Show the latest entries of the agent under the cursor."""
        agent = self.chosen
        if agent is None:
            return
        try:
            log = await self.fetch(Log, "log", agent.id, "--limit", str(CHANGES))
            self._changes, self._changes_of = log.entries, agent.id
        except LifeboatError as error:
            self.say_problem(error)
        self._show_changes()

    def _show_detail(self) -> None:
        agent = self.chosen
        pane = self.query_one("#detail")
        set_border_title(pane, "" if agent is None else make_plain(agent.name).replace("[", r"\["))
        lines = [] if agent is None else list(self._detail_lines(agent))
        self.query_one("#detail-text", StableStatic).say(Content("\n").join(lines))
        self._show_changes()

    def _detail_lines(self, agent: Agent) -> Iterator[Content]:
        now = self.link.now()
        for reason in agent.reasons:
            yield Content.styled(make_plain(reason), f"$text-{_colour(agent.state)}")
        if (helps := _helping_keys(agent)) is not None:
            yield Content.styled(helps, "bold")
        yield format_pair("workspace", agent.workspace)
        kept = (
            "nothing yet"
            if agent.sequence is None
            else f"up to sequence {agent.sequence}, {format_size(agent.vault_bytes)}"
        )
        yield format_pair("kept", f"{kept}, captured {format_short_age(agent.last_captured_at, now)}")
        where = (
            ""
            if agent.verified_in is None
            else f" in {'this disk' if agent.verified_in == 'local' else agent.verified_in}"
        )
        yield format_pair("verified", f"{format_short_age(agent.last_verified_at, now)}{where}")
        if not agent.remotes:
            yield format_pair("second copy", "none: everything is on this disk only (7 adds one)")
        for remote in agent.remotes:
            yield format_pair("second copy", self._remote(remote))

    def _remote(self, remote: Remote) -> str:
        waits = f", {count_text(remote.pending, 'sequence')} to send" if remote.pending else ""
        why = f": {remote.message}" if remote.message else ""
        return f"{remote.name} {self.glyphs.state(remote.state)}{waits}{why}"

    def _show_changes(self) -> None:
        agent = self.chosen
        set_border_title(self.query_one("#changes"), "Last changes")
        entries = self._changes if agent is not None and agent.id == self._changes_of else ()
        lines = [
            Content.assemble(
                (format_local_time(one.time), "$foreground 60%"),
                "  ",
                (f"{make_plain(one.kind)}  ", "bold"),
                make_plain(one.text),
            )
            for one in entries
        ]
        self.query_one("#changes-text", StableStatic).say(Content("\n").join(lines))

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        agent = self.chosen
        if act in ("sync", "pause", "open", "restore", "purge", "verify", "undo", "accept") and agent is None:
            return "there is no agent yet (a finds some)"
        if act == "accept" and agent is not None and agent.held is None:
            return "nothing of this agent is held"
        return None

    def do_open(self) -> None:
        self.lifeboat.open("timeline")

    def do_restore(self) -> None:
        self.lifeboat.open("restore")

    def do_purge(self) -> None:
        self.lifeboat.open("purge")

    def do_add(self) -> None:
        self.lifeboat.open("setup")

    def do_sync(self) -> None:
        self.carry_out("Syncing", "sync", agent=self.chosen)

    def do_verify(self) -> None:
        self.carry_out("Verifying", "verify", agent=self.chosen)

    def do_undo(self) -> None:
        self.carry_out("Taking back the last restore of", "undo", agent=self.chosen)

    def do_pause(self) -> None:
        agent = self.chosen
        assert agent is not None
        if agent.state == "paused":
            self.carry_out("Going on with", "agents", "resume", agent=agent)
        else:
            self.carry_out("Pausing", "agents", "pause", agent=agent)

    @attempted
    async def do_accept(self) -> None:
        """Release the held sequence to the remotes after the user has seen the reason."""
        agent = self.chosen
        assert agent is not None
        question = ConfirmDialog(
            f"Is the removal in {agent.name} meant?",
            [*agent.reasons, "", "Yes passes it on to the second copies; earlier sequences stay. r restores instead."],
            yes="It is meant",
        )
        if await self.answer(question):
            self.carry_out("Accepting", "agents", "accept", agent=agent)

    @work(group="act", exit_on_error=False)
    async def carry_out(self, doing: str, *words: str, agent: Agent | None) -> None:
        """Run a command about an agent and report its result."""
        if agent is None:
            return
        self.tell_user(f"{doing} {agent.name}...")
        try:
            said = await self.ask(*words, agent.id)
        except LifeboatError as error:
            self.tell_failure(error)
        else:
            self.tell_user(f"{agent.name}: {describe_outcome(words, said.document)}")
            self.say_problem(None)
        self.lifeboat.ask_status()
        self.follow_cursor()


def describe_outcome(words: tuple[str, ...], document: JsonObject) -> str:
    """Return the result of a command about one agent in a few words."""
    if words[0] == "sync":
        one: JsonObject = next(iter(document.get("agents", [])), {})
        if one.get("state") == "error":
            return f"not captured ({one.get('code', 'error')})"
        changed = f"sequence {one.get('sequence')} is new" if one.get("changed") else "nothing had changed"
        behind = [each["name"] for each in one.get("remotes", []) if each.get("state") != "ok"]
        return changed + (f"; not at {', '.join(behind)} yet" if behind else "")
    if words[0] == "verify":
        wrong = document.get("mismatches") or []
        return (
            f"{count_text(len(wrong), 'difference was', 'differences were')} found"
            if wrong
            else f"every byte of sequence {document.get('sequence')} holds"
        )
    return {
        "pause": "paused",
        "resume": "captured again",
        "accept": "accepted",
        "undo": "the last restore is taken back",
    }[words[-1]]


def _nobody(status: Status) -> str:
    if not status.offers:
        return NOBODY
    found = "\n".join(f"  {offer.name} ({offer.runtime}) in {offer.workspace}" for offer in status.offers)
    return f"No agent is protected yet. Found on this machine:\n{found}\nPress a to protect them."


def _helping_keys(agent: Agent) -> str | None:
    """Return the hint for a state that needs the user, None for other states."""
    return {
        "held": "r restores what was there before; A says that it was meant",
        "overdue": "s syncs now; v verifies the copy here",
        "error": "8 opens the doctor; r restores",
        "fenced": "r brings its state here; in a shell: lifeboat agents adopt",
        "needs_key": "4 opens the keys",
        "paused": "space goes on with its captures",
    }.get(agent.state)


def _colour(state: str) -> str:
    kind = STYLES.get(state, "muted")
    return kind if kind in ("success", "warning", "error", "accent") else "muted"
