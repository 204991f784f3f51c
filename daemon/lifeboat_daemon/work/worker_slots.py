"""Limit concurrent work: short work goes before long work, and one slot is always kept for short work."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator


class WorkerSlots:
    """Manages `total` slots, of which long work takes at most all but one."""

    def __init__(self, total: int) -> None:
        self._free = total
        self._free_for_long = max(1, total - 1)
        self._short: deque[asyncio.Future[None]] = deque()
        self._long: deque[asyncio.Future[None]] = deque()

    @contextlib.asynccontextmanager
    async def place(self, *, long: bool) -> AsyncIterator[None]:
        """Hold a slot, after waiting for a free one."""
        await self._take(long)
        try:
            yield
        finally:
            self._give(long)

    async def _take(self, long: bool) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._long if long else self._short).append(turn)
        self._next()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # It was given a slot and cancelled at the same moment.
                self._give(long)
            raise

    def lend(self, *, long: bool) -> None:
        """Allow one more job than there are slots, until `take_back`."""
        self._give(long)

    def take_back(self, *, long: bool) -> None:
        """End a `lend`: running jobs continue, and the next one waits until a slot is free again."""
        self._free -= 1
        self._free_for_long -= long

    def _give(self, long: bool) -> None:
        self._free += 1
        self._free_for_long += long
        self._next()

    def _next(self) -> None:
        while self._free > 0 and (turn := self._whose_turn()) is not None:
            turn.set_result(None)

    def _whose_turn(self) -> asyncio.Future[None] | None:
        for waiting, long in ((self._short, False), (self._long, True)):
            while waiting and waiting[0].done():  # It was cancelled while waiting.
                waiting.popleft()
            if waiting and (not long or self._free_for_long > 0):
                self._free -= 1
                self._free_for_long -= long
                return waiting.popleft()
        return None
