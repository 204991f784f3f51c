"""Match paths against `.lifeboatignore`, which lists what the user does not want captured, in gitignore syntax.

Supported: comments, blank lines, `!` (include again), a trailing `/` (folders only), a leading or inner `/` (anchored
at the workspace, else at any depth), `*`, `?`, `[...]`, `**`. The last matching line decides. Nothing below an ignored
folder can be included again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from lifeboat_alf.memory.mass_removal import IGNORE_FILE

FILE_NAME = IGNORE_FILE
LARGEST = 1 << 18
"""Maximum size of the file in bytes."""
MOST_LINES = 1000
"""Every rule is checked against every name, so their number is limited."""


class IgnoreRule(NamedTuple):
    """One line of the file. `parts` has a pattern for each part of the relative path, None for `**` (any number of
    parts)."""

    parts: tuple[re.Pattern[str] | None, ...]
    ignore: bool
    folders_only: bool

    def fits(self, names: list[str]) -> bool:
        """Return whether the pattern matches a path. `reach` has the numbers of names that the pattern can have used so
        far, which limits the cost to pattern length times path length."""
        reach = {0}
        for number, part in enumerate(self.parts):
            if part is not None:
                reach = {used + 1 for used in reach if used < len(names) and part.fullmatch(names[used])}
            elif reach:
                # At the end, `**` matches everything below the folder, but not the folder itself.
                first = min(reach) + (number > 0 and number == len(self.parts) - 1)
                reach = set(range(first, len(names) + 1))
        return len(names) in reach


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The rules of one file, in order."""

    rules: tuple[IgnoreRule, ...] = field(default=())

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Return whether a line ignores this path (relative, `/`). The walk checks folders before their contents."""
        names = path.split("/")
        for rule in reversed(self.rules):
            if (is_folder or not rule.folders_only) and rule.fits(names):
                return rule.ignore
        return False


def parse_ignore_file(text: str) -> IgnoreFile:
    """Return the rules in a text. Lines that are not valid patterns match nothing, as in git."""
    return IgnoreFile(tuple(rule for line in text.splitlines() if (rule := _rule(line)) is not None))


def _rule(line: str) -> IgnoreRule | None:
    bare = line.rstrip(" ")
    line = f"{bare} " if bare.endswith("\\") and bare != line else bare
    if not line or line.startswith("#"):
        return None
    ignore = not line.startswith("!")
    line = line.removeprefix("!") if not ignore else line.removeprefix("\\") if line[:2] in ("\\#", "\\!") else line
    folders_only = line.endswith("/")
    line = line.rstrip("/")
    if not line:
        return None
    anywhere = [] if "/" in line else ["**"]
    try:
        return IgnoreRule(tuple(map(_part, [*anywhere, *_split(line.lstrip("/"))])), ignore, folders_only)
    except re.error:
        return None


_PIECES = re.compile(r"(?P<star>\*+)|\?|(?P<set>\[[!^]?\]?[^\]/]*\])|\\(?P<quoted>.)|[^*?\[\\]+|.", re.DOTALL)


def _split(glob: str) -> list[str]:
    """Return the parts of a pattern, with consecutive `**` merged."""
    parts: list[str] = []
    for part in glob.split("/"):
        if part and not (part == "**" and parts[-1:] == ["**"]):
            parts.append(part)
    return parts


def _part(glob: str) -> re.Pattern[str] | None:
    """Return one part as a regular expression. Text after a `*` is matched at its first place only (atomic group):
    within one name that finds every match, and consecutive stars cost no more than one."""
    if glob == "**":
        return None
    chunks = [""]
    for piece in _PIECES.finditer(glob):
        if piece["star"]:
            chunks.append("")
        elif piece[0] == "?":
            chunks[-1] += "."
        elif piece["set"]:
            chunks[-1] += _set(piece["set"][1:-1])
        else:
            chunks[-1] += re.escape(piece["quoted"] or piece[0])
    first, *others = chunks
    if not others:
        return re.compile(first, re.DOTALL)
    *middle, last = others
    return re.compile(first + "".join(f"(?>.*?{chunk})" for chunk in middle) + f".*{last}", re.DOTALL)


def _set(inner: str) -> str:
    negated = inner[:1] in ("!", "^")
    body = inner[1:] if negated else inner
    quoted = body.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"[{'^' if negated else ''}{quoted}]"
