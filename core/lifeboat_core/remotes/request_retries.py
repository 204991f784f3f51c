"""Retry requests to a remote while it is busy or does not answer, with growing random pauses."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from lifeboat_vault.errors import RemoteBusy, RemoteError, RemoteFull, RemoteUnreachable, RemoteUntrusted

Found = TypeVar("Found")
Wait = Callable[[float], None]

TRIES = 4
PATIENCE = 20.0
"""Seconds after which no other try begins: a remote without an answer for this long is away."""
LONGEST_WAIT = 30.0
"""The longest pause between two tries, in seconds. A remote that asks for a longer one is retried by the
scheduler."""


def call_patiently(call: Callable[[], Found], wait: Wait = time.sleep) -> Found:
    """Return the result of `call`, which a retry must not harm. Raises the RemoteError of the last try."""
    begun = time.monotonic()
    for tried in range(TRIES):
        try:
            return call()
        except RemoteError as error:
            pause = _pause(error, tried)
            if pause is None or tried == TRIES - 1 or time.monotonic() - begun > PATIENCE:
                raise
        wait(pause)
    raise AssertionError("unreachable")


def _pause(error: RemoteError, tried: int) -> float | None:
    """Return the seconds until the next try, None if another one is useless."""
    if isinstance(error, RemoteFull | RemoteUntrusted) or not isinstance(error, RemoteUnreachable | RemoteBusy):
        return None
    asked = error.retry_after if isinstance(error, RemoteBusy) else None
    if asked is not None and asked > LONGEST_WAIT:
        return None
    return min(LONGEST_WAIT, max(asked or 0.0, 2.0**tried * random.uniform(0.25, 0.75)))
