"""How long a server asks to wait."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_WAIT = 10**6
"""Seconds."""


def parse_retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that the server asks to wait, None if it does not say. `now` is for dates (default: the
    current time)."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return float(min(int(text[:12]), LONGEST_WAIT))
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, OverflowError):
        return None
