"""Third page of the restore wizard: the preview of changes per file."""

from __future__ import annotations

from dataclasses import replace

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Static

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.restore_documents import Plan
from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.screens.restore.restore_command import build_restore_command, format_command
from lifeboat_tui.screens.restore.restore_step_page import RestoreStepPage
from lifeboat_tui.screens.restore.restore_texts import (
    build_restore_rows,
    describe_restore_plan,
    describe_trouble,
    list_plan_notes,
)
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.row_table import RowTable, TableColumn

COLUMNS = (
    TableColumn("", 9),
    TableColumn("FILE", 20, grow=2),
    TableColumn("SIZE", 9, rank=1, right=True),
    TableColumn("NOTE", 16, grow=2, rank=2),
)
LOOKING = "Preparing the preview... Nothing is written yet."


class RestorePreviewPage(RestoreStepPage):
    STEP = "Preview"
    LABELS = {"run": "restore", "open": "diff", "credentials": "credentials", "filter": "filter"}
    DEFAULT_CSS = """
    RestorePreviewPage #plan { height: 2fr; min-height: 5; }
    RestorePreviewPage #notes { height: auto; max-height: 30%; padding: 0 1; border: round $secondary; }
    RestorePreviewPage #notes > Static { height: auto; }
    RestorePreviewPage #trouble { background: $error-muted; color: $text-error; text-style: bold; }
    RestorePreviewPage #command { height: auto; max-height: 2; padding: 0 1; color: $foreground 60%; }
    """

    def __init__(self) -> None:
        super().__init__(id="preview")
        self.plan: Plan | None = None
        self.refused: LifeboatError | None = None
        """The error because of which there is no plan."""

    def compose(self) -> ComposeResult:
        yield Static("", id="trouble", classes="said gone", markup=False)
        yield Static(LOOKING, id="head", classes="said", markup=False)
        with Vertical():
            yield FilteredTable(COLUMNS, title="Files", empty=LOOKING, glyphs=self.wizard.glyphs, id="plan")
            with VerticalScroll(id="notes", can_focus=False):
                yield Static("", id="notes-text")
        yield Static("", id="command", markup=False)
        with Horizontal(id="buttons"):
            yield Button("Cancel", id="cancel", compact=True)
            yield Button("Restore (R)", id="restore", variant="primary", compact=True)

    @property
    def table(self) -> RowTable:
        return self.query_one("#plan", FilteredTable).table

    def twin(self) -> tuple[str, ...]:
        return build_restore_command(self.wizard.labelled_choices, dry_run=True)

    async def begin(self) -> None:
        asked = self.wanted
        try:
            plan = await self.wizard.fetch(Plan, *build_restore_command(asked, dry_run=True), tell=self.wizard.tell)
        except LifeboatError as error:
            self.plan, self.refused = None, error
            self._show_nothing(error)
            return
        if asked != self.wanted:
            return
        self.plan, self.refused = plan, None
        # pin the previewed sequence: a later capture must not change what is restored
        if asked.at is None and asked.remote is None:
            self.wizard.wanted = replace(asked, at=str(plan.sequence))
        self._show(plan)

    def forget(self) -> None:
        """Clear the preview after the choices changed."""
        self.plan = self.refused = None
        self.table.empty = LOOKING
        self.table.show([])
        self.say("head", LOOKING)
        self.say("notes-text")
        self.query_one("#restore", Button).disabled = True

    def say_trouble(self, *lines: str) -> None:
        """Show why the last attempt failed."""
        self.say("trouble", *lines)

    def _show(self, plan: Plan) -> None:
        wizard = self.wizard
        entry = wizard.point.entry(str(plan.sequence))
        verified = () if entry is None else entry.verified
        self.say("head", *describe_restore_plan(plan, self.wanted, verified))
        self.table.empty = "This restore would change nothing."
        self.table.show(build_restore_rows(plan))
        signs = {"error": wizard.glyphs.sign("error"), "warning": wizard.glyphs.sign("warning")}
        notes = [
            (kind, f"{signs[kind]} {text}" if kind in signs else text)
            for kind, text in list_plan_notes(plan, self.wanted)
        ]
        self.say("notes-text", *notes)
        self.query_one("#command", Static).update(make_plain(f"Shell command: {format_command(self._without_yes())}"))
        self._say_button()

    def _without_yes(self) -> tuple[str, ...]:
        """Return the command as a user would type it, without `--yes`."""
        return tuple(
            word for word in build_restore_command(self.wizard.labelled_choices, dry_run=False) if word != "--yes"
        )

    def _show_nothing(self, error: LifeboatError) -> None:
        self.say("head", *((("error", line)) for line in describe_trouble(error)))
        self.table.empty = "The preview could not be made."
        self.table.show([])
        self.say("notes-text")
        self.query_one("#command", Static).update(make_plain(f"Shell command: {format_command(self._without_yes())}"))
        self._say_button()

    def _say_button(self) -> None:
        button, plan = self.query_one("#restore", Button), self.plan
        button.disabled = self.why_not("run") is not None or self.wizard.lifeboat.is_readonly
        is_captured = plan is not None and self.wanted.in_place and bool(plan.changes)
        button.label = "Capture first, then restore (R)" if is_captured else "Restore (R)"
        button.refresh(layout=True)

    def why_not(self, act: str) -> str | None:
        plan = self.plan
        if act == "run":
            if plan is None:
                return (
                    "there is no preview yet"
                    if self.refused is None
                    else "this page shows a problem that you must solve first"
                )
            if plan.unholdable:
                return (
                    "the file system of the target folder does not support some file names; press esc to "
                    "choose another folder"
                )
            if not plan.is_signed and self.wanted.with_credentials:
                return (
                    "this sequence has no valid signature, so its credentials cannot be restored; press i to "
                    "leave them out"
                )
            if not plan.changes and not self.wanted.adopt and not self.wanted.with_credentials:
                return "this restore would change nothing"
        if act == "open" and (not self.wanted.in_place or self.wanted.remote is not None):
            return "the differences can be shown only for a restore in place, from a sequence on this machine"
        return None

    async def open_row(self, key: str) -> None:
        """Show the difference that the restore would make to a file."""
        from lifeboat_tui.screens.timeline.diff_screen import DiffScreen

        plan = self.plan
        item = None if plan is None else next((each for each in plan.items if f"item {each.name}" == key), None)
        if plan is not None and item is not None:
            self.app.push_screen(DiffScreen(self.wanted.agent, "workspace", str(plan.sequence), path=item.name))
