"""Numbers, times and paths as people read them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import times
from lifeboat_core.texts.safe_text import UNSAFE, name_text

NO_BREAK = "\u00a0"
_NAMED = 5
"""Numbers that a sentence names; of more numbers it gives the count."""
_STEERING = dict.fromkeys(UNSAFE, " ")


def count_text(count: int, one: str, many: str = "") -> str:
    """Return `1 memory`, `1,200 memories`, `3 files`. `many` is needed where the plural is not in the last word."""
    return f"{count:,} {one if count == 1 else many or _plural(one)}"


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def join_names(names: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def sequences_text(numbers: Sequence[int]) -> str:
    """Return `sequence 3`, `sequences 3 and 4`; of many the first ones, and how many more there are."""
    named = [str(number) for number in numbers[:_NAMED]]
    if len(numbers) > _NAMED:
        named.append(f"{len(numbers) - _NAMED} more")
    return f"{'sequence' if len(numbers) == 1 else 'sequences'} {join_names(named)}"


def age_text(seconds: float) -> str:
    """Return an age for people: `12 seconds`, `3 minutes`, `5 hours`, `2 days`. A clock that was set back gives 0."""
    for limit, unit, length in ((120, "second", 1), (7200, "minute", 60), (172800, "hour", 3600)):
        if seconds < limit:
            return count_text(max(0, int(seconds // length)), unit)
    return f"{int(seconds // 86400)} days"


def time_text(timestamp: str) -> str:
    """Return a timestamp for people, in local time: `2026-11-20 19:40`."""
    return times.parse_time(timestamp).astimezone().strftime("%Y-%m-%d %H:%M")


def when_text(text: str) -> str:
    """Return a timestamp for people; a text that is no timestamp stays the same."""
    try:
        return time_text(text)
    except ValueError:
        return text


def snippet_text(text: str, width: int = 160) -> str:
    """Return the beginning of a text in one line: no line breaks, no control characters."""
    flat = " ".join(text.split())
    if not flat.isprintable():
        flat = " ".join(flat.translate(_STEERING).split())
    return flat if len(flat) <= width else f"{flat[: width - 1].rstrip()}…"


def path_text(path: str) -> str:
    """Return an archive path as `file_name` gives it, for people."""
    return name_text(file_name(path))


def file_name(path: str) -> str:
    """Return an archive path as the name that it has in the workspace, or in the runtime's own folder."""
    if path.startswith(archive_layout.ARTIFACTS):
        return path.removeprefix(archive_layout.ARTIFACTS)
    if path.startswith(archive_layout.RAW):
        return path.removeprefix(archive_layout.RAW).partition("/")[2]
    return path


def quote_argument(name: str) -> str:
    """Return a name as it has to be typed in a shell. Unprintable characters are escaped: a name steers no terminal,
    not even when it is pasted."""
    if name.isprintable():
        return shlex.quote(name)
    return f"$'{''.join(map(_spelled_out, name))}'"


def _spelled_out(character: str) -> str:
    """Return a character as bash, zsh and ksh read it within $''."""
    if character.isprintable():
        return f"\\{character}" if character in "\\'" else character
    return "".join(f"\\{byte:03o}" for byte in character.encode(errors="surrogateescape"))


def group_changes(records: Mapping[str, int], raw: Mapping[str, int]) -> list[str]:
    """Return memories and files separately: `["2 memories created, 1 updated", "3 files written, 1 removed"]`."""
    written = raw.get("put", 0) + raw.get("patched", 0)
    groups = (
        ("memory", "memories", {word: records.get(word, 0) for word in ("created", "updated", "deleted")}),
        ("file", "files", {"written": written, "removed": raw.get("removed", 0)}),
    )
    return [text for one, many, counts in groups if (text := _group(one, many, counts))]


def _group(one: str, many: str, counts: Mapping[str, int]) -> str:
    """Return the noun once, with the first count."""
    (word, count), *rest = [(word, count) for word, count in counts.items() if count] or [("", 0)]
    if not count:
        return ""
    return ", ".join([f"{count_text(count, one, many)} {word}", *(f"{count} {word}" for word, count in rest)])
