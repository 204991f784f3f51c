"""Cron schedules on APScheduler. No other module imports it.

By default APScheduler drops a run that is a second late, runs plain functions in threads, and counts every run that was
missed while the clock was ten years ahead. This module prevents all three.
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
    """Computes the next run after now. Runs that were missed in between are replaced by one."""

    def __init__(self, crontab: Crontab, zone: Callable[[], tzinfo]) -> None:
        self._crontab = crontab
        self._zone = zone

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        return self._crontab.after(now, self._zone())


class CronSchedules:
    """Schedules by name. `now` returns the wall clock in UTC, `run` performs what a schedule calls."""

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
        """Add a schedule; see `Timers.cron`."""
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
        """Return when a schedule is due, in UTC, or None if there is none of this name."""
        job = self._scheduler.get_job(name)
        found: datetime | None = None if job is None else job.next_run_time
        return found

    def remove(self, name: str) -> None:
        """Remove a schedule if it exists."""
        if self._crons.pop(name, None) is not None and self._scheduler.get_job(name) is not None:
            self._scheduler.remove_job(name)

    def woke(self) -> None:
        """Run a missed schedule once, and compute all other times from the current clock and time zone."""
        now = self._now()
        for name, cron in self._crons.items():
            due = self.next_run(name)
            if due is None or due > now:
                self._scheduler.modify_job(name, next_run_time=cron.crontab.after(now, self._zone()))
        self._scheduler.wakeup()

    def stop(self) -> None:
        """Remove all schedules."""
        self._crons.clear()
        if self._scheduler.running:
            self._scheduler.remove_all_jobs()
            self._scheduler.shutdown(wait=False)

    async def _fire(self, name: str) -> None:
        """Run a schedule. It is a coroutine so that APScheduler runs it in the event loop and not in a thread."""
        cron = self._crons.get(name)
        if cron is not None:
            self._run(cron.call)
