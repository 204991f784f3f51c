"""Patterns that end: what may run over a whole history, and how it is run."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

from lifeboat_alf.errors import PurgeError

LONGEST_PATTERN = 1_000
"""Characters."""
WINDOW = 1 << 16
"""Characters that a pattern is given at once, up to the end of a line."""
OVERLAP = 1 << 10
"""Characters of the window before, so that a match across two is found."""
PATIENCE = 20.0
"""Seconds that the windows of one body may take together."""

_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)
_MANY = 16
"""More repetitions than this count as any number."""


def compiled(text: str) -> re.Pattern[str]:
    """A pattern as a person wrote it. Raises PurgeError."""
    try:
        return checked(re.compile(text))
    except (re.error, RecursionError, OverflowError):
        raise PurgeError("the pattern is no regular expression") from None


def checked(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """The pattern, when it finds no empty text and repeats nothing that repeats itself: `(a+)+` takes longer than
    anybody waits. Raises PurgeError, without a word of the pattern."""
    if len(pattern.pattern) > LONGEST_PATTERN:
        raise PurgeError(f"the pattern has more than {LONGEST_PATTERN} characters")
    if pattern.search("") is not None:
        raise PurgeError("the pattern finds the empty text, so it would find everything")
    if _depth(_parser.parse(pattern.pattern, pattern.flags)) > 1:
        raise PurgeError("the pattern repeats what repeats itself, as (a+)+ does; that may take for ever")
    return pattern


def _depth(parsed: Any) -> int:
    """How deep repetitions lie in each other."""
    deepest = 0
    for operator, argument in parsed:
        inner = max((_depth(part) for part in _parts(argument)), default=0)
        own = operator in _REPEATS and argument[1] > _MANY
        deepest = max(deepest, inner + own)
    return deepest


def _parts(argument: Any) -> Iterator[Any]:
    """The patterns inside the argument of an operator, however it keeps them."""
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, (list, tuple)):
        for part in argument:
            yield from _parts(part)


def find(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Every match, in windows. Raises PurgeError when it takes too long."""
    started = time.monotonic()
    begin = 0
    while begin < len(text):
        end = _end_of_window(text, begin)
        yield from (match.span() for match in pattern.finditer(text, begin, end) if match.end() > match.start())
        if time.monotonic() - started > PATIENCE:
            raise PurgeError("the pattern takes too long on this history; look for a text, or for a simpler pattern")
        begin = end if end == len(text) else max(begin + 1, end - OVERLAP)


def _end_of_window(text: str, begin: int) -> int:
    """At the end of a line, where one ends in time."""
    end = begin + WINDOW
    if end >= len(text):
        return len(text)
    line = text.rfind("\n", begin + OVERLAP, end)
    return end if line < 0 else line + 1
