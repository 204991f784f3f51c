"""How a state looks: a sign and a word, never a colour alone. Where the terminal knows no more than ASCII, signs are
letters."""

from __future__ import annotations

from dataclasses import dataclass

from lifeboat_core.health.state_words import FOR_PEOPLE

_SIGNS = {
    "ok": ("●", "o"),
    "syncing": ("◌", "~"),
    "waiting": ("◐", "-"),
    "paused": ("‖", "="),
    "overdue": ("◔", "!"),
    "needs_key": ("⚿", "K"),
    "fenced": ("⇄", ">"),
    "held": ("▲", "!"),
    "error": ("✖", "X"),
    "warning": ("▲", "!"),
    "done": ("✓", "+"),
    "pending": ("○", "."),
    "unknown": ("?", "?"),
}
_OTHERS = {
    "cursor": ("▸", ">"),
    "marked": ("☑", "[x]"),
    "unmarked": ("☐", "[ ]"),
    "crumb": ("›", ">"),
    "line": ("─", "-"),
    "arrow": ("→", "->"),
    "step_done": ("●", "*"),
    "step_here": ("◉", "@"),
    "step_ahead": ("○", "o"),
    "bar": ("█", "#"),
    "bar_empty": ("░", "."),
    "dot": ("·", "."),
}
_BARS = (" ▁▂▃▄▅▆▇█", " .:-=+*#@")
STYLES = {
    "ok": "success",
    "done": "success",
    "syncing": "accent",
    "waiting": "warning",
    "pending": "warning",
    "paused": "muted",
    "overdue": "warning",
    "warning": "warning",
    "needs_key": "error",
    "fenced": "error",
    "held": "error",
    "error": "error",
}
"""The kind of style of a state; the theme says which colour that is."""


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The signs of one dashboard. `ascii`: plain letters only."""

    ascii: bool = False

    def sign(self, name: str) -> str:
        """The sign of a state or of a part of a screen, "?" for an unknown one."""
        return (_SIGNS.get(name) or _OTHERS.get(name) or _SIGNS["unknown"])[int(self.ascii)]

    def state(self, name: str) -> str:
        """`● ok`, `▲ held`: sign and word."""
        return f"{self.sign(name)} {FOR_PEOPLE.get(name, name)}"

    def bars(self, counts: list[int]) -> str:
        """A chart of one line, a character a count."""
        signs, most = _BARS[int(self.ascii)], max(counts, default=0)
        if most == 0:
            return signs[0] * len(counts)
        return "".join(signs[0 if count == 0 else 1 + (len(signs) - 2) * count // most] for count in counts)
