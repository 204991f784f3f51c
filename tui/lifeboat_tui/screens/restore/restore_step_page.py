"""Base class of the pages of the restore wizard."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Button, Static

from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.screens.restore.restore_command import RestoreChoices
from lifeboat_tui.widgets.row_table import RowTable

if TYPE_CHECKING:
    from lifeboat_tui.screens.restore.restore_wizard import RestoreWizard

_COLOURS = {"error": "$text-error", "warning": "$text-warning", "success": "$text-success"}


class RestoreStepPage(Vertical):
    """One step of the wizard. `STEP` is its name in the line of steps, `LABELS` are the actions in the footer with
    their labels."""

    STEP: ClassVar[str] = ""
    LABELS: ClassVar[dict[str, str]] = {}
    DEFAULT_CSS = """
    RestoreStepPage .said { height: auto; padding: 0 1; }
    RestoreStepPage .gone { display: none; }
    """

    @property
    def wizard(self) -> RestoreWizard:
        return cast("RestoreWizard", self.screen)

    @property
    def wanted(self) -> RestoreChoices:
        return self.wizard.wanted

    def twin(self) -> tuple[str, ...]:
        """Return the words of the command that shows the content of this page."""
        return ()

    async def begin(self) -> None:
        """Load and show the content. Raises LifeboatError."""

    def why_not(self, act: str) -> str | None:
        """Return why an action of this page does nothing now, or None."""
        return None

    async def open_row(self, key: str) -> None:
        """Handle enter on a row."""

    def focus_first(self) -> None:
        """Focus the table, or the first button if there is no table."""
        for each in (*self.query(RowTable), *self.query(Button)):
            if each.focusable:
                each.focus()
                return

    def say(self, where: str, *lines: str | tuple[str, str]) -> None:
        """Show sentences, one per line, optionally with the kind of their style; without sentences the text is
        hidden."""
        said = self.query_one(f"#{where}", Static)
        pairs = [("", line) if isinstance(line, str) else line for line in lines]
        said.update(
            Content("\n").join(Content.styled(make_plain(text), _COLOURS.get(kind, "")) for kind, text in pairs)
        )
        said.set_class(not lines, "gone")
