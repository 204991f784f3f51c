"""Timestamps of a bundle: ISO 8601 in UTC, exact to the nanosecond.

The standard library cuts to microseconds and takes offsets and forms that the format does not, so they are read here.
What a bundle said is kept as text; two times are the same when their instants are (`parse_nanoseconds`).
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
    """A text that is no ISO 8601 time in UTC."""


@lru_cache(maxsize=4096)
def parse_nanoseconds(text: str) -> int:
    """Nanoseconds since 1970 (below 0 before). A leap second is the first instant after it; digits beyond the ninth
    are cut. Raises NotAnInstant."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise NotAnInstant("this is no ISO 8601 time in UTC")
    try:
        days = date(int(found["year"]), int(found["month"]), int(found["day"])).toordinal() - _EPOCH
    except ValueError:
        raise NotAnInstant("there is no such day") from None
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"] or 0)
    if hour > 23 or minute > 59 or second > 60 or (second == 60 and (hour, minute) != (23, 59)):
        raise NotAnInstant("there is no such time of day")
    fraction = int((found["fraction"] or "")[:9].ljust(9, "0"))
    return (days * _DAY + hour * 3600 + minute * 60 + second) * _SECOND + fraction


def is_instant(text: object) -> bool:
    """Whether a value is a timestamp as the format wants it."""
    if not isinstance(text, str):
        return False
    try:
        parse_nanoseconds(text)
    except NotAnInstant:
        return False
    return True


def parse_milliseconds(text: str) -> int:
    """Milliseconds since 1970. Raises NotAnInstant."""
    return parse_nanoseconds(text) // 1_000_000


def format_nanoseconds(value: int) -> str:
    """Nanoseconds since 1970 as text: `2026-06-12T10:00:00Z`, with as many digits behind the second as it takes. What
    lies outside the years 1 to 9999 becomes the nearest day of them."""
    seconds, fraction = divmod(value, _SECOND)
    days, clock = divmod(seconds, _DAY)
    days = min(max(days, _EARLIEST), _LATEST)
    day = date.fromordinal(_EPOCH) + timedelta(days=days)
    digits = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{day.isoformat()}T{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}{digits}Z"


def normalize_instant(text: str) -> str:
    """The same instant in the form in which every reader takes it (RFC 3339 with `Z`). Raises NotAnInstant."""
    return format_nanoseconds(parse_nanoseconds(text))
