"""Figures as people read them."""

from __future__ import annotations


def size_text(count: int) -> str:
    """Bytes for people: `9.4 KB`."""
    value = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def age_text(seconds: float) -> str:
    """An age for people: `12 seconds`, `3 minutes`, `5 hours`, `2 days`."""
    for limit, unit, length in ((120, "second", 1), (7200, "minute", 60), (172800, "hour", 3600)):
        if seconds < limit:
            count = int(seconds // length)
            return f"{count} {unit}" + ("" if count == 1 else "s")
    return f"{int(seconds // 86400)} days"
