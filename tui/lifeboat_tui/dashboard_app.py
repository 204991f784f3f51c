"""The app: holds the link, the screens, and the actions that work on all of them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial, partialmethod
from typing import ClassVar

from textual import events, work
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.driver import Driver
from textual.screen import Screen
from textual.widgets import Input
from textual.worker import Worker

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core import documents
from lifeboat_core.documents.status_documents import Agent, Status
from lifeboat_core.health.safety_level import SafetyLevel, describe_steps_left, does_state_need_user
from lifeboat_core.texts.misplaced_words import holds_recovery_words
from lifeboat_tui.bidi_isolation import make_isolating_driver
from lifeboat_tui.cell_text import format_local_time, format_short_age, make_plain, make_plain_lines
from lifeboat_tui.coalesced_request import CoalescedRequest
from lifeboat_tui.command_palette import ActionCommands
from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.link import CONNECTION, DashboardLink, LinkStage
from lifeboat_tui.link.read_only_link import ReadOnlyLink
from lifeboat_tui.screens.lifeboat_screen import LifeboatScreen, report_worker_failure
from lifeboat_tui.terminal_hangup import call_on_hangup
from lifeboat_tui.themes import DEFAULT_THEME, THEMES
from lifeboat_tui.user_actions import PLACES
from lifeboat_tui.widgets.hidden_input import HiddenInput
from lifeboat_tui.widgets.join_line_inputs import RemoteFormInput, has_join_token

MISTAKE = (
    "The dashboard closed because of an internal error. The daemon keeps running, and your data was not changed.\n"
    "To report it: lifeboat doctor --bundle FILE  ({kind} {place})"
)
SMALL_MISTAKE = (
    "An internal error occurred. The dashboard keeps running; press Ctrl-R to reload this screen. To report it: "
    "lifeboat doctor --bundle FILE  ({kind} {place})"
)

MISPLACED_WORDS = "You pasted recovery words into a field for other text. The words were removed and not stored."
MISPLACED_JOIN_LINE = (
    "You pasted a join line into a field for other text. A join line contains a token, so it was removed. To add "
    "the remote: press 7, then a."
)


@dataclass(frozen=True, slots=True)
class DashboardOptions:
    """Options with which the dashboard was started. `screen` is the first screen, for `agent` where it is about one."""

    readonly: bool = False
    ascii: bool = False
    theme: str = DEFAULT_THEME
    screen: str = "dashboard"
    agent: str | None = None


FOCUS = [
    Binding("tab", "app.focus_next", show=False, priority=True),
    Binding("shift+tab", "app.focus_previous", show=False, priority=True),
]
"""These keys are handled before all others, so that text typed right after one of them reaches the widget it
focuses."""


class LifeboatApp(App[None]):
    """The dashboard. `link` answers every question; `status` is the newest status of everything, None before the first
    answer."""

    TITLE = "lifeboat"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    COMMANDS = {ActionCommands}
    BINDINGS: ClassVar[list[Binding]] = [*FOCUS, *(act.binding for act in PLACES)]  # type: ignore[assignment]

    def __init__(self, link: DashboardLink, options: DashboardOptions | None = None) -> None:
        super().__init__()
        self.options = options or DashboardOptions()
        self.link: DashboardLink = ReadOnlyLink(link) if self.options.readonly else link
        self.glyphs = Glyphs(ascii=self.options.ascii)
        self.status: Status | None = None
        self.is_stale = False
        """True while `status` comes from an earlier run: it is shown until the daemon answers."""
        self.agent_id: str | None = None
        """The agent that was chosen last, for screens about one agent."""
        self._status_request = CoalescedRequest(self._request_status)

    @property
    def is_readonly(self) -> bool:
        return self.options.readonly

    def get_driver_class(self) -> type[Driver]:
        return make_isolating_driver(super().get_driver_class())

    # Start and end ----------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = self.options.theme
        self._leave_terminals_usable()
        self._take_status(self.link.remembered(), stale=True)
        self.push_screen(self._first_screen())
        self.follow()
        self.ask_status()

    def _leave_terminals_usable(self) -> None:
        """Exit normally on SIGTERM and when the terminal closes, so that the terminal is restored. Without a handler
        the process would end at once."""
        if sys.platform != "win32" and not self.is_headless:
            ended = partial(self.exit, return_code=128 + signal.SIGTERM)
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended)
            loop, gone = asyncio.get_running_loop(), partial(self.exit, return_code=128 + signal.SIGHUP)
            call_on_hangup(partial(loop.call_soon_threadsafe, gone))

    def _first_screen(self) -> LifeboatScreen:
        from lifeboat_tui.screens import screen_registry

        agent = self.find_agent(self.options.agent)
        if agent is not None:
            self.agent_id = agent.id
        return screen_registry.make_screen(self.options.screen, self.options.agent if agent is None else agent.id)

    @work(exclusive=True, group="follow", exit_on_error=False)
    async def follow(self) -> None:
        """Listen to the events of the link until the dashboard ends."""
        async for event in self.link.events():
            if event.get("event") in ("agent", "gone", "push", "notice", "offers", "tick", CONNECTION):
                self.ask_status()
            try:
                for screen in self.screen_stack:
                    if isinstance(screen, LifeboatScreen):
                        screen.handle_event(event)
                self.refresh_bars()
            except Exception as error:  # a failure of one screen must not stop the listener
                self.tell_mistake(error)

    @work(group="status", exit_on_error=False)
    async def ask_status(self) -> None:
        """Ask for the status of everything. Events during a request cause one more request after it."""
        await self._status_request.run()

    async def _request_status(self) -> None:
        with contextlib.suppress(LifeboatError):  # the connection line shows the reason
            self._take_status(await self.link.status(), stale=False)

    def _take_status(self, document: JsonObject | None, *, stale: bool) -> None:
        if document is None:
            return
        with contextlib.suppress(LifeboatError):
            self.status, self.is_stale = documents.decode_document(Status, document), stale
            for screen in self.screen_stack:
                if isinstance(screen, LifeboatScreen):
                    screen.handle_event({"event": "status"})
            self.refresh_bars()

    async def on_unmount(self) -> None:
        await self.link.close()

    def _handle_exception(self, error: Exception) -> None:
        """End the dashboard with two sentences after an internal error. Textual would print local variables, which may
        contain recovery words or a token."""
        if self.is_headless:  # tests see the error itself
            super()._handle_exception(error)
            return
        self.exit(return_code=1, message=MISTAKE.format(kind=type(error).__name__, place=_place(error)))

    def tell_mistake(self, error: BaseException) -> None:
        """Report an unexpected error without ending the dashboard. Its message is left out: it may contain secrets."""
        self.notify(
            SMALL_MISTAKE.format(kind=type(error).__name__, place=_place(error)), severity="error", markup=False
        )

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        report_worker_failure(self, event)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Remove recovery words and join lines from every field that is not made for them, because it would show or
        keep them."""
        field = event.input
        if not isinstance(field, HiddenInput | RemoteFormInput) and has_join_token(field.value):
            field.value = ""
            self.notify(MISPLACED_JOIN_LINE, severity="error", markup=False)
        is_theirs = isinstance(field, HiddenInput) and field.takes_words
        if not is_theirs and holds_recovery_words(field.value):
            field.value = ""
            self.notify(MISPLACED_WORDS, severity="error", markup=False)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Keep cursors from blinking: the timer would cause half of the bytes that an idle dashboard sends over a slow
        line."""
        if isinstance(event.widget, Input):
            event.widget.cursor_blink = False

    # What screens show of the whole -----------------------------------------------------------------------------

    def refresh_bars(self) -> None:
        if isinstance(self.screen, LifeboatScreen):
            self.screen.refresh_bars()

    def verdict(self) -> tuple[str, str]:
        """Return one word on everything for the header, and its style."""
        if self.status is None:
            return "", ""
        agents = self.status.agents
        need = [one for one in agents if does_state_need_user(one.state)]
        if need:
            return (
                f"{self.glyphs.sign('held')} {len(need)} of {len(agents)} need{'s' * (len(need) == 1)} action",
                "text-error",
            )
        if self.status.problems:
            return f"{self.glyphs.sign('error')} {self.status.problems[0]}", "text-error"
        if agents and self.link.connection.stage is LinkStage.DOWN:
            return f"{self.glyphs.sign('warning')} automatic capture is off", "text-warning"
        if not agents:
            return "", ""
        if self.status.safety.level != SafetyLevel.SAFE:
            said = describe_steps_left(len(self.status.safety.gaps)) or "not fully safe"
            return f"{self.glyphs.sign('warning')} {said}", "text-warning"
        return f"{self.glyphs.sign('ok')} all agents safe", "text-success"

    @property
    def connection_is_calm(self) -> bool:
        return self.link.connection.stage is not LinkStage.DOWN or self.link.is_demo

    def connection_text(self) -> str:
        """Return one line on the connection with the key that helps, or "" while the connection is up."""
        if self.link.is_demo:
            return "This demo shows recorded data. It shows none of your agents and changes nothing."
        found = self.link.connection
        if found.stage is LinkStage.CONNECTING:
            return "Connecting to the daemon..."
        if found.stage is LinkStage.DOWN:
            since = f" since {format_local_time(found.since)}" if found.since else ""
            why = f" ({found.message})" if found.message else ""
            return f"The daemon is not running{since}{why}. Press S to start the daemon, or 3 to see the log."
        return ""

    def daemon_text(self) -> str:
        """Return the text on the right of the footer."""
        if self.link.is_demo:
            return "demo"
        found = self.link.connection
        if found.stage is not LinkStage.UP:
            return "daemon not running" if found.stage is LinkStage.DOWN else ""
        since = format_short_age(found.started_at, self.link.now()).removesuffix(" ago") if found.started_at else ""
        return f"daemon running{f' for {since}' if since else ''}"

    def find_agent(self, text: str | None) -> Agent | None:
        """Find an agent by id or name."""
        agents = self.status.agents if self.status is not None else ()
        return next((one for one in agents if text in (one.id, one.name)), None)

    @property
    def agent(self) -> Agent | None:
        """Return the chosen agent, or the first one."""
        first = self.status.agents[0] if self.status is not None and self.status.agents else None
        return self.find_agent(self.agent_id) or first

    def _usual_agent_id(self) -> str | None:
        return self.agent_id if self.agent is None else self.agent.id

    # Actions that work everywhere -------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        """Return why an action of the app does nothing now, or None."""
        if act in ("go_timeline", "go_memories") and self.agent is None:
            return "no agent is protected yet"
        if act == "start_daemon" and self.link.connection.stage is LinkStage.UP:
            return "the daemon is already running"
        return None

    async def action_act(self, name: str) -> None:
        """Run an action of the app, for keys that the screen does not handle."""
        if isinstance(self.screen, LifeboatScreen):
            await self.screen.action_act(name)

    def back(self) -> None:
        """Return to the previous screen; the first screen stays open."""
        if len(self.screen_stack) > 2:
            self.pop_screen()

    def go(self, name: str, agent_id: str | None = None) -> None:
        """Go to a screen by its name, and close everything that was open above the first screen."""
        from lifeboat_tui.screens import screen_registry

        if self._exit:  # A key behind `q`: a screen that begins now would find nothing that it is made of.
            return
        while len(self.screen_stack) > 2:
            self.pop_screen()
        self.switch_screen(screen_registry.make_screen(name, agent_id or self._usual_agent_id()))

    def open(self, name: str, agent_id: str | None = None) -> None:
        """Open a screen by its name above the current one; escape returns to the current one."""
        from lifeboat_tui.screens import screen_registry

        if self._exit:
            return
        self.push_screen(screen_registry.make_screen(name, agent_id or self._usual_agent_id()))

    do_go_dashboard = partialmethod(go, "dashboard")
    do_go_timeline = partialmethod(go, "timeline")
    do_go_memories = partialmethod(go, "memories")
    do_go_activity = partialmethod(go, "activity")
    do_go_keys = partialmethod(go, "keys")
    do_go_settings = partialmethod(go, "settings")
    do_go_remotes = partialmethod(go, "remotes")
    do_go_doctor = partialmethod(go, "doctor")

    def do_quit(self) -> None:
        self.exit()

    @work(exclusive=True, group="start", exit_on_error=False)
    async def do_start_daemon(self) -> None:
        """Start the service. The link notices the daemon by itself."""
        self.notify("Starting the daemon...", markup=False)
        try:
            await self.link.run("daemon", "start")
        except LifeboatError as error:
            self.notify(make_plain(f"{error.title}: {error.message}"), severity="error", markup=False)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy text without control characters: the user may paste it into a shell."""
        super().copy_to_clipboard(make_plain_lines(text))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield only the theme commands of Textual; all other commands are actions of the dashboard."""
        for theme in THEMES:
            yield SystemCommand(
                f"Theme: {theme.name}", "Use this theme until the dashboard is closed", self._set_theme(theme.name)
            )

    def _set_theme(self, name: str):  # type: ignore[no-untyped-def]
        def change() -> None:
            self.theme = name

        return change


def _place(error: BaseException) -> str:
    """Return the innermost place of an error in Lifeboat's own code."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        place = f"in {module}, line {trace.tb_lineno}" if module.startswith("lifeboat_") else place
        trace = trace.tb_next
    return place
