"""Timestamps of a bundle: ISO 8601 in UTC, exact to the nanosecond.

The standard library truncates to microseconds and accepts offsets and forms that the format does not allow. A bundle's
spelling is kept as text; two times are equal if their `parse_nanoseconds` are.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import lru_cache

_FORM = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"T(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,40}))?)?"
    r"(?:Z|\+00:00|-00:00|\+0000|\+00)"
)
_EPOCH = date(1970, 1, 1).toordinal()
_LATEST = date.max.toordinal() - _EPOCH
_EARLIEST = date.min.toordinal() - _EPOCH
_SECOND = 10**9
_DAY = 86_400


class NotAnInstant(ValueError):
    """The text is not an ISO 8601 time in UTC."""


@lru_cache(maxsize=4096)
def parse_nanoseconds(text: str) -> int:
    """Return nanoseconds since 1970, negative before. A leap second is the first instant after it; digits beyond the
    ninth are ignored. Raises NotAnInstant."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise NotAnInstant("the value is not an ISO 8601 time in UTC")
    try:
        days = date(int(found["year"]), int(found["month"]), int(found["day"])).toordinal() - _EPOCH
    except ValueError:
        raise NotAnInstant("the day does not exist") from None
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"] or 0)
    if hour > 23 or minute > 59 or second > 60 or (second == 60 and (hour, minute) != (23, 59)):
        raise NotAnInstant("the time of day does not exist")
    fraction = int((found["fraction"] or "")[:9].ljust(9, "0"))
    return (days * _DAY + hour * 3600 + minute * 60 + second) * _SECOND + fraction


def is_instant(text: object) -> bool:
    """Return whether a value is a valid timestamp."""
    if not isinstance(text, str):
        return False
    try:
        parse_nanoseconds(text)
    except NotAnInstant:
        return False
    return True


def parse_milliseconds(text: str) -> int:
    """Return milliseconds since 1970. Raises NotAnInstant."""
    return parse_nanoseconds(text) // 1_000_000


def format_nanoseconds(value: int) -> str:
    """Return nanoseconds since 1970 as text: `2026-06-12T10:00:00Z`, with as many fraction digits as needed. Values
    outside the years 1 to 9999 become the nearest day."""
    seconds, fraction = divmod(value, _SECOND)
    days, clock = divmod(seconds, _DAY)
    days = min(max(days, _EARLIEST), _LATEST)
    day = date.fromordinal(_EPOCH) + timedelta(days=days)
    digits = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{day.isoformat()}T{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}{digits}Z"


def normalize_instant(text: str) -> str:
    """Return the same instant in the form that every reader accepts (RFC 3339 with `Z`). Raises NotAnInstant."""
    return format_nanoseconds(parse_nanoseconds(text))
