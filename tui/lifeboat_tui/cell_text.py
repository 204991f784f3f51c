"""Figures and foreign text as they stand in a cell."""

from __future__ import annotations

from datetime import datetime

from lifeboat_alf.common import times
from lifeboat_core.texts.human_text import age_text, size_text
from lifeboat_core.texts.safe_text import UNSAFE, without_isolates

_CONTROL = dict.fromkeys(UNSAFE, "\N{REPLACEMENT CHARACTER}")
"""The same as on the command line, each as one cell: columns stay in line."""
NEVER = "never"
JUST_NOW = "just now"
_MINUTE = 60.0


def make_plain(text: object) -> str:
    """Return one line that is safe on a terminal. A text of an agent may hold escape sequences, line breaks, marks that
    turn the direction of a line, and characters that are not shown. Letters from right to left are isolated where they
    are written to the terminal (`isolating`)."""
    return without_isolates(str(text)).replace("\t", "    ").translate(_CONTROL)


def make_plain_lines(text: str) -> str:
    """The same for a text of several lines."""
    return "\n".join(map(make_plain, text.split("\n")))


def escape_title(text: object) -> str:
    """The same for the title of a border, which is read as markup."""
    return make_plain(text).replace("[", r"\[")


def protect_dashed_name(text: str) -> tuple[str, ...]:
    """A name that somebody typed, as the last words of a command: one that begins with a dash is no option."""
    return ("--", text) if text.startswith("-") else (text,)


def format_age(moment: str | None, now: datetime) -> str:
    """`3 minutes ago`; seconds are not counted, so that a cell changes once a minute at most."""
    if moment is None:
        return NEVER
    seconds = (now - times.parse_time(moment)).total_seconds()
    if seconds < _MINUTE:
        return JUST_NOW
    return "1 minute ago" if seconds < 2 * _MINUTE else f"{age_text(seconds)} ago"


def format_short_age(moment: str | None, now: datetime) -> str:
    """`3 min`, `5 h`, `2 d`."""
    if moment is None:
        return NEVER
    seconds = max(0.0, (now - times.parse_time(moment)).total_seconds())
    if seconds < _MINUTE:
        return JUST_NOW
    for limit, length, unit in ((7200.0, 60.0, "min"), (172800.0, 3600.0, "h")):
        if seconds < limit:
            return f"{seconds // length:.0f} {unit} ago"
    return f"{seconds // 86400:.0f} d ago"


def format_local_time(moment: str) -> str:
    """`17:41:50` in the user's own time zone."""
    return times.parse_time(moment).astimezone().strftime("%H:%M:%S")


def format_local_day(moment: str) -> str:
    """`2026-11-20` in the user's own time zone."""
    return times.parse_time(moment).astimezone().strftime("%Y-%m-%d")


def format_size(count: int | None) -> str:
    """`9.4 KB`, or nothing where nobody knows."""
    return "" if count is None else size_text(count)


def format_duration(seconds: float | None) -> str:
    """A length of time: `0:42`, `3:05`, `1:02:09`; "" where nobody knows."""
    if seconds is None:
        return ""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def truncate_text(text: str, width: int) -> str:
    """The text in `width` characters at most."""
    return text if len(text) <= width else f"{text[: width - 1]}…" if width > 0 else ""
