"""The tools that the parts of the daemon share."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.errors import UnexpectedError
from lifeboat_core.home.context import Context
from lifeboat_daemon.schedule.timers import Timers
from lifeboat_daemon.service.daemon_notes import DaemonNotes
from lifeboat_daemon.service.daemon_notes import save_notes as write_notes
from lifeboat_daemon.service.event_log import EventLog
from lifeboat_daemon.watch.agent_watcher import AgentWatcher
from lifeboat_daemon.work.work_queue import WorkQueue
from lifeboat_daemon.work.worker_pool import WorkerPool

T = TypeVar("T")


@dataclass
class DaemonTools:
    """The daemon's tools. `publish` sends an event to subscribers of the control socket; `tasks` have to end before the
    daemon does."""

    context: Context
    log: EventLog
    timers: Timers
    watcher: AgentWatcher
    workers: WorkerPool
    queue: WorkQueue
    notes: DaemonNotes
    publish: Callable[[JsonObject], None] = lambda _: None
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    def seconds(self) -> float:
        """Return the present time of the clock that never goes back and counts sleep."""
        return self.context.clock.since_boot()

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine as a task. An unexpected error is logged and affects nothing else."""
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def finish(self, timeout: float) -> None:
        """Wait for all tasks, including new ones. Tasks that take longer than `timeout` are cancelled."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while self.tasks:
                    await asyncio.wait(set(self.tasks))
        late = set(self.tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.log.exception("unexpected", error)

    def known(self, error: Exception) -> LifeboatError:
        """Return an error as a LifeboatError. An unexpected one is logged."""
        if isinstance(error, LifeboatError):
            return error
        self.log.exception("unexpected", error)
        return UnexpectedError(type(error).__name__)

    def remember(self) -> None:
        """Save the changed notes."""
        write_notes(self.context, self.notes)
        reach_crash_point(CrashPoint.DAEMON_NOTED)
