"""Threads that do what blocks. An agent always has the same one: its vault belongs to a thread, and what is done for
one agent is done one after the other anyway."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lifeboat_vault.errors import RemoteBusy

Result = TypeVar("Result")


class Lane:
    """One thread with its queue."""

    def __init__(self, name: str, most: int) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._most = most
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """How many wait or are done right now."""
        return self._waiting

    async def run(self, work: Callable[[], Result]) -> Result:
        """What `work` returned or raised, in this lane's thread. Raises RemoteBusy when too many wait already. Work
        that was begun is never cut off: when whoever waits for it is cancelled, it goes on to its end."""
        if self._waiting >= self._most:
            raise RemoteBusy("too many requests wait for this agent", retry_after=2)
        self._waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._executor, work)
        future.add_done_callback(self._done)
        return await asyncio.shield(future)

    def _done(self, future: asyncio.Future[Result]) -> None:
        self._waiting -= 1
        if not future.cancelled():
            future.exception()  # read, so that nobody complains when whoever waited has gone

    def close(self, last: Callable[[], object]) -> None:
        """Finish what waits, then `last`, in the thread itself; then it ends."""
        with contextlib.suppress(Exception):
            self._executor.submit(last).result()
        self._executor.shutdown(wait=True)


class Lanes:
    """Some of them."""

    def __init__(self, name: str, count: int, most: int) -> None:
        self._lanes = [Lane(f"{name}-{number}", most) for number in range(count)]

    def of(self, key: str) -> Lane:
        """The lane of an agent, or of whoever asks: always the same."""
        digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
        return self._lanes[int.from_bytes(digest) % len(self._lanes)]

    def free(self) -> Lane:
        """The one with the least to do, for work that no thread has to itself."""
        return min(self._lanes, key=lambda lane: lane.waiting)

    def close(self, last: Callable[[], object]) -> None:
        """Finish everything; `last` is done once in each thread."""
        for lane in self._lanes:
            lane.close(last)
