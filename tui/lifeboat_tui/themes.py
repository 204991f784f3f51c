"""Colour themes: dark, light, high contrast, and the terminal's own sixteen colours."""

from __future__ import annotations

from textual.theme import BUILTIN_THEMES, Theme

DARK = Theme(
    name="lifeboat",
    primary="#4f9fcf",
    secondary="#7f8ea3",
    accent="#e0a458",
    success="#6fbf73",
    warning="#e0a458",
    error="#e5686a",
    foreground="#d8dee6",
    background="#12171d",
    surface="#171d24",
    panel="#222b35",
    dark=True,
)
LIGHT = Theme(
    name="lifeboat-light",
    primary="#1f6fa3",
    secondary="#5b6b7d",
    accent="#9a5b00",
    success="#2c7a33",
    warning="#8a5600",
    error="#b3261e",
    foreground="#1c232b",
    background="#fbfbf8",
    surface="#f3f3ee",
    panel="#e3e5e1",
    dark=False,
)
CONTRAST = Theme(
    name="lifeboat-contrast",
    primary="#00d7ff",
    secondary="#ffffff",
    accent="#ffff00",
    success="#00ff5f",
    warning="#ffff00",
    error="#ff5f5f",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#303030",
    dark=True,
    text_alpha=1.0,
)
_TERMINAL = BUILTIN_THEMES["ansi-dark"]
THEMES = (DARK, LIGHT, CONTRAST, _TERMINAL)
DEFAULT_THEME = DARK.name
BY_SETTING = {
    "lifeboat": DARK.name,
    "lifeboat-light": LIGHT.name,
    "lifeboat-contrast": CONTRAST.name,
    "ansi": _TERMINAL.name,
}
"""Themes by the values of the setting `dashboard.theme`."""
