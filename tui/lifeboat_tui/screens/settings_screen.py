"""Screen of the settings: value, source and effect of each. One setting is changed at a time, and checked before it is
set."""

from __future__ import annotations

from collections.abc import Iterator

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.setting_documents import Setting, spell_value
from lifeboat_core.documents.setting_documents import Settings as Document
from lifeboat_tui.cell_text import format_pair, make_plain
from lifeboat_tui.screens.command_screen import CommandScreen
from lifeboat_tui.screens.lifeboat_screen import FILTER, attempted
from lifeboat_tui.themes import BY_SETTING
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import ChoiceDialog, TextDialog, require_text
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableColumn, TableRow

COLUMNS = (
    TableColumn("SETTING", 20, grow=1),
    TableColumn("VALUE", 16, grow=1),
    TableColumn("SOURCE", 12, rank=1),
    TableColumn("EFFECT", 24, grow=5, rank=2),
)
EVERYBODY = ""
"""Choice for all agents."""
FIRST_GROUP = "general"
THEME = "dashboard.theme"
AT_NEXT_START = frozenset({"dashboard.ascii"})
EXPECTED = {
    "number": "a whole number",
    "share": "a fraction greater than 0, at most 1 (0.5 is half)",
    "days": "a number of days",
    "size": "a size such as 100KB, 50MB or 2GB",
    "duration": "a duration such as 30s, 15m, 24h or 90d",
    "cron": "five cron fields: minute, hour, day of the month, month, day of the week",
    "command": "a shell command, or none",
    "path": "an absolute path, or none",
    "address": "a URL (https:// or http://; for a memory server also stdio: and a command), or none",
}


class SettingsScreen(CommandScreen):
    NAME = "Settings"
    ENTER = "edit"
    ACTS = (
        UserAction(
            "edit",
            "e",
            "change",
            "Change the setting; the value is checked before it is saved",
            footer=True,
            writes=True,
        ),
        UserAction("default", "x", "default", "Reset the setting to its default", footer=True, writes=True),
        UserAction("agent", "A", "choose agent", "Show and change settings of one agent", footer=True),
        FILTER,
    )
    HELP = """
All settings, in groups. Each value is shown with its source: default, configuration file, environment, or the agent.
Enter changes the selected setting; an invalid value is refused and changes nothing.

Most settings can have a different value for one agent: A chooses the agent. Private addresses are never shown, because
anyone who has such an address can use it.
"""
    CSS = """
    SettingsScreen #problem { height: auto; padding: 0 1; color: $text-error; text-style: bold; display: none; }
    SettingsScreen #problem.-shown { display: block; }
    SettingsScreen #settings { height: 1fr; min-height: 6; }
    SettingsScreen #detail { height: 7; border: round $secondary; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._settings: tuple[Setting, ...] = ()
        self._agent_id: str | None = None

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield Static("", id="problem", markup=False)
        yield FilteredTable(COLUMNS, title="Settings", empty="Asking...", glyphs=self.glyphs, id="settings")
        with VerticalScroll(id="detail", can_focus=False):
            yield Static("", id="detail-text")

    def twin(self) -> tuple[str, ...]:
        return ("config", "list") if self._agent_id is None else ("config", "list", self._agent_name)

    def crumbs(self) -> tuple[str, ...]:
        return (*super().crumbs(), *(() if self._agent_id is None else (self._agent_name,)))

    @property
    def _agent_name(self) -> str:
        found = self.lifeboat.find_agent(self._agent_id)
        return (self._agent_id or "") if found is None else found.name

    async def load(self) -> None:
        of_agent = () if self._agent_id is None else (self._agent_id,)
        found = await self.fetch(Document, "config", "list", *of_agent)
        self._settings = found.settings
        problem = self.query_one("#problem", Static)
        problem.set_class(found.problem is not None, "-shown")
        problem.update(f"{make_plain(found.problem)}; the last valid settings are in use" if found.problem else "")
        self.table.show(self._rows(), flash=True)
        self._show_detail()

    def _rows(self) -> Iterator[TableRow]:
        """Yield settings without a group first, then each group in the order of the command."""
        groups: dict[str, list[Setting]] = {"": []}
        for setting in self._settings:
            groups.setdefault(setting.group, []).append(setting)
        for group, settings in groups.items():
            if settings:
                yield TableRow(f"group:{group}", (group or FIRST_GROUP,), heading=True)
            for setting in settings:
                yield self._row(setting)

    def _row(self, setting: Setting) -> TableRow:
        is_default = setting.source == "default"
        return TableRow(
            setting.name,
            (
                TableCell(setting.name, "" if is_default else "strong"),
                TableCell(setting.shown, "muted" if is_default else "accent"),
                TableCell(setting.source, "muted"),
                TableCell(setting.effect, "muted"),
            ),
        )

    @property
    def chosen(self) -> Setting | None:
        """Return the setting under the cursor."""
        return next((one for one in self._settings if one.name == self.row_key), None)

    @on(RowTable.Moved, "#settings-table")
    def _show_detail(self) -> None:
        one = self.chosen
        self.describe(() if one is None else self._detail(one), title="" if one is None else one.name)
        self.refresh_bars()

    def _detail(self, one: Setting) -> Iterator[Content]:
        yield Content(make_plain(one.effect))
        yield format_pair("value", f"{one.shown}  ({one.source}{self._for_whom(one)})")
        default = "not set" if one.private else spell_value(one.default)
        takes = " or ".join(one.choices) if one.choices else EXPECTED.get(one.kind, one.kind)
        yield format_pair("default", default)
        yield format_pair(
            "takes", f"{takes}{f', for example {one.example}' if one.example and not one.choices else ''}"
        )

    def _for_whom(self, one: Setting) -> str:
        if self._agent_id is None:
            return ""
        return f"; for {self._agent_name}" if one.per_agent else "; applies to all agents"

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        one = self.chosen
        if act in ("edit", "default") and one is None:
            return "select a setting first"
        if act in ("edit", "default") and one is not None and self._agent_id is not None and not one.per_agent:
            return "this setting applies to all agents; press A and choose all agents to change it"
        if act == "default" and one is not None and one.source == "default":
            return "this setting already has its default value"
        if act == "agent" and not self._agents:
            return "no agent is protected yet"
        return None

    @property
    def _agents(self) -> list[tuple[str, str]]:
        status = self.lifeboat.status
        return [] if status is None else [(agent.id, agent.name) for agent in status.agents]

    @attempted
    async def do_agent(self) -> None:
        choices = [(EVERYBODY, "all agents"), *self._agents]
        chosen = await self.answer(ChoiceDialog("Settings of", choices, here=self._agent_id or EVERYBODY))
        if chosen is not None:
            self._agent_id = chosen or None
            self.refresh_bars()

    @attempted
    async def do_default(self) -> None:
        one = self.chosen
        assert one is not None
        await self._set(one, None)

    @attempted
    async def do_edit(self) -> None:
        one = self.chosen
        assert one is not None
        if one.is_switch:
            await self._set(one, spell_value(not one.value))
        elif one.choices:
            title = f"{one.name}: {one.effect}"
            value = await self.answer(ChoiceDialog(title, [(each, each) for each in one.choices], here=one.shown))
            if value is not None and value != one.shown:
                await self._set(one, value)
        else:
            await self._ask_value(one)

    async def _ask_value(self, one: Setting) -> None:
        """Ask until the value is valid or the user cancels."""
        value, problem = "" if one.private else one.shown, ""
        while True:
            takes = (
                f"Expected: {EXPECTED.get(one.kind, 'a value')}{f', for example {one.example}' if one.example else ''}."
            )
            hidden = ["This value is private, so it is never shown."] if one.private else []
            lines = [one.effect, takes, *hidden, *([f"The value is not valid: {problem}"] if problem else [])]
            typed = await self.answer(
                TextDialog(
                    one.name,
                    lines,
                    value=value,
                    secret=one.private,
                    yes="Keep it",
                    problem=require_text("type a value (x resets to the default)"),
                )
            )
            if typed is None:
                return
            value = typed.strip()
            try:
                await self.ask(*self._words("check", one, value), text=_input(one, value))
            except LifeboatError as error:
                problem, value = error.message, "" if one.private else value
                continue
            await self._set(one, value)
            return

    def _words(self, command: str, one: Setting, value: str | None) -> tuple[str, ...]:
        """Return the words of `config check` or `config set`; None stands for the default. Private values, and values
        that look like an option, are passed on standard input."""
        agent = () if self._agent_id is None else ("--agent", self._agent_id)
        given = "--default" if value is None else "--stdin" if _is_told(one, value) else value
        return ("config", command, one.name, given, *agent)

    async def _set(self, one: Setting, value: str | None) -> None:
        """Set a value, or the default for None, and report the effect."""
        now = await self.fetch(Setting, *self._words("set", one, value), text=_input(one, value))
        whose = "" if self._agent_id is None else f" for {self._agent_name}"
        later = "; the change takes effect when the dashboard starts again" if one.name in AT_NEXT_START else ""
        self.tell_user(f"{now.name} = {now.shown} ({now.source}){whose}: {one.effect}{later}")
        if one.name == THEME and spell_value(now.value) in BY_SETTING:
            self.app.theme = BY_SETTING[spell_value(now.value)]


def _is_told(one: Setting, value: str) -> bool:
    """Return True if a value must be passed on standard input."""
    return one.private or value.startswith("-")


def _input(one: Setting, value: str | None) -> str:
    return f"{value}\n" if value is not None and _is_told(one, value) else ""
