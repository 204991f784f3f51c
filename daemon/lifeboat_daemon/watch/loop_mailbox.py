"""Deliver messages from any thread to the event loop. Repeated messages are merged, so their number is limited by that
of their keys."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Hashable

REST = 0.2
"""Seconds between two deliveries."""


class LoopMailbox:
    """Delivers messages by calling the function that was posted for their key, in the order of posting."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, Callable[[], None]] = {}
        self._is_coming = self._is_closed = False

    def post(self, key: Hashable, deliver: Callable[[], None], *, latest: bool = False) -> None:
        """Deliver a message. Messages with the same key are delivered once until then; `latest`: move it behind those
        that wait. Can be called from any thread."""
        if key in self._waiting and not latest:
            return  # Most messages of a burst return here.
        with self._lock:
            if self._is_closed:
                return
            self._waiting.pop(key, None)
            self._waiting[key] = deliver
            if self._is_coming:
                return
            self._is_coming = True
        with contextlib.suppress(RuntimeError):  # The loop is closed, so no receiver is left.
            self._loop.call_soon_threadsafe(self._deliver)

    def close(self) -> None:
        """Deliver nothing from now on."""
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
            # Separate calls, so that one that fails does not prevent the others.
            self._loop.call_soon(self._hand_over, deliver)

    def _hand_over(self, deliver: Callable[[], None]) -> None:
        if not self._is_closed:
            deliver()
