"""Times as Aionforge spells them: RFC 9557, to the nanosecond, with the zone's name in brackets behind them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from lifeboat_alf.common import times

_ZONE = re.compile(r"(?:\[[^\[\]]{0,100}\])+\Z")
_LONGEST = 200
"""Characters. What is longer is no time."""


def normalize_time(written: Any) -> str | None:
    """A time as the archive has it: UTC, milliseconds; None for what is none. The original has to be kept beside it: it
    says more."""
    if not isinstance(written, str) or len(written) > _LONGEST:
        return None
    try:
        return times.to_text(times.parse_time(_ZONE.sub("", written.strip())))
    except (ValueError, OverflowError):
        return None


def to_milliseconds(written: Any) -> int:
    """A time as milliseconds since 1970, 0 for what is none."""
    found = normalize_time(written)
    return 0 if found is None else times.to_milliseconds(found)


def is_same_time(one: Any, other: Any) -> bool:
    """Whether two spellings say the same millisecond. What is no time is compared as it stands."""
    first, second = normalize_time(one), normalize_time(other)
    if first is None or second is None:
        return bool(one == other)
    return abs(times.parse_time(first) - times.parse_time(second)) < timedelta(milliseconds=1)
