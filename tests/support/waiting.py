"""Waiting for an expected event. One way for all tests: no limit is a requirement, and each grows with the load."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from support.patience import SHORTEST, patience

T = TypeVar("T")
What = str | Callable[[], str]
"""Description of what is waited for, or a function that returns it, called only if the wait fails."""
_PAUSES = (0.005, 0.01, 0.02, 0.05)
"""Seconds between calls of the condition. They grow because a condition may be expensive; the last one repeats."""


def until(condition: Callable[[], T], what: What = "", seconds: float = SHORTEST) -> T:
    """Return the first true result of `condition`. Fail if there is none within `patience(seconds)`."""
    limit = patience(seconds)
    end = time.monotonic() + limit
    pauses = _pauses()
    while not (found := condition()):
        assert time.monotonic() < end, _complaint(limit, what or repr(condition))
        time.sleep(next(pauses))
    return found


async def until_async(condition: Callable[[], T], what: What = "", seconds: float = SHORTEST) -> T:
    """Do the same as `until` without blocking the event loop."""
    limit = patience(seconds)
    end = time.monotonic() + limit
    pauses = _pauses()
    while not (found := condition()):
        assert time.monotonic() < end, _complaint(limit, what or repr(condition))
        await asyncio.sleep(next(pauses))
    return found


def _pauses() -> Iterator[float]:
    return itertools.chain(_PAUSES, itertools.repeat(_PAUSES[-1]))


def _complaint(limit: float, what: What) -> str:
    return f"waited {limit:.0f} seconds for {what if isinstance(what, str) else what()}"
