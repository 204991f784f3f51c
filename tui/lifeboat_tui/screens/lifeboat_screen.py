"""What all screens have in common: header, banner, footer; keys from one list of acts; asking a twin command.

A screen is a face of a command, its twin: it asks `lifeboat ... --json`, shows the answer, and asks again when the
daemon tells that something happened. A subclass says in `NAME` what it is called, in `ACTS` what can be done on it, in
`HELP` what it is for; it gives `body`, `twin`, `load`, and a method `do_<name>` for each act of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Static
from textual.worker import Worker, WorkerState

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_daemon.control.command_runner import CommandAnswer
from lifeboat_tui.cell_text import make_plain, truncate_text
from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.link import DashboardLink, Tell
from lifeboat_tui.user_actions import EVERYWHERE, PLACES, READ_ONLY, UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.screen_bars import ConnectionBanner, KeyHint, ScreenFooter, ScreenHeader

if TYPE_CHECKING:
    from lifeboat_tui.dashboard_app import LifeboatApp

SMALLEST = (60, 15)
"""Columns and lines; on less there is one sentence instead of the screen."""
LONGEST_NOTE = 1000
FILTER = UserAction("filter", "slash", "filter", "Show only lines in which your words stand; esc clears it")


class LifeboatScreen(Screen[None]):
    """See the module. `AUTO_FOCUS` is the first thing that takes keys."""

    NAME: ClassVar[str] = ""
    ACTS: ClassVar[tuple[UserAction, ...]] = ()
    IS_WIZARD: ClassVar[bool] = False
    """Whether its footer has only the keys of the step that is shown; what is not possible now is in the help."""
    HELP: ClassVar[str] = ""
    """Prose for `?`, a paragraph or two."""
    DEFAULT_CSS = """
    LifeboatScreen { background: $background; }
    LifeboatScreen > #body { height: 1fr; }
    LifeboatScreen > #too-small { display: none; width: 100%; height: 1fr; content-align: center middle; }
    LifeboatScreen.-tiny > ScreenHeader, LifeboatScreen.-tiny > ScreenFooter, LifeboatScreen.-tiny > #body { display:
    none; } LifeboatScreen.-tiny > ConnectionBanner.-shown { display: none; } LifeboatScreen.-tiny > #too-small {
    display: block; }
    """

    def __init_subclass__(cls, **options: bool) -> None:
        cls.BINDINGS = [act.binding for act in (*cls.ACTS, *EVERYWHERE)]
        super().__init_subclass__(**options)

    # What a subclass gives --------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        """The widgets between header and footer."""
        yield from ()

    def twin(self) -> tuple[str, ...]:
        """The words of the command that shows the same in a shell, without `lifeboat`; none: the dashboard itself."""
        return ()

    def crumbs(self) -> tuple[str, ...]:
        """Where one is, from left to right."""
        return ("lifeboat", self.NAME.lower())

    async def load(self) -> None:
        """Ask the twin and show the answer. Raises LifeboatError, which is shown."""

    def happened(self, event: JsonObject) -> None:
        """Something happened: `event` is one of docs/control.md. The default asks again for what is about `about`."""

    def why_not(self, act: str) -> str | None:
        """Why an act of this screen does nothing now, as a sentence that goes on after "Restore: "; None: it works."""
        return None

    # What a subclass uses ---------------------------------------------------------------------------------------

    @property
    def lifeboat(self) -> LifeboatApp:
        """The app, by its own type."""
        return cast("LifeboatApp", self.app)

    @property
    def link(self) -> DashboardLink:
        return self.lifeboat.link

    @property
    def glyphs(self) -> Glyphs:
        return self.lifeboat.glyphs

    async def ask(self, *words: str, text: str = "", tell: Tell | None = None) -> CommandAnswer:
        """Run a command with `--json`. Raises LifeboatError; inside of `attempt` and `load` that is shown."""
        return await self.link.run(*words, text=text, tell=tell)

    @work(exclusive=True, group="load", exit_on_error=False)
    async def reload(self) -> None:
        """Ask the twin again; what fails is said in the banner, and what was shown stays."""
        try:
            await self.load()
        except LifeboatError as error:
            self.say_problem(error)
        else:
            self.say_problem(None)
        self.refresh_bars()

    def say_problem(self, error: LifeboatError | None) -> None:
        """One line under the header: what failed and what helps; None takes it away."""
        self._problem = "" if error is None else format_problem(error)
        self.refresh_bars()

    def tell_user(self, text: str, *, severity: str = "information") -> None:
        """A note in the corner. `severity`: information, warning or error."""
        self.notify(truncate_text(make_plain(text), LONGEST_NOTE), severity=severity, markup=False)  # type: ignore[arg-type]

    def refresh_bars(self) -> None:
        """Header, banner and footer as they are now; what is the same is not drawn again."""
        if self.is_mounted and self.query(ScreenHeader):
            app = self.lifeboat
            self.query_one(ScreenHeader).say(self.crumbs(), *app.verdict(), separator=self.glyphs.sign("crumb"))
            trouble = app.connection_text()
            self.query_one(ConnectionBanner).say(
                self._problem or trouble, calm=not self._problem and app.connection_is_calm
            )
            self.query_one(ScreenFooter).say(list(self._hints()), app.daemon_text())

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        report_worker_failure(self.lifeboat, event)

    # Composing --------------------------------------------------------------------------------------------------

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
            said = f"{event.size.width}x{event.size.height} is too small: {SMALLEST[0]}x{SMALLEST[1]} is needed"
            self.query_one("#too-small", Static).update(said)

    # Acts -------------------------------------------------------------------------------------------------------

    def acts(self) -> Iterator[UserAction]:
        """Everything that can be done here, the screen's own first."""
        yield from self.ACTS
        yield from EVERYWHERE
        yield from PLACES

    def refusal(self, act: UserAction) -> str | None:
        """Why an act does nothing now, None when it works."""
        if act.writes and self.lifeboat.is_readonly:
            return READ_ONLY
        return self.why_not(act.name) or self.lifeboat.why_not(act.name)

    async def action_act(self, name: str) -> None:
        """Do an act, or say why not."""
        act = next(act for act in self.acts() if act.name == name)
        refusal = self.refusal(act)
        if refusal is not None:
            self.tell_user(f"{act.label.capitalize()}: {refusal}", severity="warning")
            return
        target = self if hasattr(self, f"do_{name}") else self.app
        outcome = getattr(target, f"do_{name}")()
        if hasattr(outcome, "__await__") and not hasattr(outcome, "is_finished"):
            await outcome

    def _hints(self) -> Iterator[KeyHint]:
        for act in self.acts():
            refused = act.footer and self.refusal(act) is not None
            if act.footer and not (refused and self.IS_WIZARD):
                yield KeyHint(act.key_text, act.label, f"screen.act('{act.name}')", refused)

    def do_back(self) -> None:
        """First a filter is cleared; then the screen before this one comes back."""
        if any(listing.clear_filter() for listing in self.query(FilteredTable)):
            return
        self.lifeboat.back()

    def do_filter(self) -> None:
        """Open the filter of the listing that has the focus, else of the first one."""
        listings = list(self.query(FilteredTable))
        focused = [each for each in listings if each.has_focus_within]
        for listing in (focused or listings)[:1]:
            listing.open_filter()

    def do_copy(self) -> None:
        """Copy the command that shows the same."""
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


def report_worker_failure(app: LifeboatApp, event: Worker.StateChanged) -> None:
    """What nobody foresaw in what goes on beside the screen is no failure without a word."""
    error = event.worker.error
    if event.state is WorkerState.ERROR and error is not None and not isinstance(error, LifeboatError):
        app.tell_mistake(error)


def format_problem(error: LifeboatError) -> str:
    """What failed and what helps, in one line."""
    helps = f" What helps: {error.fix}" if error.fix else ""
    return f"{error.title}: {error.message}.{helps}".replace("..", ".")
