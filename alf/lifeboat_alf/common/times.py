"""Convert timestamps (text, UTC with `Z`), days and quarters. Nothing here reads a clock."""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import lru_cache

_LATEST = datetime(9999, 12, 31, tzinfo=UTC)
_EARLIEST = datetime(1, 1, 1, tzinfo=UTC)


def to_text(moment: datetime) -> str:
    """Return a timestamp in RFC 3339, UTC, with milliseconds: `2026-11-20T18:55:00.123Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_nanoseconds(value: int) -> datetime:
    """Convert a file time (ns since 1970) to a UTC datetime with milliseconds. Out-of-range times become the nearest
    representable one, because file systems allow times far beyond the year 9999."""
    try:
        return datetime.fromtimestamp(value // 1_000_000 / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return _LATEST if value > 0 else _EARLIEST


def parse_time(text: str) -> datetime:
    """Parse any RFC 3339 timestamp (also with nine digits and an offset) to UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"the time {text!r} has no offset from UTC")
    return moment.astimezone(UTC)


def day_text(day: date) -> str:
    """Return midnight UTC of a day as a timestamp."""
    return f"{day.isoformat()}T00:00:00.000Z"


@lru_cache(maxsize=256)
def to_milliseconds(text: str) -> int:
    """Convert a timestamp to milliseconds since 1970 (never below 0)."""
    return max(0, int(parse_time(text).timestamp() * 1000))
