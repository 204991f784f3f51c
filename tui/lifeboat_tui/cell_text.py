"""Safe and formatted text for table cells and lines."""

from __future__ import annotations

from datetime import datetime

from textual.content import Content

from lifeboat_alf.common import times
from lifeboat_alf.common.size_texts import size_text
from lifeboat_core.texts.human_text import age_text
from lifeboat_core.texts.safe_text import UNSAFE, without_isolates

_CONTROL = dict.fromkeys(UNSAFE, "\N{REPLACEMENT CHARACTER}")
"""The same replacements as on the command line, each one cell wide so that columns stay aligned."""
NEVER = "never"
JUST_NOW = "just now"
_MINUTE = 60.0


def make_plain(text: object) -> str:
    """Return text as one line that is safe on a terminal. An agent's text may contain escape sequences, line breaks,
    direction marks and invisible characters. Right-to-left letters are isolated on output (`bidi_isolation`)."""
    return without_isolates(str(text)).replace("\t", "    ").translate(_CONTROL)


def make_plain_lines(text: str) -> str:
    """Return several lines of text, each made safe."""
    return "\n".join(map(make_plain, text.split("\n")))


def escape_title(text: object) -> str:
    """Return safe text for the title of a border, which is read as markup."""
    return make_plain(text).replace("[", r"\[")


def protect_dashed_name(text: str) -> tuple[str, ...]:
    """Return a typed name as the last words of a command, after `--` if it begins with a dash."""
    return ("--", text) if text.startswith("-") else (text,)


def format_age(moment: str | None, now: datetime) -> str:
    """Return an age like `3 minutes ago`. Seconds are not counted, so that a cell changes at most once a minute."""
    if moment is None:
        return NEVER
    seconds = (now - times.parse_time(moment)).total_seconds()
    if seconds < _MINUTE:
        return JUST_NOW
    return "1 minute ago" if seconds < 2 * _MINUTE else f"{age_text(seconds)} ago"


def format_short_age(moment: str | None, now: datetime) -> str:
    """Return a short age: `3 min ago`, `5 h ago`, `2 d ago`."""
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
    """Return `17:41:50` in the user's time zone."""
    return times.parse_time(moment).astimezone().strftime("%H:%M:%S")


def format_local_day(moment: str) -> str:
    """Return `2026-11-20` in the user's time zone."""
    return times.parse_time(moment).astimezone().strftime("%Y-%m-%d")


def format_time_or_day(moment: str, now: datetime) -> str:
    """Return the time (`17:41:50`) for today and the date (`2026-11-20`) for other days, in the user's time zone."""
    is_today = times.parse_time(moment).astimezone().date() == now.astimezone().date()
    return format_local_time(moment) if is_today else format_local_day(moment)


def format_size(count: int | None) -> str:
    """Return `9.4 KB`, or "" if the size is unknown."""
    return "" if count is None else size_text(count)


def format_duration(seconds: float | None) -> str:
    """Return a duration: `0:42`, `3:05`, `1:02:09`, or "" if it is unknown."""
    if seconds is None:
        return ""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def truncate_text(text: str, width: int) -> str:
    """Return the text, shortened to `width` characters with an ellipsis."""
    return text if len(text) <= width else f"{text[: width - 1]}…" if width > 0 else ""


def format_pair(name: str, value: str, *, width: int = 11) -> Content:
    """Return a line of a detail pane: a faint name and its value."""
    return Content.assemble((f"{make_plain(name):<{width}} ", "$foreground 60%"), make_plain(value))
