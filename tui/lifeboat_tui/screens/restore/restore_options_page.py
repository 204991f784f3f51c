"""Second page of the restore wizard: target, runtime, files, and additional data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from textual import on
from textual.app import ComposeResult
from textual.widgets import Static

from lifeboat_core.documents.agent_documents import Everyone, Here
from lifeboat_core.documents.restore_documents import Plan
from lifeboat_core.texts.human_text import count_text
from lifeboat_tui.cell_text import format_size, make_plain
from lifeboat_tui.screens.restore.file_selection import FileSelectionDialog
from lifeboat_tui.screens.restore.restore_command import (
    build_restore_command,
    escape_patterns,
    parse_patterns,
    unescape_patterns,
)
from lifeboat_tui.screens.restore.restore_step_page import RestoreStepPage
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import ChoiceDialog, TextDialog
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableColumn, TableRow

COLUMNS = (TableColumn("WHAT", 17), TableColumn("CHOICE", 20, grow=1))
HELPS = {
    "to": "A restore in place captures the workspace and then replaces it. A restore into another folder does not "
    "change the workspace.",
    "runtime": "If you choose another runtime, Lifeboat writes that runtime's files from the memories.",
    "paths": "Restore all files or only some: mark files in a list, or type patterns such as *.md.",
    "with_credentials": "Restore credentials, and put secrets back into the files from which captures removed "
    "them. Your key must be unlocked.",
    "with_cron": "Restore scheduled jobs. If another machine still runs these jobs, they run twice.",
    "with_sessions": "Restore session transcripts that the runtime stores in a database.",
    "state_dir": "The directory in which the runtime keeps its settings and databases.",
    "finish": "Run the runtime's own commands that complete the restore. Otherwise these commands are listed at "
    "the end.",
    "adopt": "Restore a copy, or move the agent itself. If you move it, Lifeboat protects the new folder, and the "
    "previous machine can no longer push.",
}
"""Help text of each option."""
ONLY_ELSEWHERE = "possible only for a restore into another folder"
SWITCHES = ("with_cron", "with_sessions", "adopt", "finish")


@dataclass(frozen=True, slots=True)
class RestoreOption:
    """Row of the page with a choice. `refused` says why it cannot be changed now."""

    key: str
    name: str
    value: str
    refused: str = ""


class RestoreOptionsPage(RestoreStepPage):
    STEP = "What"
    LABELS = {"open": "change", "credentials": "credentials", "go_on": "preview"}

    def __init__(self) -> None:
        super().__init__(id="what")
        self.here: Here | None = None
        """The agent as it is on this machine."""
        self._options: dict[str, RestoreOption] = {}

    def compose(self) -> ComposeResult:
        said = (
            "Choose what to restore and where. Press enter to change a line, Ctrl-N to continue. Nothing is "
            "written yet."
        )
        yield Static(said, classes="said", markup=False)
        yield FilteredTable(COLUMNS, title="Choices", empty="Looking...", glyphs=self.wizard.glyphs, id="options")
        yield Static("", id="what-detail", classes="said", markup=False)

    @property
    def table(self) -> RowTable:
        return self.query_one("#options", FilteredTable).table

    def twin(self) -> tuple[str, ...]:
        return build_restore_command(self.wizard.labelled_choices, dry_run=True)

    async def begin(self) -> None:
        agents = (await self.wizard.fetch(Everyone, "agents", "list")).agents
        self.here = next((one for one in agents if self.wanted.agent in (one.id, one.name)), None)
        away = self.wizard.away
        if self.here is None and self.wanted.to is None and away is not None and away.folders:
            self.wizard.wanted = replace(self.wanted, to=away.folders.get(away.runtime))
        self.show()

    @property
    def folders(self) -> dict[str, str]:
        """Return the proposed directory for each runtime."""
        away = self.wizard.away
        if self.here is not None and self.here.folders:
            return self.here.folders
        return {} if away is None else away.folders

    @property
    def own_runtime(self) -> str:
        away = self.wizard.away
        return self.here.runtime if self.here is not None else "" if away is None else away.runtime

    # What is shown ----------------------------------------------------------------------------------------------

    def show(self) -> None:
        self._options = {option.key: option for option in self._all()}
        self.table.show([_row(option) for option in self._options.values()])
        self._show_detail()

    def _all(self) -> Iterator[RestoreOption]:
        wanted = self.wanted
        workspace = "its usual folder" if self.here is None else self.here.workspace
        where = f"in place: {workspace}" if wanted.to is None else f"another folder: {wanted.to}"
        yield RestoreOption("to", "Where", where)
        own = self.own_runtime or "its own"
        runtime = wanted.runtime or f"{own} (no change)"
        yield RestoreOption("runtime", "Runtime", runtime)
        files = "everything" if not wanted.paths else f"only {' '.join(wanted.paths)}"
        yield RestoreOption("paths", "Files", files)
        yield RestoreOption("with_credentials", "Credentials", self._credentials())
        yield _switch("with_cron", "Scheduled jobs", wanted.with_cron)
        yield _switch("with_sessions", "Sessions", wanted.with_sessions)
        refused = ONLY_ELSEWHERE if wanted.to is None else ""
        yield RestoreOption("adopt", "Role", self._whose(), refused)
        state_dir = wanted.state_dir or "the parent folder of the workspace"
        yield RestoreOption("state_dir", "State directory", state_dir)
        yield _switch("finish", "Follow-up steps", wanted.finish)

    def _credentials(self) -> str:
        if self.wanted.with_credentials is None:
            return "included if your key is unlocked" if self.wanted.in_place else "no"
        return "included" if self.wanted.with_credentials else "no"

    def _whose(self) -> str:
        if self.wanted.to is None:
            return "the agent itself, in place"
        return "the agent itself" if self.wanted.adopt else "a copy"

    @on(RowTable.Moved, "#options-table")
    def _moved(self, event: RowTable.Moved) -> None:
        event.stop()
        self._show_detail()

    def _show_detail(self) -> None:
        row = self.table.current
        option = None if row is None else self._options.get(row.key)
        lines = [] if option is None else [HELPS[option.key]]
        if option is not None and option.refused:
            lines.append(f"Unavailable: {option.refused}.")
        self.say("what-detail", *lines)

    # Choosing ---------------------------------------------------------------------------------------------------

    async def open_row(self, key: str) -> None:
        option = self._options.get(key)
        if option is None:
            return
        if option.refused:
            self.wizard.tell_user(f"{option.name} cannot be changed: {option.refused}", severity="warning")
        elif key == "with_credentials":
            self.switch_credentials(None)
        elif key in SWITCHES:
            self.switch(key)
        elif key == "to":
            await self._choose_folder()
        elif key == "runtime":
            await self._choose_runtime()
        elif key == "paths":
            await self._choose_files()
        else:
            await self._type_state_dir()
        self.show()

    def switch_credentials(self, plan: Plan | None) -> None:
        """Include the credentials or leave them out, the opposite of what the preview shows or the default is."""
        included = self.wanted.with_credentials
        if included is None:
            included = self.wanted.in_place if plan is None else plan.with_credentials
        self.wizard.wanted = replace(self.wanted, with_credentials=not included)
        self.show()

    def switch(self, name: str) -> None:
        """Toggle an option."""
        is_on = getattr(self.wanted, name)
        self.wizard.wanted = replace(self.wanted, **{name: not is_on})  # type: ignore[arg-type]
        self.show()

    async def _choose_folder(self) -> None:
        places = [("place", "in place")] if self.here is not None else []
        chosen_place = await self.app.push_screen_wait(
            ChoiceDialog(
                "Where to?", [*places, ("folder", "another folder")], here="folder" if self.wanted.to else "place"
            )
        )
        if chosen_place == "place":
            self.wizard.wanted = replace(self.wanted, to=None, runtime=None, adopt=False)
        elif chosen_place == "folder":
            await self._type_folder()

    async def _type_folder(self) -> bool:
        value = self.wanted.to or self.folders.get(self.wanted.runtime or self.own_runtime, "")
        lines = ["If the folder contains files, the preview shows them before anything is written."]
        typed = await self.app.push_screen_wait(
            TextDialog(
                "Into which folder should the agent be restored?",
                lines,
                value=value,
                yes="This one",
                problem=_no_folder,
            )
        )
        if typed is not None:
            self.wizard.wanted = replace(self.wanted, to=_folder(typed))
        return typed is not None

    async def _choose_runtime(self) -> None:
        known = list(self.folders) or [self.own_runtime]
        choices = [(name, f"{name}  (no change)" if name == self.own_runtime else name) for name in known if name]
        chosen_one = await self.app.push_screen_wait(
            ChoiceDialog(
                "For which runtime should the agent be restored?", choices, here=self.wanted.runtime or self.own_runtime
            )
        )
        if chosen_one is None:
            return
        before, other = self.wanted, None if chosen_one == self.own_runtime else chosen_one
        is_usual = before.to is not None and before.to in self.folders.values()
        self.wizard.wanted = replace(before, runtime=other, to=None if is_usual else before.to)
        if (other is not None or self.here is None) and self.wanted.to is None and not await self._type_folder():
            self.wizard.wanted = before  # another runtime needs a separate directory

    async def _choose_files(self) -> None:
        how = [
            ("all", "everything"),
            ("list", "select files from the list of changes"),
            ("type", "type file names or patterns"),
        ]
        chosen_way = await self.app.push_screen_wait(ChoiceDialog("Which files?", how, here="list"))
        if chosen_way == "all":
            self.wizard.wanted = replace(self.wanted, paths=())
        elif chosen_way == "type":
            await self._type_patterns()
        elif chosen_way == "list":
            await self._mark_files()

    async def _type_patterns(self) -> None:
        value = " ".join(self.wanted.paths)
        lines = [
            "Separate names by spaces, for example:  MEMORY.md  skills/inbox  *.toml",
            "Put names that contain spaces in quotes.",
        ]
        typed = await self.app.push_screen_wait(TextDialog("Which files?", lines, value=value, problem=_no_pattern))
        if typed is not None:
            self.wizard.wanted = replace(self.wanted, paths=parse_patterns(typed))

    async def _mark_files(self) -> None:
        """List the files that a full restore would change, to select some."""
        self.wizard.tell_user("Comparing...")
        everything = build_restore_command(replace(self.wanted, paths=()), dry_run=True)
        plan = await self.wizard.fetch(Plan, *everything, tell=self.wizard.tell)
        items = [item for item in plan.items if item.action != "skip"]
        if not items:
            self.wizard.tell_user("This restore would change no file: the workspace is the same as the sequence.")
            return
        rows = [
            TableRow(item.name, (TableCell(item.action.upper(), "muted"), item.name, format_size(item.size)))
            for item in items
        ]
        marked = unescape_patterns(self.wanted.paths) & {item.name for item in items}
        names = await self.app.push_screen_wait(FileSelectionDialog(rows, marked, self.wizard.glyphs))
        if names is not None:
            self.wizard.wanted = replace(self.wanted, paths=escape_patterns(sorted(names)))
            taken = count_text(len(names), "file") if names else "everything"
            self.wizard.tell_user(f"Chosen: {taken}")

    async def _type_state_dir(self) -> None:
        lines = [
            "A folder such as ~/.openclaw. If you leave the field empty, the parent folder of the workspace is used."
        ]
        typed = await self.app.push_screen_wait(
            TextDialog(
                "In which directory does the runtime keep its settings and databases?",
                lines,
                value=self.wanted.state_dir or "",
            )
        )
        if typed is not None:
            self.wizard.wanted = replace(self.wanted, state_dir=_folder(typed) if typed.strip() else None)


def _row(option: RestoreOption) -> TableRow:
    value = (
        TableCell(f"{option.value}  ({option.refused})", "muted")
        if option.refused
        else TableCell(make_plain(option.value))
    )
    return TableRow(option.key, (TableCell(option.name, "strong"), value))


def _switch(key: str, name: str, is_on: bool) -> RestoreOption:
    return RestoreOption(key, name, "included" if is_on and key != "finish" else "yes" if is_on else "no")


def _folder(typed: str) -> str:
    return os.path.expanduser(typed.strip())


def _no_folder(typed: str) -> str | None:
    return None if typed.strip() else "type a folder"


def _no_pattern(typed: str) -> str | None:
    try:
        return None if parse_patterns(typed) else "type a name"
    except ValueError:
        return "a closing quotation mark is missing"
