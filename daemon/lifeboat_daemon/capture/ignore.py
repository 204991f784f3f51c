"""`.lifeboatignore`: what the user does not want kept, in the form of a gitignore file.

Understood: comments, blank lines, `!` (take back), a trailing `/` (folders only), a leading or inner `/` (from the
workspace on, else at any depth), `*`, `?`, `[...]`, `**`. The last line that fits decides; nothing below an ignored
folder can be taken back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

FILE_NAME = ".lifeboatignore"


class Rule(NamedTuple):
    """One line. `pattern` is matched against the whole relative path."""

    pattern: re.Pattern[str]
    ignore: bool
    folders_only: bool


@dataclass(frozen=True, slots=True)
class Ignore:
    """The rules of one file, in order."""

    rules: tuple[Rule, ...] = field(default=())

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Whether a path (relative, `/`) is ignored by a line of its own; folders are asked before their contents."""
        for rule in reversed(self.rules):
            if (is_folder or not rule.folders_only) and rule.pattern.fullmatch(path):
                return rule.ignore
        return False


def parse(text: str) -> Ignore:
    """The rules in a text. Lines that are no usable pattern match nothing, as in git."""
    return Ignore(tuple(rule for line in text.splitlines() if (rule := _rule(line)) is not None))


def _rule(line: str) -> Rule | None:
    line = re.sub(r"(?<!\\) +$", "", line)
    if not line or line.startswith("#"):
        return None
    ignore = not line.startswith("!")
    line = line.removeprefix("!") if not ignore else line.removeprefix("\\") if line[:2] in ("\\#", "\\!") else line
    folders_only = line.endswith("/")
    line = line.rstrip("/")
    if not line:
        return None
    prefix = "" if "/" in line else "(?:.*/)?"
    try:
        return Rule(re.compile(prefix + _expression(line.lstrip("/")), re.DOTALL), ignore, folders_only)
    except re.error:
        return None


_PIECES = re.compile(
    r"(?P<any>(?:^|(?<=/))\*\*/)|(?P<rest>(?<=/)\*\*$)|\*+|\?|(?P<set>\[[!^]?\]?[^\]]*\])|\\(?P<quoted>.)|[^*?\[\\]+|."
)


def _expression(glob: str) -> str:
    parts = []
    for piece in _PIECES.finditer(glob):
        text = piece[0]
        if piece["any"]:
            parts.append("(?:.*/)?")
        elif piece["rest"]:
            parts.append(".+")
        elif text.startswith("*"):
            parts.append("[^/]*")
        elif text == "?":
            parts.append("[^/]")
        elif piece["set"]:
            parts.append(_set(text[1:-1]))
        else:
            parts.append(re.escape(piece["quoted"] or text))
    return "".join(parts)


def _set(inner: str) -> str:
    negated = inner[:1] in ("!", "^")
    body = inner[1:] if negated else inner
    quoted = body.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"(?!/)[{'^' if negated else ''}{quoted}]"
