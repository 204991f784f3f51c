"""A match as people may see it on a screen: where it is, not what it is."""

from __future__ import annotations

_DOTS = "····"
_TELLING = 8
"""Characters of the shortest match whose end is shown: two of six digits would leave few to guess."""


def mask_span(text: str, span: tuple[int, int]) -> str:
    """`text[start:end]` as dots and its last two characters, without them where it is short."""
    start, end = span
    last = text[max(start, end - 2) : end]
    return f"{_DOTS}{last}" if end - start >= _TELLING and last.isprintable() else _DOTS
