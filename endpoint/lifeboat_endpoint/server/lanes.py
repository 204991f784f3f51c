"""Threads for blocking work.

An agent always uses the same thread, because its vault belongs to one thread, and changes of one agent have to follow
each other anyway.
"""

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
    """One thread with a queue."""

    def __init__(self, name: str, most: int) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._most = most
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """How many work items are waiting or running."""
        return self._waiting

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run `work` in this lane's thread and return its result. Raises RemoteBusy if too many wait already.

        Work that has begun is never interrupted: it continues if the waiting task is cancelled.
        """
        if self._waiting >= self._most:
            raise RemoteBusy("too many requests are waiting for this agent", retry_after=2)
        self._waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._executor, work)
        future.add_done_callback(self._done)
        return await asyncio.shield(future)

    def _done(self, future: asyncio.Future[Result]) -> None:
        self._waiting -= 1
        if not future.cancelled():
            future.exception()  # mark the exception as retrieved, in case the waiting task was cancelled

    def close(self, last: Callable[[], object]) -> None:
        """Finish waiting work, then run `last` in the thread and end it."""
        with contextlib.suppress(Exception):
            self._executor.submit(last).result()
        self._executor.shutdown(wait=True)


class Lanes:
    """A fixed number of lanes."""

    def __init__(self, name: str, count: int, most: int) -> None:
        self._lanes = [Lane(f"{name}-{number}", most) for number in range(count)]

    def of(self, key: str) -> Lane:
        """Return the lane of an agent or caller, always the same one."""
        digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
        return self._lanes[int.from_bytes(digest) % len(self._lanes)]

    def free(self) -> Lane:
        """Return the lane with the least work, for work that is not bound to a thread."""
        return min(self._lanes, key=lambda lane: lane.waiting)

    def close(self, last: Callable[[], object]) -> None:
        """Finish all work; `last` runs once in each thread."""
        for lane in self._lanes:
            lane.close(last)
