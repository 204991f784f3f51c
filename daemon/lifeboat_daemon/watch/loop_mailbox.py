"""From any thread into the loop's, with as many messages as there are different ones, however often they are posted."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Hashable

REST = 0.2
"""Seconds between two deliveries."""


class LoopMailbox:
    """Messages are known by a key and delivered by calling what was posted with it, in the order of posting."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, Callable[[], None]] = {}
        self._is_coming = self._is_closed = False

    def post(self, key: Hashable, deliver: Callable[[], None], *, latest: bool = False) -> None:
        """Have something delivered, once for all that is posted by the same key until then; `latest`: after what waits
        already. From any thread."""
        if key in self._waiting and not latest:
            return  # most of a burst ends here
        with self._lock:
            if self._is_closed:
                return
            self._waiting.pop(key, None)
            self._waiting[key] = deliver
            if self._is_coming:
                return
            self._is_coming = True
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to tell
            self._loop.call_soon_threadsafe(self._deliver)

    def close(self) -> None:
        """Deliver nothing more."""
        with self._lock:
            self._is_closed = True
            self._waiting.clear()

    def _deliver(self) -> None:
        with self._lock:
            messages, self._waiting = self._waiting, {}
            if not messages:
                self._is_coming = False
                return
        self._loop.call_later(REST, self._deliver)
        for deliver in messages.values():
            self._loop.call_soon(self._hand_over, deliver)  # so that one that fails keeps none of the others

    def _hand_over(self, deliver: Callable[[], None]) -> None:
        if not self._is_closed:
            deliver()
