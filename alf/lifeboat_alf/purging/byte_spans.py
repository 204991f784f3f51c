"""Spans of bytes: (start, end)."""

from __future__ import annotations

from collections.abc import Iterable

Span = tuple[int, int]


def join_spans(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, with touching ones joined."""
    made: list[Span] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(made[-1][1], end))
        else:
            made.append((start, end))
    return made


def is_json(path: str) -> bool:
    """Return whether a file spells texts as JSON strings."""
    return path.endswith((".json", ".jsonl", ".json5"))
