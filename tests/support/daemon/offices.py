"""A pool of workers and a loop to use it in, for tests of the work."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_daemon.work.work_queue import WorkQueue
from lifeboat_daemon.work.worker_messages import JobProgress
from lifeboat_daemon.work.worker_pool import WorkerPool
from support import preloaded
from support.daemon import work_program
from support.patience import SHORTEST, patience
from support.preloaded import script


class Office:
    """A pool with a loop. `workers` have the environment at the time when the office was opened. `told` is all
    progress."""

    def __init__(self, command: Sequence[str], linger: float) -> None:
        self.loop = asyncio.new_event_loop()
        self.workers = WorkerPool(self.loop, command=command, linger=linger)
        self.queue = WorkQueue(self.workers)
        self.told: list[JobProgress] = []
        self.events: list[tuple[str, JsonObject]] = []
        self.workers.on_event = lambda kind, fields: self.events.append((kind, fields))

    def run(self, work: Coroutine[Any, Any, Any], seconds: float = SHORTEST) -> Any:
        """Run until it is done, with a time limit."""
        return self.loop.run_until_complete(asyncio.wait_for(work, patience(seconds)))

    async def work(self, operation: str, agent: str | None = None, *, long: bool = False, **parameters: Any) -> Any:
        return await self.workers.run(operation, agent, parameters, long=long, tell=self.told.append)

    def do(self, operation: str, agent: str | None = None, **parameters: Any) -> JsonObject:
        """Run an operation now."""
        found: JsonObject = self.run(self.work(operation, agent, **parameters))
        return found


@contextmanager
def office(*options: str, command: Sequence[str] | None = None, linger: float = 30.0) -> Iterator[Office]:
    """Open an office with the workers of `work_program.py`, and close it at the end."""
    made = Office(command or work_program.command(*options), linger)
    with preloaded.forking_of({work_program.command(): script(work_program.HERE)}):
        try:
            yield made
        finally:
            made.run(made.workers.stop(patience()))
            assert made.workers.pids == []
            made.loop.close()
