"""Screen over the restore wizard with the result for every item."""

from __future__ import annotations

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from lifeboat_core.documents.restore_documents import Done, Fate
from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.widgets.question_dialogs import Dialog

_ORDER = ("rejected", "unresolved", "omitted", "transformed", "deduplicated", "accepted")
"""Outcomes in the order of display, those that need attention first."""
_MOST_NAMES = 20


def build_receipt_lines(done: Done) -> Iterator[str]:
    """Yield counts, then items with the same outcome grouped, with the reason."""
    counts = ", ".join(f"{done.outcomes[name]} {name}" for name in reversed(_ORDER) if done.outcomes.get(name))
    yield f"{done.objects} items: {counts or 'none'}."
    known = {outcome: at for at, outcome in enumerate(_ORDER)}
    for fate in sorted(done.fates, key=lambda each: (known.get(each.outcome, len(known)), each.kind)):
        yield ""
        yield from _fate_lines(fate)


def _fate_lines(fate: Fate) -> Iterator[str]:
    why = f": {fate.reason}" if fate.reason else ""
    yield f"{fate.outcome}, {fate.kind} ({len(fate.names)}){why}"
    yield from (f"  {name}" for name in fate.names[:_MOST_NAMES])
    if len(fate.names) > _MOST_NAMES:
        yield f"  and {len(fate.names) - _MOST_NAMES} more"


class RestoreReceiptScreen(Dialog[None]):
    """Scrollable receipt of a restore. Escape closes it."""

    CSS = """
    RestoreReceiptScreen > Vertical { width: 100; height: 90%; }
    RestoreReceiptScreen .title { height: auto; margin-bottom: 1; }
    RestoreReceiptScreen VerticalScroll > Static { height: auto; }
    """
    BINDINGS = [Binding("enter,e", "cancel", "Close")]

    def __init__(self, done: Done) -> None:
        super().__init__()
        self._done = done

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(f"Receipt {make_plain(self._done.receipt)}  (esc closes it)", classes="title", markup=False)
            with VerticalScroll():
                yield Static("\n".join(make_plain(line) for line in build_receipt_lines(self._done)), markup=False)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()
