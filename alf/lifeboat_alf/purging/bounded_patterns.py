"""Patterns that end: what may run over a whole history, and how it is run."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from re import _constants, _parser  # type: ignore[attr-defined]
from types import FrameType
from typing import Any

from lifeboat_alf.errors import PurgeError

LONGEST_PATTERN = 1_000
"""Characters."""
WINDOW = 1 << 16
"""Characters that a pattern is given at once, up to the end of a line."""
OVERLAP = 1 << 10
"""Characters of the window before, so that a match across two is found."""
PATIENCE = 20.0
"""Seconds for one body."""

_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)
_MANY = 16
"""More repetitions than this count as any number."""


def compile_pattern(text: str) -> re.Pattern[str]:
    """A pattern as a person wrote it. Raises PurgeError."""
    try:
        return check_pattern(re.compile(text))
    except (re.error, RecursionError, OverflowError):
        raise PurgeError("the pattern is no regular expression") from None


def check_pattern(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """The pattern, when it finds no empty text and repeats nothing that can be read in several ways: `(a+)+` takes
    longer than anybody waits. Raises PurgeError, without a word of the pattern."""
    if len(pattern.pattern) > LONGEST_PATTERN:
        raise PurgeError(f"the pattern has more than {LONGEST_PATTERN} characters")
    if pattern.search("") is not None:
        raise PurgeError("the pattern finds the empty text, so it would find everything")
    if not _ends(_parser.parse(pattern.pattern, pattern.flags)):
        raise PurgeError("the pattern repeats what can be read in several ways, as (a+)+ does; that may take for ever")
    return pattern


def _ends(parsed: Any, *, is_repeated: bool = False) -> bool:
    """Whether nothing that is repeated any number of times holds a choice."""
    for operator, argument in parsed:
        is_repeat = operator in _REPEATS
        if is_repeated and (operator is _constants.BRANCH or (is_repeat and argument[0] != argument[1])):
            return False
        inside = is_repeated or (is_repeat and argument[1] > _MANY)
        if not all(_ends(part, is_repeated=inside) for part in _parts(argument)):
            return False
    return True


def _parts(argument: Any) -> Iterator[Any]:
    """The patterns inside the argument of an operator, however it keeps them."""
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, (list, tuple)):
        for part in argument:
            yield from _parts(part)


def find_matches(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """Every match, in windows. Raises PurgeError when it takes too long (within a window only in the main thread, where
    a search can be interrupted)."""
    with _patience():
        return list(_in_windows(pattern, text, time.monotonic() + PATIENCE))


def _in_windows(pattern: re.Pattern[str], text: str, deadline: float) -> Iterator[tuple[int, int]]:
    begin = 0
    while begin < len(text):
        end = _end_of_window(text, begin)
        is_last = end == len(text)
        for match in pattern.finditer(text, begin, end):
            # What ends with the window may only seem to end there: the next one sees it whole.
            if is_last or match.end() < end or match.start() < end - OVERLAP:
                yield match.span()
        if time.monotonic() > deadline:
            raise _impatient()
        begin = end if is_last else max(begin + 1, end - OVERLAP)


def _end_of_window(text: str, begin: int) -> int:
    """At the end of a line, where one ends in time."""
    end = begin + WINDOW
    if end >= len(text):
        return len(text)
    line = text.rfind("\n", begin + 2 * OVERLAP, end)
    return end if line < 0 else line + 1


@contextmanager
def _patience() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    former = signal.signal(signal.SIGALRM, _interrupt)
    timer = signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, former)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise _impatient()


def _impatient() -> PurgeError:
    return PurgeError("the pattern takes too long on this history; look for a text, or for a simpler pattern")
