"""Help screen (`?`): the purpose of a screen, all its keys, and a short glossary."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from lifeboat_tui.user_actions import EVERYWHERE, PLACES, UserAction
from lifeboat_tui.widgets.question_dialogs import Dialog

if TYPE_CHECKING:
    from lifeboat_tui.screens.lifeboat_screen import LifeboatScreen

GLOSSARY = (
    ("agent", "a workspace of an agent runtime that Lifeboat protects"),
    ("capture", "read the workspace and store the changes as the next sequence"),
    ("sequence", "one captured state of an agent; its number is the same on every machine"),
    ("remote", "another place with copies of your agents: an endpoint or a folder"),
    ("verified", "Lifeboat read the copy back and checked all digests and signatures"),
    ("held", "a capture that removed much; it is pushed to remotes only after you accept it"),
    ("purge", "destroy a text or a memory in every copy, with a signed receipt"),
    ("recovery words", "24 words that encode your key; anyone who has the words can use the key"),
)
"""The eight most important terms, in the order in which users meet them."""
_MOVING = (
    ("↑ ↓  j k", "move"),
    ("pgup pgdn", "a page"),
    ("g G", "first, last"),
    ("enter", "open"),
    ("tab", "next part of the screen"),
    ("^p", "all actions by name"),
)
_WIDTH, _FRAME = 84, 8
"""Cells of the box, as in the CSS below, and those of its border, padding and scrollbar."""


class HelpScreen(Dialog[None]):
    """Help on the screen below. The keys of the focused part come first if it has any."""

    CSS = """
    HelpScreen > Vertical { width: 84; max-width: 96%; height: 90%; padding: 0 2; }
    HelpScreen Static { height: auto; margin-bottom: 1; }
    """
    BINDINGS = [
        Binding("question_mark,q", "cancel", "Close"),
        Binding("8", "doctor", "Doctor"),
    ]

    def __init__(self, screen: LifeboatScreen) -> None:
        super().__init__()
        self._screen = screen

    def compose(self) -> ComposeResult:
        screen = self._screen
        with Vertical() as box:
            box.border_title = f"Help: {screen.NAME.lower()}"
            box.border_subtitle = "esc: close · 8: doctor"
            with VerticalScroll():
                part = getattr(screen.focused, "HELP", "")
                yield Static("\n\n".join(filter(None, (_flowing(part), _flowing(screen.HELP)))), markup=False)
                if screen.ACTS:
                    yield Static(self._keys("This screen", screen.ACTS))
                yield Static(self._pairs("Lists", _MOVING))
                yield Static(self._keys("Every screen", EVERYWHERE))
                yield Static(self._keys("Main screens", PLACES))
                yield Static(self._pairs("Terms", GLOSSARY, width=14))

    def _keys(self, title: str, acts: tuple[UserAction, ...]) -> Content:
        rows = []
        for act in acts:
            refusal = self._screen.refusal(act)
            rows.append((act.key_text, act.help if refusal is None else f"{act.help} (unavailable: {refusal})"))
        return self._pairs(title, tuple(rows))

    def _pairs(self, title: str, rows: tuple[tuple[str, str], ...], width: int = 9) -> Content:
        """Return rows of a key and its text. A long text is wrapped beside the key."""
        room = min(_WIDTH, int(self._screen.size.width * 0.96)) - _FRAME - width - 2
        lines = [Content.styled(title, "bold")]
        for key, said in rows:
            first, *rest = textwrap.wrap(said, room) or [""]
            lines.append(Content.assemble((f" {key:<{width}} ", "bold"), first))
            lines += [Content(f"{'':{width + 2}}{line}") for line in rest]
        return Content("\n").join(lines)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_doctor(self) -> None:
        self.dismiss()
        self._screen.lifeboat.go("doctor")


def _flowing(prose: str | None) -> str:
    """Return paragraphs without the line breaks of the source."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in (prose or "").strip().split("\n\n"))
