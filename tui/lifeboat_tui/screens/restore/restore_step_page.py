"""A step of the restore wizard: what all of them have in common."""

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
    """`STEP` names it in the line of steps, `LABELS` are the acts in its footer with what they are called there."""

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
        """The words of the command that shows what stands here."""
        return ()

    async def begin(self) -> None:
        """Ask, and show. Raises LifeboatError."""

    def why_not(self, act: str) -> str | None:
        """Why an act that this page has in its footer does nothing now."""
        return None

    async def open_row(self, key: str) -> None:
        """Enter on a row."""

    def focus_first(self) -> None:
        """Its table, else its first button."""
        for each in (*self.query(RowTable), *self.query(Button)):
            if each.focusable:
                each.focus()
                return

    def say(self, where: str, *lines: str | tuple[str, str]) -> None:
        """Sentences, one a line, each perhaps with the kind of its style; none of them: nothing is shown there."""
        said = self.query_one(f"#{where}", Static)
        pairs = [("", line) if isinstance(line, str) else line for line in lines]
        said.update(
            Content("\n").join(Content.styled(make_plain(text), _COLOURS.get(kind, "")) for kind, text in pairs)
        )
        said.set_class(not lines, "gone")
