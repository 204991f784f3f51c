"""Isolation of right-to-left text before it is written to the terminal.

A terminal that reorders text by direction would also reorder the cells beside right-to-left text. The isolation marks
are added on output, where each piece of text is complete; cells are measured and truncated without them.
"""

from __future__ import annotations

import re

from textual.driver import Driver

from lifeboat_core.texts.safe_text import isolate_text

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_SEQUENCE = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[^\[\]])"
_PIECE = "(?:(?!  )[^\\x00-\\x1f\u2500-\u259f])+"
"""A run of text without the gaps between columns, borders and bars."""
_PIECES = re.compile(f"{_SEQUENCE}|(?P<piece>{_PIECE})")


def isolate_right_to_left(data: str) -> str:
    """Return terminal output in which each piece of text with right-to-left letters is isolated."""
    return _PIECES.sub(_isolate, data) if _RIGHT_TO_LEFT.search(data) else data


def _isolate(found: re.Match[str]) -> str:
    piece = found["piece"]
    if piece is None or not _RIGHT_TO_LEFT.search(piece):
        return found[0]
    text = piece.strip(" ")
    before, _, after = piece.partition(text)
    return f"{before}{isolate_text(text)}{after}"


def make_isolating_driver(driver: type[Driver]) -> type[Driver]:
    """Return a driver class that isolates right-to-left text in its output."""

    class IsolatingDriver(driver):  # type: ignore[valid-type, misc]
        def write(self, data: str) -> None:
            super().write(isolate_right_to_left(data))

    return IsolatingDriver
