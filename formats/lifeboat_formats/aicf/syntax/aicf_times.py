"""Times as files of this format spell them, and as records do."""

from __future__ import annotations

import re

from lifeboat_alf.common import times
from lifeboat_formats.aicf.syntax import cell_values

_MILLISECONDS = re.compile(r"\.(\d{3})Z")
START = "1970-01-01T00:00:00.000Z"
"""When a memory was made of which nobody knows when."""


def normalize_time(literal: str) -> str | None:
    """A time in UTC with milliseconds; None for what is none."""
    known = cell_values.parse_timestamp(literal)
    return None if known is None else times.to_text(times.parse_time(known))


def to_milliseconds(known: str | None) -> int:
    """A time that `normalize_time` gave as milliseconds since 1970; 0 for None."""
    return 0 if known is None else times.to_milliseconds(known)


def creation_time_of(known: str | None) -> str:
    """The time of a record whose file names none: the start of time, never now, or each import would differ."""
    return known or START


def format_time(known: str) -> str:
    """A record's time as AICF 3.1 has it: `YYYY-MM-DDTHH:MM:SSZ`, with a fraction only where there is one."""
    literal = normalize_time(known) or START
    fraction = _MILLISECONDS.search(literal)
    return literal.replace(".000Z", "Z") if fraction and fraction[1] == "000" else literal
