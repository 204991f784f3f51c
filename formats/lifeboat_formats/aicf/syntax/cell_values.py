"""Parses and writes cells and values: splitting, escapes, lists, numbers and times.

Cells are split first, at every pipe that is not escaped; then each is unescaped in one pass from left to right. The
reverse order would turn an escaped pipe into a separator.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum


class Escaping(StrEnum):
    """How a writer escapes values."""

    SPECIFIED = "specified"
    r"""`\\`, `\|` and `\n`, as specified. `\r` and `\@` are read as well."""
    LOOSE = "loose"
    """The writer did not escape backslashes: a backslash is literal unless `|`, `n`, `r` or `@` follows."""
    NONE = "none"
    """Free text: nothing is escaped, and pipes do not separate."""


_UNESCAPED = {"|": "|", "n": "\n", "r": "\r", "@": "@", "\\": "\\"}
_PAIR = re.compile(r"\\(.)", re.DOTALL)
_LOOSE_PAIR = re.compile(r"\\([|nr@])")
_PIPE_OR_PAIR = re.compile(r"\\.|\|", re.DOTALL)
_LOOSE_PIPE = re.compile(r"(?<!\\)\|")
_TO_ESCAPE = re.compile(r"[\\|\n\r]")
_LOOSE_TO_ESCAPE = re.compile(r"[|\n\r]")
_ESCAPED = {"\\": "\\\\", "|": "\\|", "\n": "\\n", "\r": "\\r"}


def split_cells(raw: str, escaping: Escaping = Escaping.SPECIFIED) -> list[str]:
    """Split a value at the pipes that are not escaped. The cells are still escaped; there is at least one."""
    if escaping is Escaping.NONE:
        return [raw]
    if "\\" not in raw:
        return raw.split("|")
    if escaping is Escaping.LOOSE:
        return _LOOSE_PIPE.split(raw)
    pieces: list[str] = []
    at = 0
    for found in _PIPE_OR_PAIR.finditer(raw):
        if found.group() == "|":
            pieces.append(raw[at : found.start()])
            at = found.end()
    return [*pieces, raw[at:]]


def unescape_cell(raw: str, escaping: Escaping = Escaping.SPECIFIED) -> str:
    """Return the text that an escaped cell stands for. Unknown escapes and a trailing backslash are kept."""
    if escaping is Escaping.NONE or "\\" not in raw:
        return raw
    if escaping is Escaping.LOOSE:
        return _LOOSE_PAIR.sub(lambda found: _UNESCAPED[found.group(1)], raw)
    return _PAIR.sub(lambda found: _UNESCAPED.get(found.group(1), found.group()), raw)


def unknown_escapes(raw: str, escaping: Escaping = Escaping.SPECIFIED) -> int:
    """Count undefined escapes, including a trailing backslash."""
    if escaping is not Escaping.SPECIFIED or "\\" not in raw:
        return 0
    pairs: list[str] = _PAIR.findall(raw)
    # Every backslash belongs to a pair, except a single one at the end.
    trailing = raw.count("\\") - len(pairs) - sum(second == "\\" for second in pairs)
    return sum(second not in _UNESCAPED for second in pairs) + trailing


def escape_cell(text: str, escaping: Escaping = Escaping.SPECIFIED) -> str:
    """Escape a text as a cell or a scalar. `unescape_cell` restores it, with LOOSE as far as possible."""
    if escaping is Escaping.NONE:
        return text
    pattern = _LOOSE_TO_ESCAPE if escaping is Escaping.LOOSE else _TO_ESCAPE
    return pattern.sub(lambda found: _ESCAPED[found.group()], text)


def join_cells(texts: Iterable[str], escaping: Escaping = Escaping.SPECIFIED) -> str:
    """Escape texts and join them as a row or a list."""
    return "|".join(escape_cell(text, escaping) for text in texts)


def items_of_list(raw: str, escaping: Escaping = Escaping.SPECIFIED) -> list[str]:
    """Return the unescaped items of a list, separated by pipes if it has any, else by commas."""
    cells = split_cells(raw, escaping)
    if len(cells) == 1:
        cells = [piece.strip() for piece in raw.split(",")]
    return [unescape_cell(cell, escaping) for cell in cells if cell]


_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def parse_integer(text: str) -> int | None:
    """Return a decimal integer of at most 18 digits, or None."""
    found = text.strip()
    return int(found) if _INTEGER.fullmatch(found) else None


_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,4})?")


def parse_decimal(text: str) -> float | None:
    """Return a finite number, or None."""
    found = text.strip()
    number = float(found) if _DECIMAL.fullmatch(found) else math.inf
    return number if math.isfinite(number) else None


def parse_percentage(text: str) -> float | None:
    """Return `95.5%` as 95.5, or None."""
    found = text.strip()
    return parse_decimal(found[:-1]) if found.endswith("%") else None


class ParsedVector(list[float]):
    """The numbers of an embedding. `is_elided`: dots replace a part of it. `is_broken`: some element is not a finite
    number. Such elements are left out, and the vector is not usable."""

    is_elided = False
    is_broken = False

    @property
    def is_whole(self) -> bool:
        """Return whether the vector can be used."""
        return bool(self) and not self.is_elided and not self.is_broken


def parse_vector(raw: str) -> ParsedVector:
    """Parse numbers separated by commas or pipes, optionally in brackets."""
    text = raw.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    found = ParsedVector()
    for piece in text.replace("|", ",").split(",") if text.strip() else []:
        number = parse_decimal(piece)
        if number is not None:
            found.append(number)
        elif piece.strip() in ("...", "…"):
            found.is_elided = True
        else:
            found.is_broken = True
    return found


_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,30}))?)?[ ]?([Zz]|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_BASIC_TIME = re.compile(
    r"([0-9]{4})([0-9]{2})([0-9]{2})(?:[Tt]([0-9]{2})([0-9]{2})([0-9]{2})?()([Zz]|[+-][0-9]{4})?)?"
)


def parse_timestamp(text: str) -> str | None:
    """Return a time as UTC, `YYYY-MM-DDTHH:MM:SS[.fraction]Z`, or None. It accepts RFC 3339, the basic form of version
    2, and a date alone; a time without an offset is UTC. Fractions keep up to six digits."""
    found = _TIME.fullmatch(text.strip()) or _BASIC_TIME.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, offset = found.groups()
    try:
        zone = _zone(offset)
        micros = int((fraction or "")[:6].ljust(6, "0"))
        day_time = (int(hour or 0), int(minute or 0), int(second or 0), micros)
        moment = datetime(int(year), int(month), int(day), *day_time, tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    shown = f"{moment:%H:%M:%S}" + (f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else "")
    return f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}T{shown}Z"


def is_timestamp(text: str) -> bool:
    """Return whether a text is a time as the specification requires: with seconds and an offset."""
    found = _TIME.fullmatch(text)
    return (
        found is not None
        and found.group(6) is not None
        and found.group(8) is not None
        and parse_timestamp(text) is not None
    )


def _zone(offset: str | None) -> timezone:
    if not offset or offset in "Zz":
        return UTC
    sign = -1 if offset[0] == "-" else 1
    hours, minutes = int(offset[1:3]), int(offset[-2:])
    if minutes > 59:
        raise ValueError("the minutes of a time-zone offset must be 0 to 59")
    return timezone(sign * timedelta(hours=hours, minutes=minutes))
