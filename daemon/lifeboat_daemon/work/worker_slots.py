"""Who may work now: a few at once, short work before long work, and one place that is always kept for short work."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator


class WorkerSlots:
    """`total` places, of which long work takes at most all but one."""

    def __init__(self, total: int) -> None:
        self._free = total
        self._free_for_long = max(1, total - 1)
        self._short: deque[asyncio.Future[None]] = deque()
        self._long: deque[asyncio.Future[None]] = deque()

    @contextlib.asynccontextmanager
    async def place(self, *, long: bool) -> AsyncIterator[None]:
        """Have a place, once there is one."""
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
            if turn.done() and not turn.cancelled():  # had its turn and left at the same moment
                self._give(long)
            raise

    def lend(self, *, long: bool) -> None:
        """Let one more work than there are places, until `take_back`."""
        self._give(long)

    def take_back(self, *, long: bool) -> None:
        """End a `lend`: whoever works goes on, and the next one waits until there is a place again."""
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
            while waiting and waiting[0].done():  # gave up waiting
                waiting.popleft()
            if waiting and (not long or self._free_for_long > 0):
                self._free -= 1
                self._free_for_long -= long
                return waiting.popleft()
        return None
