"""Converts times between the spellings of AICF files and of records."""

from __future__ import annotations

import re

from lifeboat_alf.common import times
from lifeboat_formats.aicf.syntax import cell_values

_MILLISECONDS = re.compile(r"\.(\d{3})Z")
START = "1970-01-01T00:00:00.000Z"
"""The creation time of a memory whose time is unknown. It is never now: repeated imports must not differ."""


def normalize_time(literal: str) -> str | None:
    """Return a time in UTC with milliseconds, or None if the text is not a time."""
    known = cell_values.parse_timestamp(literal)
    return None if known is None else times.to_text(times.parse_time(known))


def to_milliseconds(known: str | None) -> int:
    """Return a normalized time as milliseconds since 1970, 0 for None."""
    return 0 if known is None else times.to_milliseconds(known)


def format_time(known: str) -> str:
    """Return a record's time as AICF 3.1 writes it: `YYYY-MM-DDTHH:MM:SSZ`, with a fraction only if it has one."""
    literal = normalize_time(known) or START
    fraction = _MILLISECONDS.search(literal)
    return literal.replace(".000Z", "Z") if fraction and fraction[1] == "000" else literal
