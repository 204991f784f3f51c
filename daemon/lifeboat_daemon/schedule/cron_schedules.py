"""Cron schedules on APScheduler. The only module that knows its scheduler.

APScheduler would drop a run that is a second late, run jobs that are no coroutines in threads, and count every run that
was missed while the clock went ten years ahead: none of that happens here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from lifeboat_core.settings.crontab import Crontab

if TYPE_CHECKING:
    from lifeboat_daemon.schedule.timers import Call


@dataclass(slots=True)
class _CronSchedule:
    expression: str
    crontab: Crontab
    call: Call


class _CronTrigger(BaseTrigger):  # type: ignore[misc]
    """The next run after now: those between are past and are made up for by one."""

    def __init__(self, crontab: Crontab, zone: Callable[[], tzinfo]) -> None:
        self._crontab = crontab
        self._zone = zone

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        return self._crontab.after(now, self._zone())


class CronSchedules:
    """Schedules by name. `now` gives the wall clock in UTC, `run` does what a schedule calls."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        now: Callable[[], datetime],
        zone: Callable[[], tzinfo],
        run: Callable[[Call], None],
    ) -> None:
        self._now = now
        self._zone = zone
        self._run = run
        self._crons: dict[str, _CronSchedule] = {}
        self._scheduler = AsyncIOScheduler(
            event_loop=loop,
            timezone="UTC",
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )

    def start(self) -> None:
        self._scheduler.start()

    def put(self, name: str, expression: str, call: Call, last_run: datetime | None) -> None:
        """See `Timers.cron`."""
        known = self._crons.get(name)
        if known is not None and known.expression == expression:
            known.call = call
            return
        crontab = Crontab(expression)
        self._crons[name] = _CronSchedule(expression, crontab, call)
        now = self._now()
        missed = None if last_run is None else crontab.after(last_run, self._zone())
        first = now if missed is not None and missed <= now else crontab.after(now, self._zone())
        self._scheduler.add_job(
            self._fire,
            _CronTrigger(crontab, self._zone),
            args=(name,),
            id=name,
            replace_existing=True,
            next_run_time=first,
        )

    def next_run(self, name: str) -> datetime | None:
        """When a schedule is due, in UTC; None when there is none of this name."""
        job = self._scheduler.get_job(name)
        found: datetime | None = None if job is None else job.next_run_time
        return found

    def remove(self, name: str) -> None:
        """Forget a schedule. There need not be one."""
        if self._crons.pop(name, None) is not None and self._scheduler.get_job(name) is not None:
            self._scheduler.remove_job(name)

    def woke(self) -> None:
        """What was due meanwhile runs once; everything else is set by the clock and the zone of now."""
        now = self._now()
        for name, cron in self._crons.items():
            due = self.next_run(name)
            if due is None or due > now:
                self._scheduler.modify_job(name, next_run_time=cron.crontab.after(now, self._zone()))
        self._scheduler.wakeup()

    def stop(self) -> None:
        """Forget everything."""
        self._crons.clear()
        if self._scheduler.running:
            self._scheduler.remove_all_jobs()
            self._scheduler.shutdown(wait=False)

    async def _fire(self, name: str) -> None:
        """A coroutine, so that it runs in the loop and not in a thread."""
        cron = self._crons.get(name)
        if cron is not None:
            self._run(cron.call)
