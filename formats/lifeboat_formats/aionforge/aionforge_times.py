"""Times as Aionforge spells them: RFC 9557 with nanoseconds and the name of the zone in brackets."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from lifeboat_alf.common import times

_ZONE = re.compile(r"(?:\[[^\[\]]{0,100}\])+\Z")
_LONGEST = 200
"""Longest text, in characters, that is parsed as a time."""


def normalize_time(written: Any) -> str | None:
    """Return a time in UTC with milliseconds, or None. The original spelling is more precise and must be kept too."""
    if not isinstance(written, str) or len(written) > _LONGEST:
        return None
    try:
        return times.to_text(times.parse_time(_ZONE.sub("", written.strip())))
    except (ValueError, OverflowError):
        return None


def to_milliseconds(written: Any) -> int:
    """Return a time as milliseconds since 1970, 0 if it is invalid."""
    found = normalize_time(written)
    return 0 if found is None else times.to_milliseconds(found)


def is_same_time(one: Any, other: Any) -> bool:
    """Return whether two spellings denote the same millisecond. Invalid times are compared as they are."""
    first, second = normalize_time(one), normalize_time(other)
    if first is None or second is None:
        return bool(one == other)
    return abs(times.parse_time(first) - times.parse_time(second)) < timedelta(milliseconds=1)
