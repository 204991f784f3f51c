"""Signs for states: a state is shown as a sign and a word, never by colour alone. On terminals limited to ASCII the
signs are letters."""

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
"""Style of each state; the theme maps a style to a colour."""


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Signs of one dashboard. `ascii`: use ASCII letters only."""

    ascii: bool = False

    def sign(self, name: str) -> str:
        """Return the sign of a state or of a part of a screen, "?" for an unknown name."""
        return (_SIGNS.get(name) or _OTHERS.get(name) or _SIGNS["unknown"])[int(self.ascii)]

    def state(self, name: str) -> str:
        """Return sign and word: `● ok`, `▲ held`."""
        return f"{self.sign(name)} {FOR_PEOPLE.get(name, name)}"

    def bars(self, counts: list[int]) -> str:
        """Return a one-line bar chart with one character per count."""
        signs, most = _BARS[int(self.ascii)], max(counts, default=0)
        if most == 0:
            return signs[0] * len(counts)
        return "".join(signs[0 if count == 0 else 1 + (len(signs) - 2) * count // most] for count in counts)
