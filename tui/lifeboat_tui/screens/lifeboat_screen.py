"""The base class of all screens: header, banner, footer, keys from one list of actions, and requests to the twin
command.

A screen shows one command, its twin: it runs `lifeboat ... --json`, shows the answer, and repeats that when the daemon
reports an event. A subclass sets `NAME`, `ACTS` (its actions) and `HELP` (its purpose). It implements `body`, `twin`,
`load`, and a method `do_<name>` for each of its actions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Concatenate, ParamSpec, TypeVar, cast

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static
from textual.worker import Worker, WorkerState

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents import Document, decode_document
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_daemon.control.command_runner import CommandAnswer, CommandProgress
from lifeboat_tui.cell_text import escape_title, make_plain, truncate_text
from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.link import DashboardLink, Tell
from lifeboat_tui.user_actions import EVERYWHERE, PLACES, READ_ONLY, TABS, UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.progress_display import ProgressDisplay
from lifeboat_tui.widgets.question_dialogs import ChoiceDialog
from lifeboat_tui.widgets.row_table import RowTable
from lifeboat_tui.widgets.screen_bars import ConnectionBanner, KeyHint, ScreenFooter, ScreenHeader, ScreenTab

if TYPE_CHECKING:
    from lifeboat_tui.dashboard_app import LifeboatApp

Result = TypeVar("Result")
ScreenType = TypeVar("ScreenType", bound="LifeboatScreen")
Parameters = ParamSpec("Parameters")
SMALLEST = (60, 15)
"""Smallest size in columns and lines; a smaller terminal shows one sentence in place of the screen."""
TABLE_FRAME = 3
"""Lines of a table that are no rows: the border and the titles."""
LONGEST_NOTE = 1000
FILTER = UserAction(
    "filter", "slash", "filter", "Show only the rows that contain the words that you type; esc clears the filter"
)


class LifeboatScreen(Screen[None]):
    """Screen with header, banner and footer. `AUTO_FOCUS` is the first widget that can take keys."""

    NAME: ClassVar[str] = ""
    ENTER: ClassVar[str | None] = None
    """Action for enter on a row of a table."""
    ACTS: ClassVar[tuple[UserAction, ...]] = ()
    IS_WIZARD: ClassVar[bool] = False
    """True if the footer shows only the keys of the current step, and the help those that do nothing now."""
    IS_GUIDED: ClassVar[bool] = False
    """True for a form that leads through steps: it has no tabs, and no banner for what a later step sets up."""
    HELP: ClassVar[str] = ""
    """Text for the help screen, one or two paragraphs."""
    DEFAULT_CSS = """
    LifeboatScreen { background: $background; }
    LifeboatScreen > #body { height: 1fr; }
    LifeboatScreen VerticalScroll { scrollbar-size-vertical: 1; scrollbar-background: $panel; }
    LifeboatScreen > #too-small { display: none; width: 100%; height: 1fr; content-align: center middle; }
    LifeboatScreen.-tiny > ScreenHeader, LifeboatScreen.-tiny > ScreenFooter { display: none; }
    LifeboatScreen.-tiny > #body, LifeboatScreen.-tiny > ConnectionBanner.-shown { display: none; }
    LifeboatScreen.-tiny > #too-small { display: block; }
    LifeboatScreen #running { display: none; }
    LifeboatScreen #running.-shown, LifeboatScreen.-working #running { display: block; }
    LifeboatScreen #buttons { height: 1; align-horizontal: right; }
    LifeboatScreen #buttons Button { margin-left: 2; }
    """

    def __init_subclass__(cls, **options: bool) -> None:
        cls.BINDINGS = [act.binding for act in (*cls.ACTS, *EVERYWHERE)]
        super().__init_subclass__(**options)

    # What a subclass implements ---------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        """Yield the widgets between header and footer."""
        yield from ()

    def twin(self) -> tuple[str, ...]:
        """Return the command that shows the same in a shell, without `lifeboat`; empty for the dashboard itself."""
        return ()

    def crumbs(self) -> tuple[str, ...]:
        """Return the breadcrumbs of the header, from left to right."""
        return ("lifeboat", self.NAME.lower())

    async def load(self) -> None:
        """Run the twin command and show its answer. Raises LifeboatError, which the caller shows."""

    def handle_event(self, event: JsonObject) -> None:
        """Handle an event of docs/control.md. By default reload if it concerns `about`."""

    def why_not(self, act: str) -> str | None:
        """Return why an action of this screen does nothing now, as a continuation of "Restore: ", or None if it
        works."""
        return None

    # What a subclass uses ---------------------------------------------------------------------------------------

    @property
    def lifeboat(self) -> LifeboatApp:
        """Return the app with its own type."""
        return cast("LifeboatApp", self.app)

    @property
    def link(self) -> DashboardLink:
        return self.lifeboat.link

    @property
    def glyphs(self) -> Glyphs:
        return self.lifeboat.glyphs

    @property
    def table(self) -> RowTable:
        """Return the first table of the screen."""
        return self.query_one(FilteredTable).table

    @property
    def row_key(self) -> str | None:
        """Return the key of the row under the cursor."""
        row = self.table.current if self.is_mounted else None
        return None if row is None else row.key

    def fit_table(self, count: int) -> None:
        """Make the first table as high as its rows, so that the details get the rest; a table without rows stays high
        for its text. The CSS limits the height."""
        self.query_one(FilteredTable).styles.height = count + TABLE_FRAME if count else "1fr"

    async def ask(self, *words: str, text: str = "", tell: Tell | None = None) -> CommandAnswer:
        """Run a command with `--json`. Raises LifeboatError, which `attempt` and `load` show."""
        return await self.link.run(*words, text=text, tell=tell)

    async def fetch(self, kind: type[Document], *words: str, text: str = "", tell: Tell | None = None) -> Document:
        """Run a command like `ask`, and decode its answer."""
        return decode_document(kind, (await self.ask(*words, text=text, tell=tell)).document)

    @work(exclusive=True, group="load", exit_on_error=False)
    async def reload(self) -> None:
        """Run the twin command again. On failure the banner shows the error and the screen keeps its content."""
        try:
            await self.load()
        except LifeboatError as error:
            self.say_problem(error)
        else:
            self.say_problem(None)
        self.refresh_bars()

    def say_problem(self, error: LifeboatError | None) -> None:
        """Show an error with its fix in the banner; None clears it."""
        self._problem = "" if error is None else format_problem(error)
        self.refresh_bars()

    def tell_user(self, text: str, *, severity: str = "information") -> None:
        """Show a notification. `severity` is information, warning or error."""
        self.notify(truncate_text(make_plain(text), LONGEST_NOTE), severity=severity, markup=False)  # type: ignore[arg-type]

    def show_progress(self, progress: CommandProgress) -> None:
        """Show a progress report of a command."""
        if self.is_mounted:
            self.query_one(ProgressDisplay).tell(progress)

    def refresh_bars(self) -> None:
        """Update header, banner and footer. Unchanged parts are not drawn again."""
        if self.is_mounted and self.query(ScreenHeader):
            app = self.lifeboat
            separator = self.glyphs.sign("crumb")
            self.query_one(ScreenHeader).say(list(self._tabs()), self.crumbs(), *app.verdict(), separator=separator)
            trouble = "" if self.IS_GUIDED and not self.link.is_demo else app.connection_text()
            self.query_one(ConnectionBanner).say(
                self._problem or trouble, calm=not self._problem and app.connection_is_calm
            )
            self.query_one(ScreenFooter).say(list(self._hints()), app.daemon_text())

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        report_worker_failure(self.lifeboat, event)

    def describe(self, lines: Iterable[Content], *, title: str | None = None) -> None:
        """Show lines in the detail pane, optionally with another title."""
        if self.is_mounted:
            if title is not None:
                self.query_one("#detail").border_title = escape_title(title)
            self.query_one("#detail-text", Static).update(Content("\n").join(lines))

    async def answer(self, question: Screen[Result]) -> Result | None:
        """Show a dialog and return the user's answer."""
        return await self.app.push_screen_wait(question)

    async def choose_one(self, title: str, choices: Sequence[tuple[str, str]]) -> str | None:
        """Return the key of the only choice; ask the user if there are several."""
        return choices[0][0] if len(choices) == 1 else await self.answer(ChoiceDialog(title, choices))

    @work(group="act", exit_on_error=False)
    async def attempt(self, action: Coroutine[object, object, None]) -> None:
        """Run an action that may ask the user, and show its failure."""
        try:
            await action
        except LifeboatError as error:
            self.tell_failure(error)
        else:
            self.succeeded()

    def succeeded(self) -> None:
        """Handle the success of an action. By default nothing happens."""

    def tell_failure(self, error: LifeboatError) -> None:
        """Show a failure with its fix in the banner, and as a notification."""
        self.say_problem(error)
        self.tell_user(f"{error.title}: {error.message}", severity="error")

    def leave(self) -> None:
        """Return to the previous screen, or go to the dashboard from the first one."""
        if len(self.app.screen_stack) > 2:
            self.lifeboat.back()
        else:
            self.lifeboat.go("dashboard")

    # Composition ------------------------------------------------------------------------------------------------

    def __init__(self) -> None:
        super().__init__()
        self._problem = ""

    def compose(self) -> ComposeResult:
        yield ScreenHeader()
        yield ConnectionBanner()
        with Vertical(id="body"):
            yield from self.body()
        yield ScreenFooter()
        yield Static("", id="too-small", markup=False)

    def on_mount(self) -> None:
        self.refresh_bars()
        self.reload()

    def on_screen_resume(self) -> None:
        self.refresh_bars()

    def on_resize(self, event: events.Resize) -> None:
        tiny = event.size.width < SMALLEST[0] or event.size.height < SMALLEST[1]
        self.set_class(tiny, "-tiny")
        if tiny:
            now, needed = (f"{width}x{height}" for width, height in (event.size, SMALLEST))
            said = f"The terminal is {now}; the dashboard needs {needed}."
            self.query_one("#too-small", Static).update(said)

    # Actions ----------------------------------------------------------------------------------------------------

    def acts(self) -> Iterator[UserAction]:
        """Yield all actions available here, those of the screen first."""
        yield from self.ACTS
        yield from EVERYWHERE
        yield from PLACES

    def refusal(self, act: UserAction) -> str | None:
        """Return why an action does nothing now, None if it works."""
        if act.writes and self.lifeboat.is_readonly:
            return READ_ONLY
        return self.why_not(act.name) or self.lifeboat.why_not(act.name)

    async def action_act(self, name: str) -> None:
        """Run an action, or show why it does nothing now."""
        act = next(act for act in self.acts() if act.name == name)
        refusal = self.refusal(act)
        if refusal is not None:
            self.tell_user(f"{act.label.capitalize()}: {refusal}", severity="warning")
            return
        target = self if hasattr(self, f"do_{name}") else self.app
        outcome = getattr(target, f"do_{name}")()
        if hasattr(outcome, "__await__") and not hasattr(outcome, "is_finished"):
            await outcome

    def _tabs(self) -> Iterator[ScreenTab]:
        """Yield the tabs of the title bar. The current one is the last main screen that was opened."""
        if self.IS_GUIDED:
            return
        opened = [each.NAME.lower() for each in self.app.screen_stack if isinstance(each, LifeboatScreen)]
        names = {act.label for act in TABS}
        current = next((name for name in reversed(opened) if name in names), "")
        for act in TABS:
            refused = self.lifeboat.why_not(act.name) is not None
            action = f"screen.act('{act.name}')"
            yield ScreenTab(act.key_text, act.label, act.tab, action, act.label == current, refused)

    def _hints(self) -> Iterator[KeyHint]:
        for act in self.acts():
            refused = act.footer and self.refusal(act) is not None
            if act.footer and not (refused and self.IS_WIZARD):
                yield KeyHint(act.key_text, act.label, f"screen.act('{act.name}')", refused, act.name == "help")

    @on(RowTable.Chosen)
    async def _enter_row(self) -> None:
        if self.ENTER is not None:
            await self.action_act(self.ENTER)

    def do_back(self) -> None:
        """Clear a filter if one is set; otherwise return to the previous screen."""
        if any(listing.clear_filter() for listing in self.query(FilteredTable)):
            return
        self.lifeboat.back()

    def do_filter(self) -> None:
        """Open the filter of the focused table, or of the first one."""
        listings = list(self.query(FilteredTable))
        focused = [each for each in listings if each.has_focus_within]
        for listing in (focused or listings)[:1]:
            listing.open_filter()

    def do_copy(self) -> None:
        """Copy the twin command."""
        command = " ".join(("lifeboat", *map(quote_argument, self.twin())))
        self.app.copy_to_clipboard(command)
        self.tell_user(f"Copied: {command}")

    def do_reload(self) -> None:
        self.reload()

    def do_help(self) -> None:
        from lifeboat_tui.screens.help_screen import HelpScreen

        self.app.push_screen(HelpScreen(self))

    def do_jump(self) -> None:
        from lifeboat_tui.screens.jump_screen import JumpScreen

        self.app.push_screen(JumpScreen(self))


def attempted(
    action: Callable[Concatenate[ScreenType, Parameters], Coroutine[object, object, None]],
) -> Callable[Concatenate[ScreenType, Parameters], None]:
    """Decorate an action so that calling it runs it in the background with `LifeboatScreen.attempt`."""

    @functools.wraps(action)
    def start(screen: ScreenType, /, *given: Parameters.args, **named: Parameters.kwargs) -> None:
        screen.attempt(action(screen, *given, **named))

    return start


def report_worker_failure(app: LifeboatApp, event: Worker.StateChanged) -> None:
    """Report an unexpected error of a background worker."""
    error = event.worker.error
    if event.state is WorkerState.ERROR and error is not None and not isinstance(error, LifeboatError):
        app.tell_mistake(error)


def format_problem(error: LifeboatError) -> str:
    """Return what failed and what helps, in one line."""
    helps = f" To fix this: {error.fix}" if error.fix else ""
    return f"{error.title}: {error.message}.{helps}".replace("..", ".")
