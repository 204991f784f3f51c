"""Timers of the daemon: calls after some time, and calls by a cron schedule.

Calls after some time use the clock of the event loop, which no change of the wall clock affects. Schedules use
APScheduler, in the local time zone. Neither counts sleep: after it, `woke` corrects both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from lifeboat_alf.seams.system_clock import Clock, SystemClock
from lifeboat_daemon.schedule.local_time_zone import find_local_zone

if TYPE_CHECKING:
    from lifeboat_daemon.schedule.cron_schedules import CronSchedules

Call = Callable[[], Awaitable[None] | None]
"""What a timer calls: a function, or a coroutine function that `stop` waits for."""

_DRAIN = 5.0
"""Seconds."""


@dataclass(slots=True)
class _ScheduledTimer:
    """A timer that is due at `due`, in seconds of the clock that counts sleep."""

    due: float
    call: Call
    handle: asyncio.TimerHandle | None = None


class Timers:
    """Timers by name; setting one again replaces it. For use in the thread of the event loop. If a call raises, the
    loop's exception handler is told, and other timers continue."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        clock: Clock | None = None,
        zone: Callable[[], tzinfo] = find_local_zone,
    ) -> None:
        self._loop = loop
        self._clock = clock or SystemClock()
        self._zone = zone
        self._timers: dict[str, _ScheduledTimer] = {}
        self._crons: CronSchedules | None = None
        self._tasks: set[asyncio.Future[None]] = set()
        self._is_started = self._is_stopped = False

    def start(self) -> None:
        """Start the schedules. Timers and schedules may be set before."""
        self._is_started = True
        if self._crons is not None:
            self._crons.start()

    def at(self, name: str, seconds: float, call: Call) -> None:
        """Call once after some seconds, which include time asleep."""
        if self._is_stopped:
            return
        former = self._timers.get(name)
        if former is not None and former.handle is not None:
            former.handle.cancel()
        self._timers[name] = timer = _ScheduledTimer(self._clock.since_boot() + max(0.0, seconds), call)
        self._arm(name, timer)

    def cron(self, name: str, expression: str, call: Call, last_run: datetime | None) -> None:
        """Call by a schedule of five fields, in local time. If a call was missed since `last_run` (None: it never ran)
        or during sleep, it is made up for by one immediate call. An identical schedule that is already set continues.
        Raises ValueError for an invalid schedule."""
        if self._is_stopped:
            return
        if self._crons is None:
            self._crons = self._make_crons()
        self._crons.put(name, expression, call, last_run)

    def cancel(self, name: str) -> None:
        """Remove a timer if it exists."""
        timer = self._timers.pop(name, None)
        if timer is not None and timer.handle is not None:
            timer.handle.cancel()
        if self._crons is not None:
            self._crons.remove(name)

    def remaining(self, name: str) -> float | None:
        """Return the seconds until a timer of `at` is due, or None if there is none."""
        timer = self._timers.get(name)
        return None if timer is None else timer.due - self._clock.since_boot()

    def woke(self) -> None:
        """Recompute all timers after sleep, a jump of the wall clock, or a change of the time zone."""
        for name, timer in list(self._timers.items()):
            self._arm(name, timer)
        if self._crons is not None:
            self._crons.woke()

    async def stop(self, timeout: float = _DRAIN) -> None:
        """Remove every timer and wait for calls that have not ended. Those that take longer than `timeout` seconds are
        cancelled."""
        self._is_stopped = True
        for name in list(self._timers):
            self.cancel(name)
        if self._crons is not None:
            self._crons.stop()
            await asyncio.sleep(0)  # The scheduler ends in the next iteration of the loop.
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=timeout)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _arm(self, name: str, timer: _ScheduledTimer) -> None:
        if timer.handle is not None:
            timer.handle.cancel()
        wait = max(0.0, timer.due - self._clock.since_boot())
        timer.handle = self._loop.call_later(wait, self._fire, name, timer)

    def _fire(self, name: str, timer: _ScheduledTimer) -> None:
        del self._timers[name]
        self._call(timer.call)

    def _call(self, call: Call) -> None:
        try:
            awaitable = call()
        except Exception as error:
            self._failed(error)
            return
        if awaitable is not None:
            task = asyncio.ensure_future(awaitable, loop=self._loop)
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Future[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)

    def _failed(self, error: BaseException) -> None:
        self._loop.call_exception_handler({"message": "a timer failed", "exception": error})

    def _make_crons(self) -> CronSchedules:
        """Create the scheduler. APScheduler takes some megabytes, so it is only loaded when a schedule is set."""
        from lifeboat_daemon.schedule.cron_schedules import CronSchedules

        made = CronSchedules(self._loop, self._clock.now, self._zone, self._call)
        if self._is_started:
            made.start()
        return made
