"""Sizes for people, in the units in which users enter them."""

from __future__ import annotations


def size_text(count: int) -> str:
    """Return bytes for people: `9.4 KB`. 1 KB is 1,024 bytes, as in the sizes that users enter (`parse_size`)."""
    value, unit = float(count), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if value < 999.95:  # 999.95 would be printed as 1000.0
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
