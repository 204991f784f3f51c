"""Mask a match for display: show where it is, not what it is."""

from __future__ import annotations

_DOTS = "····"
_TELLING = 8
"""Minimum characters of a match whose end is shown. Two of six digits would leave few to guess."""


def mask_span(text: str, span: tuple[int, int]) -> str:
    """Return `text[start:end]` as dots and its last two characters; only dots for a short match."""
    start, end = span
    last = text[max(start, end - 2) : end]
    return f"{_DOTS}{last}" if end - start >= _TELLING and last.isprintable() else _DOTS
