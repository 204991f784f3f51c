"""The first screen: a sentence on everything, the list of agents, and details of the selected agent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.log_documents import Entry, Log
from lifeboat_core.documents.status_documents import Agent, Remote, Status
from lifeboat_core.documents.timeline_documents import Timeline
from lifeboat_core.health.safety_level import SafetyLevel
from lifeboat_core.health.state_words import NEEDS_THE_USER, WORST_FIRST
from lifeboat_core.texts.human_text import count_text, quote_argument
from lifeboat_tui.cell_text import format_pair, format_short_age, format_size, format_time_or_day, make_plain
from lifeboat_tui.glyphs import STYLES
from lifeboat_tui.screens.lifeboat_screen import FILTER, LifeboatScreen, attempted
from lifeboat_tui.screens.recent_sequences import LIMIT, RecentSequences
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import ConfirmDialog
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableColumn, TableRow
from lifeboat_tui.widgets.screen_bars import KeyHint
from lifeboat_tui.widgets.stable_static import StableStatic, set_border_title

COLUMNS = (
    TableColumn("STATE", 11),
    TableColumn("AGENT", 12, grow=1),
    TableColumn("LAST VERIFIED", 14, rank=1),
    TableColumn("NOTE", 30, grow=6, rank=2),
    TableColumn("QUEUE", 5, rank=3, right=True),
    TableColumn("WHERE", 10, rank=4),
    TableColumn("RUNTIME", 9, grow=1, rank=5),
)
CHANGES = 20
"""Number of recent entries shown for an agent."""
REST = 0.08
"""Seconds that the cursor must rest on an agent before its timeline is loaded, so that a held key loads none."""
ASKING = "Loading the status of your agents..."
_ABOUT_ONE = frozenset(("sync", "pause", "open", "restore", "purge", "verify", "undo", "accept", "proposals"))
NOBODY = "No agent is protected yet. Press a to restore an agent, or to protect the agents on this machine."


class DashboardScreen(LifeboatScreen):
    NAME = "Dashboard"
    ENTER = "open"
    ACTS = (
        UserAction("sync", "s", "sync", "Capture the agent now and push it to every remote", footer=True, writes=True),
        UserAction("pause", "space", "pause", "Pause captures of the agent, or resume them", footer=True, writes=True),
        UserAction("open", "enter", "timeline", "Open the agent's timeline", footer=True),
        UserAction("restore", "r", "restore", "Restore the agent into its workspace or another folder", footer=True),
        UserAction(
            "accept", "A", "accept", "Accept a capture that is held because it removed much, and push it", writes=True
        ),
        UserAction("verify", "v", "verify", "Read the agent's newest sequence back and compare every byte"),
        UserAction("undo", "u", "undo", "Undo the last restore of the agent", writes=True),
        UserAction("purge", "P", "purge", "Destroy data in the whole history, with a signed receipt"),
        UserAction("proposals", "p", "proposals", "Show what the agent proposes, and accept or reject it"),
        UserAction("add", "a", "add agents", "Find the agents on this machine and protect them"),
        FILTER,
    )
    HELP = """
Each agent has a newest verified copy. The first line shows the age and the place of the oldest of these copies, so
every agent can be restored to a state of that age or newer. The table lists the agents. Below are details and recent
events of the selected agent; a wide terminal also shows its timeline on the right.

An agent needs action if its state is held, moved, overdue or error. NOTE shows the reason, and the details name the key
to press.
"""
    CSS = """
    DashboardScreen #verdict { height: auto; max-height: 3; padding: 0 1; text-style: bold; }
    DashboardScreen #agents { height: 1fr; min-height: 5; max-height: 55%; }
    DashboardScreen #detail, DashboardScreen #changes { border: round $secondary; padding: 0 1; }
    DashboardScreen #detail { height: auto; max-height: 40%; }
    DashboardScreen #changes { height: 1fr; }
    DashboardScreen #recent { display: none; width: 42%; height: 1fr; }
    DashboardScreen.-vast #recent { display: block; }
    DashboardScreen.-short #detail { height: 1fr; max-height: 100%; }
    DashboardScreen.-short #changes { display: none; }
    DashboardScreen.-none #agents { max-height: 100%; }
    DashboardScreen.-none #detail, DashboardScreen.-none #changes, DashboardScreen.-none #recent { display: none; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (140, "-vast")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (22, "-tall")]

    def __init__(self) -> None:
        super().__init__()
        self._changes: tuple[Entry, ...] = ()
        self._changes_of: str | None = None

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield StableStatic("", id="verdict", markup=False)
        with Horizontal():
            with Vertical():
                yield FilteredTable(COLUMNS, title="Agents", empty=ASKING, glyphs=self.glyphs, id="agents")
                with VerticalScroll(id="detail", can_focus=False):
                    yield StableStatic("", id="detail-text")
                with VerticalScroll(id="changes", can_focus=False):
                    yield StableStatic("", id="changes-text")
            yield RecentSequences(self.glyphs, id="recent")

    def _hints(self) -> Iterator[KeyHint]:
        """Yield the hints of the footer. Without agents, the keys that lead to one come first."""
        status = self.lifeboat.status
        if status is not None and not status.agents:
            yield KeyHint("a", "add agents", "screen.act('add')", kept=True)
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
        if before is None:
            self.table.select(self.lifeboat.agent_id or _most_urgent(status) or "")
        self.table.empty = _nobody(status)
        self.set_class(not status.agents, "-none")
        self.fit_table(len(status.agents))
        self._show_detail()

    def _verdict(self, status: Status) -> Content:
        """Return the verdict with its sign, green only if everything is safe, and the first thing that is missing."""
        level, gaps = status.safety.level, status.safety.gaps
        shown = "warning" if status.state == "ok" and level != SafetyLevel.SAFE else status.state
        kind = "muted" if level == SafetyLevel.NONE else STYLES.get(shown, "muted")
        key = "" if status.key.state == "ok" or not status.agents else f"  {make_plain(status.key.note)}"
        stale = "  (old information; waiting for the daemon)" if self.lifeboat.is_stale else ""
        lines = [
            Content.assemble((self.glyphs.sign(shown), _style(kind)), f" {make_plain(status.verdict)}{key}{stale}")
        ]
        if gaps and level == SafetyLevel.INCOMPLETE:
            more = f" (and {count_text(len(gaps) - 1, 'more step')}: lifeboat status)" if len(gaps) > 1 else ""
            said = make_plain(f"{gaps[0].text} To fix it: {gaps[0].fix}{more}")
            lines.append(Content.styled(f"  {said}", "$text-warning not bold"))
        return Content("\n").join(lines)

    def _row(self, agent: Agent) -> TableRow:
        now = self.link.now()
        kind = STYLES.get(agent.state, "")
        where = "this disk" if agent.verified_in == "local" else agent.verified_in or ""
        note = "working" if agent.at_work and not agent.reasons else next(iter(agent.reasons), "")
        return TableRow(
            agent.id,
            (
                TableCell(self.glyphs.state(agent.state), kind),
                TableCell(agent.name, "strong"),
                _age(agent, agent.last_verified_at, now),
                TableCell(note, kind if agent.state != "ok" else "muted"),
                TableCell(str(agent.queue or ""), "warning"),
                TableCell(where, "muted"),
                TableCell(agent.runtime, "muted"),
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

    def on_resize(self, event: events.Resize) -> None:
        """Load the timeline once the terminal is wide enough to show it."""
        super().on_resize(event)
        self.load_recent()

    @work(exclusive=True, group="recent", exit_on_error=False)
    async def load_recent(self) -> None:
        """Load the timeline of the agent under the cursor, if the terminal is wide enough to show it."""
        recent, agent = self.query_one(RecentSequences), self.chosen
        recent.begin(None if agent is None else agent.id, "" if agent is None else agent.name)
        await asyncio.sleep(REST)
        if agent is None or not recent.display:
            return
        try:
            found = await self.fetch(Timeline, "timeline", agent.id, "--limit", str(LIMIT))
        except LifeboatError as error:
            self.say_problem(error)
            return
        recent.say(found.entries, self.link.now())

    @work(exclusive=True, group="changes", exit_on_error=False)
    async def follow_cursor(self) -> None:
        """Show the latest entries of the agent under the cursor, and its timeline."""
        agent = self.chosen
        self.load_recent()
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
        if agent.proposals:
            yield Content.styled("Press p to see what the agent proposes, and to accept or reject it.", "bold")
        yield format_pair("workspace", agent.workspace)
        if not agent.vault_opened:
            yield format_pair("vault", "could not be opened, so its captures and verification are unknown")
        else:
            captured = "nothing yet"
            if agent.sequence is not None:
                age = format_short_age(agent.last_captured_at, now)
                captured = f"sequence {agent.sequence}, {age}, {format_size(agent.vault_bytes)} for all sequences"
            yield format_pair("captured", captured)
            where = "" if agent.verified_in is None else f", {_place(agent.verified_in)}"
            yield format_pair("verified", f"{format_short_age(agent.last_verified_at, now)}{where}")
        if not agent.remotes:
            yield format_pair("remotes", "none, so all copies are on this disk (press 7 to add a remote)")
        for remote in agent.remotes:
            yield format_pair("remote", self._remote(remote))

    def _remote(self, remote: Remote) -> str:
        waits = f", {count_text(remote.pending, 'sequence')} to push" if remote.pending else ""
        why = f": {remote.message}" if remote.message else ""
        return f"{remote.name} {self.glyphs.state(remote.state)}{waits}{why}"

    def _show_changes(self) -> None:
        agent = self.chosen
        set_border_title(self.query_one("#changes"), "Last changes")
        now = self.link.now()
        entries = self._changes if agent is not None and agent.id == self._changes_of else ()
        kinds = [make_plain(one.kind.replace("_", " ")) for one in entries]
        width = max(map(len, kinds), default=0)
        lines = [
            Content.assemble(
                (f"{format_time_or_day(one.time, now):<10}", "$foreground 60%"),
                "  ",
                (f"{kind:<{width}}  ", "bold"),
                make_plain(one.text),
            )
            for kind, one in zip(kinds, entries, strict=True)
        ]
        self.query_one("#changes-text", StableStatic).say(Content("\n").join(lines))

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        agent = self.chosen
        if act in _ABOUT_ONE and agent is None:
            return "no agent is protected yet; press a to add one"
        if act == "proposals" and self.link.is_demo:
            return "the demo has no proposals"
        if act == "proposals" and agent is not None and not agent.proposals:
            return "the agent has no open proposals"
        if act == "accept" and agent is not None and agent.held is None:
            return "no capture of this agent is held"
        return None

    def do_open(self) -> None:
        recent, agent = self.query_one(RecentSequences), self.chosen
        if agent is not None and recent.has_focus and recent.sequence is not None:
            from lifeboat_tui.screens.timeline.timeline_screen import TimelineScreen

            self.app.push_screen(TimelineScreen(agent.id, at=recent.sequence))
        else:
            self.lifeboat.open("timeline")

    def do_restore(self) -> None:
        self.lifeboat.open("restore")

    def do_purge(self) -> None:
        self.lifeboat.open("purge")

    def do_proposals(self) -> None:
        from lifeboat_tui.screens.proposals_screen import ProposalsScreen

        agent = self.chosen
        assert agent is not None
        self.app.push_screen(ProposalsScreen(agent.id))

    def do_add(self) -> None:
        self.lifeboat.open("setup")

    def do_sync(self) -> None:
        self.carry_out("Syncing", "sync", agent=self.chosen)

    def do_verify(self) -> None:
        self.carry_out("Verifying", "verify", agent=self.chosen)

    def do_undo(self) -> None:
        self.carry_out("Undoing the last restore of", "undo", agent=self.chosen)

    def do_pause(self) -> None:
        agent = self.chosen
        assert agent is not None
        if agent.state == "paused":
            self.carry_out("Resuming", "agents", "resume", agent=agent)
        else:
            self.carry_out("Pausing", "agents", "pause", agent=agent)

    @attempted
    async def do_accept(self) -> None:
        """Release the held sequence to the remotes after the user has seen the reason."""
        agent = self.chosen
        assert agent is not None
        question = ConfirmDialog(
            f"Accept the capture of {agent.name} that removed much?",
            [
                *agent.reasons,
                "",
                "The held capture will be pushed to the remotes. You can still restore earlier sequences.",
            ],
            yes="Accept",
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
            return f"capture failed ({one.get('code', 'error')})"
        changed = f"captured sequence {one.get('sequence')}" if one.get("changed") else "no changes"
        behind = [each["name"] for each in one.get("remotes", []) if each.get("state") != "ok"]
        return changed + (f"; not yet pushed to {', '.join(behind)}" if behind else "")
    if words[0] == "verify":
        wrong = document.get("mismatches") or []
        return (
            f"the stored data is damaged: {count_text(len(wrong), 'difference')} found"
            if wrong
            else f"sequence {document.get('sequence')} verified, every byte matches"
        )
    return {
        "pause": "captures paused",
        "resume": "captures resumed",
        "accept": "removal accepted",
        "undo": "last restore undone",
    }[words[-1]]


def _most_urgent(status: Status) -> str | None:
    """Return the id of the agent that needs the user most, None if no agent does."""
    urgent = [agent for agent in status.agents if agent.state in NEEDS_THE_USER]
    return min(urgent, key=lambda agent: WORST_FIRST.index(agent.state)).id if urgent else None


def _nobody(status: Status) -> str:
    if not status.offers:
        return NOBODY
    found = "\n".join(f"  {offer.name} ({offer.runtime}) in {offer.workspace}" for offer in status.offers)
    ways = "Press a to protect these agents, or to restore another one."
    return f"No agent is protected yet. Found on this machine:\n{found}\n{ways}"


def _helping_keys(agent: Agent) -> str | None:
    """Return the hint for a state that needs the user, None for other states."""
    return {
        "held": "Press r to restore the removed data, or A to accept the removal.",
        "overdue": "Press s to capture and push now, or v to verify the local copy.",
        "error": "Press 8 to check the installation, or r to restore.",
        "fenced": "Press r to restore the newest state of the agent here. To make this machine the writer: "
        f"lifeboat agents adopt {quote_argument(agent.name)}",
        "needs_key": "Press 4 to open the screen of your key.",
        "paused": "Press space to resume captures.",
    }.get(agent.state)


def _colour(state: str) -> str:
    kind = STYLES.get(state, "muted")
    return kind if kind in ("success", "warning", "error", "accent") else "muted"


def _age(agent: Agent, moment: str | None, now: datetime) -> str:
    return format_short_age(moment, now) if agent.vault_opened else "unknown"


def _style(kind: str) -> str:
    return "$foreground" if kind == "muted" else f"$text-{kind}"


def _place(name: str) -> str:
    """Return where a verified copy is: `on this disk`, `on the remote stick`."""
    return "on this disk" if name == "local" else f"on remote {name}"
