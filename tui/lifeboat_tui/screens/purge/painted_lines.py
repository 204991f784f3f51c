"""Sentences with signs and colours for their state."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.glyphs import STYLES, Glyphs

_SIGNED = frozenset({"done", "waiting", "pending", "warning", "error"})


def paint_lines(lines: Iterable[tuple[str, str]], glyphs: Glyphs) -> Content:
    """Return (kind, sentence) pairs as lines: the kinds done, waiting, pending, warning and error get a sign, `muted`
    is faint."""
    return Content("\n").join(_line(kind, text, glyphs) for kind, text in lines)


def _line(kind: str, text: str, glyphs: Glyphs) -> Content:
    if kind in _SIGNED:
        style = f"$text-{STYLES[kind]}"
        return Content.assemble((f"{glyphs.sign(kind)} ", style), (make_plain(text), style if kind == "error" else ""))
    look = {"muted": "$foreground 60%", "strong": "bold"}.get(kind, "")
    return Content.styled(make_plain(text), look) if look else Content(make_plain(text))
