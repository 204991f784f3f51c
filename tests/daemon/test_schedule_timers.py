"""Timers after some time and by a schedule; with sleep, jumps of the clock, failures and the end."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

import apscheduler.schedulers.base
import pytest

from lifeboat_core.settings.crontab import Crontab
from lifeboat_daemon.schedule.timers import Timers
from support.core.protected import START, SteadyClock
from support.patience import patience
from support.waiting import until_async

HOURLY, MINUTELY = "0 * * * *", "* * * * *"
EAST = timezone(timedelta(hours=5, minutes=30))


class World:
    """A loop with timers on a clock that stands still, including APScheduler's."""

    def __init__(self) -> None:
        self.clock = SteadyClock()
        self.zone: tzinfo = UTC
        self.calls: list[str] = []
        self.failures: list[dict[str, Any]] = []

    def make(self) -> Timers:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, failure: self.failures.append(failure))
        self.timers = Timers(loop, clock=self.clock, zone=lambda: self.zone)
        self.timers.start()
        return self.timers

    def call(self, word: str) -> Callable[[], None]:
        return lambda: self.calls.append(word)

    def next_run(self, name: str) -> datetime | None:
        assert self.timers._crons is not None
        return self.timers._crons.next_run(name)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()

    class Now(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return made.clock.now().astimezone(tz)

    monkeypatch.setattr(apscheduler.schedulers.base, "datetime", Now)
    return made


def play(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, patience()))


async def settle() -> None:
    """Run everything that is due."""
    for _ in range(20):
        await asyncio.sleep(0)


# After a while ----------------------------------------------------------------------------------------------------


def test_a_timer_calls_once_and_a_new_one_of_its_name_replaces_it(world: World) -> None:
    async def story() -> None:
        timers = world.make()
        timers.at("one", 0.0, world.call("replaced"))
        timers.at("one", 0.0, world.call("one"))
        timers.at("two", -5.0, world.call("two"))
        timers.at("three", 0.0, world.call("cancelled"))
        timers.cancel("three")
        timers.cancel("three")
        await until_async(lambda: len(world.calls) == 2)
        await settle()
        assert sorted(world.calls) == ["one", "two"]
        assert timers.remaining("one") is None

    play(story())


def test_timers_on_the_clocks_of_this_machine_come_in_order() -> None:
    async def story() -> None:
        calls: list[str] = []
        timers = Timers(asyncio.get_running_loop())
        timers.start()
        timers.at("later", 0.05, lambda: calls.append("later"))
        timers.at("sooner", 0.01, lambda: calls.append("sooner"))
        await until_async(lambda: len(calls) == 2)
        assert calls == ["sooner", "later"]

    play(story())


def test_after_sleep_what_was_due_meanwhile_is_called_and_the_rest_is_nearer(world: World) -> None:
    async def story() -> None:
        timers = world.make()
        timers.at("soon", 3600, world.call("soon"))
        timers.at("late", 10 * 3600, world.call("late"))
        world.clock.sleep(hours=8)
        timers.woke()
        await until_async(lambda: world.calls == ["soon"])
        assert timers.remaining("late") == 2 * 3600

    play(story())


@pytest.mark.parametrize("years", [-10, 10])
def test_a_jump_of_the_wall_clock_moves_no_timer(world: World, years: int) -> None:
    async def story() -> None:
        timers = world.make()
        timers.at("late", 3600, world.call("late"))
        world.clock.jump(days=365 * years)
        timers.woke()
        await settle()
        assert (timers.remaining("late"), world.calls) == (3600, [])

    play(story())


# Schedules --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last_run", "runs"),
    [
        (None, 0),
        (START - timedelta(seconds=1), 1),
        (START - timedelta(days=3), 1),
        (START - timedelta(days=3650), 1),
        (START, 0),
        (START + timedelta(days=3650), 0),
    ],
)
def test_a_schedule_that_was_missed_while_nothing_ran_is_made_up_for_once(
    world: World, last_run: datetime | None, runs: int
) -> None:
    async def story() -> None:
        timers = world.make()
        timers.cron("hourly", HOURLY, world.call("hourly"), last_run)
        if runs:
            await until_async(lambda: bool(world.calls))
        await settle()
        assert world.calls == ["hourly"] * runs
        assert world.next_run("hourly") == START + timedelta(hours=1)

    play(story())


def test_a_schedule_that_is_set_again_goes_on_and_another_replaces_it(world: World) -> None:
    async def story() -> None:
        timers = world.make()
        timers.cron("ada", HOURLY, world.call("old"), None)
        timers.cron("ada", HOURLY, world.call("new"), START - timedelta(days=3))
        await settle()
        assert world.calls == []
        world.clock.advance(minutes=61)
        timers.woke()
        await until_async(lambda: world.calls == ["new"])
        timers.cron("ada", "30 9 * * *", world.call("other"), START)
        assert world.next_run("ada") == START.replace(hour=9, minute=30) + timedelta(days=1)
        timers.cancel("ada")
        assert world.next_run("ada") is None

    play(story())


def test_what_a_schedule_missed_in_sleep_is_run_once(world: World) -> None:
    async def story() -> None:
        timers = world.make()
        timers.cron("minutely", MINUTELY, world.call("minutely"), START)
        timers.cron("daily", "30 9 * * *", world.call("daily"), START)
        world.clock.sleep(hours=8)
        timers.woke()
        await until_async(lambda: bool(world.calls))
        await settle()
        assert world.calls == ["minutely"]

    play(story())


def test_ten_years_ahead_are_one_run_and_no_work(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five million runs were missed. APScheduler would enumerate them one by one."""
    asked: list[datetime] = []
    after = Crontab.after

    def counted(crontab: Crontab, moment: datetime, zone: tzinfo) -> datetime | None:
        asked.append(moment)
        return after(crontab, moment, zone)

    monkeypatch.setattr(Crontab, "after", counted)

    async def story() -> None:
        timers = world.make()
        timers.cron("minutely", MINUTELY, world.call("minutely"), START)
        world.clock.jump(days=3650)
        timers.woke()
        await until_async(lambda: bool(world.calls))
        await settle()
        assert world.calls == ["minutely"]
        assert len(asked) < 10
        assert world.next_run("minutely") == world.clock.now() + timedelta(minutes=1)

    play(story())


@pytest.mark.parametrize("hours", [-1, -24 * 3650])
def test_a_clock_that_is_set_back_does_not_silence_a_schedule(world: World, hours: int) -> None:
    async def story() -> None:
        timers = world.make()
        timers.cron("hourly", HOURLY, world.call("hourly"), START)
        world.clock.jump(hours=hours)
        timers.woke()
        await settle()
        assert world.next_run("hourly") == world.clock.now() + timedelta(hours=1)
        assert world.calls == []

    play(story())


def test_a_traveller_gets_the_time_of_the_place(world: World) -> None:
    async def story() -> None:
        timers = world.make()
        timers.cron("daily", "30 18 * * *", world.call("daily"), START)
        assert world.next_run("daily") == START.replace(hour=18, minute=30)
        world.zone = EAST
        timers.woke()
        assert world.next_run("daily") == START.replace(hour=13, minute=0)

    play(story())


def test_a_schedule_may_be_set_before_the_start(world: World) -> None:
    async def story() -> None:
        timers = Timers(asyncio.get_running_loop(), clock=world.clock, zone=lambda: UTC)
        timers.cron("hourly", HOURLY, world.call("hourly"), START - timedelta(days=1))
        await settle()
        assert world.calls == []
        timers.start()
        await until_async(lambda: bool(world.calls))

    play(story())


def test_what_is_no_schedule_is_refused_and_changes_nothing(world: World) -> None:
    async def story() -> None:
        timers = world.make()
        timers.cron("ada", HOURLY, world.call("ada"), START)
        with pytest.raises(ValueError, match="cron"):
            timers.cron("ada", "hourly", world.call("ada"), START)
        assert world.next_run("ada") == START + timedelta(hours=1)

    play(story())


def test_without_a_schedule_apscheduler_is_not_loaded() -> None:
    program = (
        "import asyncio, sys\n"
        "from lifeboat_core.health import sleep_ledger\n"
        "from lifeboat_daemon.schedule import cadence, clock_gaps\n"
        "from lifeboat_daemon.schedule.timers import Timers\n"
        "async def main():\n"
        "    timers = Timers(asyncio.get_running_loop())\n"
        "    timers.start()\n"
        "    timers.at('one', 0, lambda: None)\n"
        "    await timers.stop()\n"
        "asyncio.run(main())\n"
        "heavy = ('apscheduler', 'tzlocal', 'psutil', 'jeepney', 'tomlkit')\n"
        "heavy += ('lifeboat_formats', 'lifeboat_adapters', 'lifeboat_vault', 'lifeboat_keys', 'lifeboat_endpoint')\n"
        "print([name for name in sys.modules if name.partition('.')[0] in heavy])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=patience())
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


# Failures and the end ---------------------------------------------------------------------------------------------


def test_a_call_that_fails_is_told_and_stops_no_other(world: World) -> None:
    async def fail_later() -> None:
        raise ValueError("later")

    def fail() -> None:
        raise ValueError("at once")

    async def story() -> None:
        timers = world.make()
        timers.at("at once", 0, fail)
        timers.at("later", 0, fail_later)
        timers.cron("cron", HOURLY, fail, START - timedelta(days=1))
        timers.at("good", 0, world.call("good"))
        await until_async(lambda: len(world.failures) == 3 and world.calls == ["good"])
        assert {type(failure["exception"]) for failure in world.failures} == {ValueError}
        assert world.next_run("cron") == START + timedelta(hours=1)

    play(story())


def test_the_end_waits_for_what_was_begun_and_lets_nothing_begin(world: World) -> None:
    async def story() -> None:
        tasks = asyncio.all_tasks()
        timers = world.make()
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            begun.set()
            await may_end.wait()
            world.calls.append("done")

        timers.at("work", 0, work)
        await begun.wait()
        timers.at("later", 0, world.call("later"))
        timers.cron("cron", HOURLY, world.call("cron"), START - timedelta(days=1))
        stopping = asyncio.ensure_future(timers.stop())
        await settle()
        may_end.set()
        await stopping
        timers.at("too late", 0, world.call("too late"))
        timers.cron("too late", HOURLY, world.call("too late"), START - timedelta(days=1))
        await settle()
        assert world.calls == ["done"]
        assert world.failures == []
        assert asyncio.all_tasks() == tasks

    play(story())


def test_the_end_does_not_wait_for_ever(world: World) -> None:
    async def story() -> None:
        timers = world.make()
        begun = asyncio.Event()

        async def work() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                world.calls.append("cancelled")

        timers.at("work", 0, work)
        await begun.wait()
        await timers.stop(timeout=0.01)
        assert world.calls == ["cancelled"]

    play(story())
