"""Isolate what is written from right to left before it reaches the terminal.

A terminal that orders letters by direction would turn the cells beside such a text around. Cells are measured and cut
without the marks; they are added to what is written, where every piece of text is whole again.
"""

from __future__ import annotations

import re

from textual.driver import Driver

from lifeboat_core.texts.safe_text import isolate_text

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_SEQUENCE = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[^\[\]])"
_PIECE = "(?:(?!  )[^\\x00-\\x1f\u2500-\u259f])+"
"""A text without the gap between columns, borders and bars."""
_PIECES = re.compile(f"{_SEQUENCE}|(?P<piece>{_PIECE})")


def isolate_right_to_left(data: str) -> str:
    """Return what goes to a terminal with each piece of text isolated that holds letters from right to left."""
    return _PIECES.sub(_isolate, data) if _RIGHT_TO_LEFT.search(data) else data


def _isolate(found: re.Match[str]) -> str:
    piece = found["piece"]
    if piece is None or not _RIGHT_TO_LEFT.search(piece):
        return found[0]
    text = piece.strip(" ")
    before, _, after = piece.partition(text)
    return f"{before}{isolate_text(text)}{after}"


def make_isolating_driver(driver: type[Driver]) -> type[Driver]:
    """Return a class of drivers that isolate what they write."""

    class IsolatingDriver(driver):  # type: ignore[valid-type, misc]
        def write(self, data: str) -> None:
            super().write(isolate_right_to_left(data))

    return IsolatingDriver
