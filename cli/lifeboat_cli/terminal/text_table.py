"""Tables and sentences that fit a terminal: one line per row, shortened with an ellipsis; sentences wrapped between
words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len, set_cell_size

from lifeboat_core.texts.human_text import NO_BREAK
from lifeboat_core.texts.safe_text import END_OF_ISOLATE, ISOLATE, without_isolates

GAP = "  "
ELLIPSIS = "…"
LEAST = 10
"""The width to which a column is shortened before the next one is. A column that is narrower anyway stays as it is."""
TIGHT = 4
"""The width to which columns are shortened if the table is still too wide."""
LEAST_WRAPPED = 24
"""The same for a column whose text is wrapped."""
_PATH = re.compile(r"[/~][^ ]*")
"""The end of a path says more than its beginning."""


@dataclass(frozen=True, slots=True)
class TableFit:
    """How a table fits a terminal that is too narrow for it.

    `drop` names the columns to leave out if the others would not fit otherwise, `shorten` those to shorten, both with
    the least important first; after them, the widest column is shortened. `least` gives the least width of columns such
    as ids, which are useless when shortened. `wrap` names a column of sentences, which is wrapped instead: no word of a
    problem is left out. A column with a NO_BREAK, such as a date with its time, keeps its width.
    """

    shorten: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    least: Mapping[str, int] = field(default_factory=dict)
    wrap: str | None = None

    def floor(self, column: Sequence[str]) -> int:
        """Return the width to which a column, its header first, may be shortened."""
        head, natural = column[0], max(map(cell_len, column))
        if any(NO_BREAK in cell for cell in column):
            return natural
        usual = LEAST_WRAPPED if head == self.wrap else LEAST
        return min(natural, self.least.get(head, max(cell_len(head), usual)))

    def is_fixed(self, column: Sequence[str]) -> bool:
        """Return whether a column is shortened below its least width only after all others."""
        return column[0] in self.least or any(NO_BREAK in cell for cell in column)


def format_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], width: int | None, fit: TableFit | None = None
) -> list[str]:
    """Return the lines of a table, the header first. `width` None: natural width (for pipes and files).

    If the table is too wide, columns that are empty in every row are left out first.
    """
    fit = fit or TableFit()
    cells = [list(columns), *(list(row) for row in rows)]
    widths = _natural_widths(cells)
    if width is not None and _line_width(widths) > width:
        cells = _without_columns(cells, width, fit)
        widths = _fitted(cells, width, fit)
    wrapped = cells[0].index(fit.wrap) if fit.wrap in cells[0] else None
    lines = []
    for row in cells:
        lines += _format_row(row, widths, wrapped)
    return [line.replace(NO_BREAK, " ") for line in lines]


def _natural_widths(cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(cell_len(row[number]) for row in cells) for number in range(len(cells[0]))]


def _line_width(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _without_columns(cells: Sequence[Sequence[str]], width: int, fit: TableFit) -> list[list[str]]:
    """Leave out the empty columns, and those of `drop` while the rest cannot fit."""
    places = [number for number in range(len(cells[0])) if any(row[number] for row in cells[1:])]
    floors, heads = _floors(cells, fit), cells[0]
    for name in fit.drop:
        if _line_width([floors[place] for place in places]) > width:
            places = [place for place in places if heads[place] != name]
    return [[row[place] for place in places or range(len(heads))] for row in cells]


def _floors(cells: Sequence[Sequence[str]], fit: TableFit) -> list[int]:
    return [fit.floor(column) for column in zip(*cells, strict=True)]


def _fitted(cells: Sequence[Sequence[str]], width: int, fit: TableFit) -> list[int]:
    """Return the widths of a table that fits."""
    heads, widths, floors = cells[0], _natural_widths(cells), _floors(cells, fit)
    excess = _line_width(widths) - width
    for place in (heads.index(name) for name in (*fit.shorten, *filter(None, (fit.wrap,))) if name in heads):
        taken = max(0, min(excess, widths[place] - floors[place]))
        widths[place] -= taken
        excess -= taken
    columns = list(zip(*cells, strict=True))
    tight = [
        floors[place] if fit.is_fixed(columns[place]) else min(floors[place], TIGHT) for place in range(len(heads))
    ]
    for least in (floors, tight, [1] * len(heads)):
        excess = _shorten_widest(widths, least, excess)
    return widths


def _shorten_widest(widths: list[int], floors: Sequence[int], excess: int) -> int:
    """Shorten the widest column by one character at a time. Return by how much the table is still too wide."""
    while excess > 0:
        able = [number for number, width in enumerate(widths) if width > floors[number]]
        if not able:
            break
        widths[max(able, key=lambda number: widths[number])] -= 1
        excess -= 1
    return excess


def _format_row(row: Sequence[str], widths: Sequence[int], wrapped: int | None) -> list[str]:
    parts = [
        _wrap_cell(text, width) if number == wrapped else [shorten_cell(text, width)]
        for number, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
    lines = []
    for number in range(max(map(len, parts))):
        texts = [cell[number] if number < len(cell) else "" for cell in parts]
        padded = (text + " " * (width - cell_len(text)) for text, width in zip(texts, widths, strict=True))
        lines.append(GAP.join(padded).rstrip())
    return lines


def shorten_cell(text: str, width: int) -> str:
    """Return a text of at most `width` columns, with an ellipsis where something is left out: at the end, or at the
    beginning of a path. Marks of the direction of writing are kept in pairs."""
    if cell_len(text) <= width:
        return text
    if ISOLATE in text:
        inside = shorten_cell(without_isolates(text), width)
        return f"{ISOLATE}{inside}{END_OF_ISOLATE}"
    if width <= 1:
        return ELLIPSIS
    if _PATH.fullmatch(text):
        return ELLIPSIS + set_cell_size(text[::-1], width - 1)[::-1].lstrip(" ")
    return set_cell_size(text, width - 1).rstrip(" " + NO_BREAK) + ELLIPSIS


def _wrap_cell(text: str, width: int) -> list[str]:
    pieces = [part for piece in re.findall(r"[^ ]+ *| +", text) for part in _cut(piece, width)]
    return _filled(pieces, width) or [""]


def _cut(piece: str, width: int) -> list[str]:
    """Break a word that is longer than a line."""
    parts = [""]
    for letter in piece:
        if cell_len(parts[-1] + letter.rstrip()) > width:
            parts.append("")
        parts[-1] += letter
    return parts


def _filled(pieces: Iterable[str], width: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for piece in pieces:
        if line.strip() and cell_len(line + piece.rstrip()) > width:
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
