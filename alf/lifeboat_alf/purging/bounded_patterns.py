"""Run regular expressions over a whole history, but only those that terminate."""

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
"""Maximum characters of a pattern."""
WINDOW = 1 << 16
"""Characters searched at once, up to the end of a line."""
OVERLAP = 1 << 10
"""Characters repeated from the previous window, to find matches across two windows."""
PATIENCE = 20.0
"""Seconds for one body."""

_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)
_MANY = 16
"""Repetitions above this count as unlimited."""


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern from user input. Raises PurgeError."""
    try:
        return check_pattern(re.compile(text))
    except (re.error, RecursionError, OverflowError):
        raise PurgeError("the pattern is not a valid regular expression") from None


def check_pattern(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """Check that a pattern matches no empty text and repeats nothing ambiguous: `(a+)+` may never end. Raises
    PurgeError, whose message does not contain the pattern."""
    if len(pattern.pattern) > LONGEST_PATTERN:
        raise PurgeError(f"the pattern has more than {LONGEST_PATTERN} characters")
    if pattern.search("") is not None:
        raise PurgeError("the pattern matches the empty text, so it would match everything")
    if not _ends(_parser.parse(pattern.pattern, pattern.flags)):
        raise PurgeError("the pattern contains a nested repetition such as (a+)+, which can take too long to match")
    return pattern


def _ends(parsed: Any, *, is_repeated: bool = False) -> bool:
    """Return whether no unlimited repetition contains a choice."""
    for operator, argument in parsed:
        is_repeat = operator in _REPEATS
        if is_repeated and (operator is _constants.BRANCH or (is_repeat and argument[0] != argument[1])):
            return False
        inside = is_repeated or (is_repeat and argument[1] > _MANY)
        if not all(_ends(part, is_repeated=inside) for part in _parts(argument)):
            return False
    return True


def _parts(argument: Any) -> Iterator[Any]:
    """Yield the patterns inside an operator's argument, in any form."""
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, (list, tuple)):
        for part in argument:
            yield from _parts(part)


def find_matches(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """Return every match, searching in windows. Raises PurgeError when it takes too long. Within a window, that works
    only in the main thread, where a search can be interrupted."""
    with _patience():
        return list(_in_windows(pattern, text, time.monotonic() + PATIENCE))


def _in_windows(pattern: re.Pattern[str], text: str, deadline: float) -> Iterator[tuple[int, int]]:
    begin = 0
    while begin < len(text):
        end = _end_of_window(text, begin)
        is_last = end == len(text)
        for match in pattern.finditer(text, begin, end):
            # A match that ends with the window may continue; the next window sees all of it.
            if is_last or match.end() < end or match.start() < end - OVERLAP:
                yield match.span()
        if time.monotonic() > deadline:
            raise _impatient()
        begin = end if is_last else max(begin + 1, end - OVERLAP)


def _end_of_window(text: str, begin: int) -> int:
    """Return the end of the window: the end of a line, where one is near enough."""
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
    return PurgeError("the search for the pattern takes too long; use a simpler pattern, or purge a fixed text")
