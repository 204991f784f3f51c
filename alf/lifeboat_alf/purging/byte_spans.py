"""Places in bytes: from where to where."""

from __future__ import annotations

from collections.abc import Iterable

Span = tuple[int, int]


def join_spans(spans: Iterable[Span]) -> list[Span]:
    """The spans in order; those that touch become one."""
    made: list[Span] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(made[-1][1], end))
        else:
            made.append((start, end))
    return made


def is_json(path: str) -> bool:
    """Whether a file spells texts as JSON strings."""
    return path.endswith((".json", ".jsonl", ".json5"))
