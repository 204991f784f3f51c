"""Tables and sentences that fit a terminal, wrapped between words and between the parts of a path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from lifeboat_core.texts.human_text import NO_BREAK

GAP = "  "
LEAST = 14
"""The width to which columns may be shrunk, unless a column is narrower anyway. If the line would still be too long,
columns shrink to the width of their header."""
_SPACES = " " + NO_BREAK
_COARSE = re.compile(r"[^ /]*/+|[^ /]+ *| +")
"""Cells are broken last inside of these pieces: a word, or a part of a path with its slash."""
_FINE = re.compile(rf"[^ {NO_BREAK}/._-]*[/._-]+|[^ {NO_BREAK}/._-]+[ {NO_BREAK}]*|[ {NO_BREAK}]+")
"""The pieces for a column that still does not fit: also the parts of a file name, and of a date and its time."""


def format_table(columns: Sequence[str], rows: Iterable[Sequence[str]], width: int | None) -> list[str]:
    """Return the lines of a table, the header first. `width` None: natural width, one line per row (for pipes and
    files)."""
    cells = [list(columns), *(list(row) for row in rows)]
    widths = [max(cell_len(row[number]) for row in cells) for number in range(len(columns))]
    if width is not None:
        widths = _fitted(cells, widths, width - len(GAP) * (len(columns) - 1))
    lines = []
    for row in cells:
        lines += _row(row, widths)
    return [line.replace(NO_BREAK, " ") for line in lines]


def _fitted(cells: Sequence[Sequence[str]], widths: list[int], room: int) -> list[int]:
    for pieces in (_COARSE, _FINE):
        floors = [max(_longest(row[number], pieces) for row in cells) for number in range(len(widths))]
        widths = _shrunk(widths, [max(floor, LEAST) for floor in floors], room)
    heads = [_longest(text, _COARSE) for text in cells[0]]
    return _shrunk(_shrunk(widths, [LEAST] * len(widths), room), heads, room)


def _longest(text: str, pieces: re.Pattern[str]) -> int:
    return max((cell_len(piece.rstrip(_SPACES)) for piece in pieces.findall(text)), default=0)


def _shrunk(widths: list[int], floors: list[int], room: int) -> list[int]:
    """Shrink the widest column that can still be shrunk, one character at a time. A table that cannot fit stays too
    wide."""
    widths = list(widths)
    while sum(widths) > room:
        able = [number for number, width in enumerate(widths) if width > floors[number]]
        if not able:
            break
        widths[max(able, key=lambda number: widths[number])] -= 1
    return widths


def _row(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    broken = [_broken(text, width) for text, width in zip(row, widths, strict=True)]
    lines = []
    for number in range(max(len(parts) for parts in broken)):
        parts = [parts[number] if number < len(parts) else "" for parts in broken]
        padded = (part + " " * (width - cell_len(part)) for part, width in zip(parts, widths, strict=True))
        lines.append(GAP.join(padded).rstrip())
    return lines


def _broken(text: str, width: int) -> list[str]:
    pieces = _COARSE.findall(text)
    if _longest(text, _COARSE) > width:
        pieces = [part for piece in _FINE.findall(text) for part in _cut(piece, width)]
    return _filled(pieces, width) or [""]


def _cut(piece: str, width: int) -> list[str]:
    """Break a piece that is longer than a line."""
    parts = [""]
    for letter in piece:
        if cell_len(parts[-1] + letter.rstrip(_SPACES)) > width:
            parts.append("")
        parts[-1] += letter
    return parts


def _filled(pieces: Iterable[str], width: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for piece in pieces:
        if line.strip() and cell_len(line + piece.rstrip(_SPACES)) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece
    return [*lines, line.rstrip()] if line.strip() else lines


def wrap_sentence(text: str, width: int | None) -> list[str]:
    """Wrap a text between words. Continuation lines are aligned with the first. A word that is too long is not
    broken."""
    if width is None:
        return text.split("\n")
    lines = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip(" "))]
        filled = _filled(re.findall(r"[^ ]+ *", line), max(20, width - len(indent)))
        lines += [indent + part for part in filled] or [""]
    return lines
