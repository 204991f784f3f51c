"""How long the machine was awake: sleep, off times, lost ledgers, clocks that jump."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health import sleep_ledger
from lifeboat_core.health.agent_status import KeyFacts, StatusFacts, judge_agent
from lifeboat_core.home.context import Context
from support.core.protected import START, SteadyClock

HOUR = 3600.0


class FullDisk(SystemFiles):
    def write_new(self, *arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")


@pytest.fixture
def clock() -> SteadyClock:
    return SteadyClock()


@pytest.fixture
def context(tmp_path: Path, clock: SteadyClock) -> Context:
    return Context.open({"LIFEBOAT_HOME": str(tmp_path / "home")}, clock=clock)


def sleep(context: Context, clock: SteadyClock, hours: float) -> None:
    """Sleep, and what the daemon notes of it a moment later."""
    begin = clock.now()
    clock.sleep(hours=hours)
    sleep_ledger.note_sleep(context, begin, clock.now())


def hours_since(context: Context, **ago: float) -> float:
    return sleep_ledger.count_awake_seconds(context, context.clock.now() - timedelta(**ago)) / HOUR


def test_without_a_ledger_all_the_time_counts(context: Context, clock: SteadyClock) -> None:
    assert hours_since(context, hours=30) == 30
    assert sleep_ledger.find_wake_time(context) is None


def test_a_night_of_sleep_does_not_count(context: Context, clock: SteadyClock) -> None:
    sleep_ledger.note_start(context)
    clock.advance(hours=10)
    sleep(context, clock, 9)
    clock.advance(hours=5)
    assert hours_since(context, hours=24) == 15
    assert hours_since(context, hours=5) == 5
    assert hours_since(context, hours=8) == 5
    assert sleep_ledger.find_wake_time(context) == clock.now() - timedelta(hours=5)


def test_a_machine_that_was_off_was_not_awake(context: Context, clock: SteadyClock) -> None:
    sleep_ledger.note_start(context)
    clock.advance(hours=3)
    sleep_ledger.note_stop(context)
    clock.reboot(hours=40)
    before = hours_since(context, hours=42)
    sleep_ledger.note_start(context)
    assert before == hours_since(context, hours=42) == pytest.approx(2 + 10 / HOUR)
    assert sleep_ledger.find_wake_time(context) == clock.now()


def test_a_daemon_that_was_stopped_while_the_machine_ran_leaves_no_gap(context: Context, clock: SteadyClock) -> None:
    sleep_ledger.note_start(context)
    sleep_ledger.note_stop(context)
    clock.advance(hours=20)
    clock.sleep(hours=8)
    clock.advance(hours=2)
    assert hours_since(context, hours=30) == 22
    sleep_ledger.note_start(context)
    assert hours_since(context, hours=30) == 22
    assert sleep_ledger.find_wake_time(context) == clock.now()


def test_sleep_that_nobody_has_noted_yet_is_found_from_the_clocks(context: Context, clock: SteadyClock) -> None:
    sleep_ledger.note_start(context)
    clock.advance(hours=1)
    clock.sleep(hours=8)
    assert hours_since(context, hours=9) == 1
    assert sleep_ledger.find_wake_time(context) == clock.now()


def test_a_daemon_that_crashes_and_begins_again_gets_no_new_grace(context: Context, clock: SteadyClock) -> None:
    sleep_ledger.note_start(context)
    for _ in range(10):
        clock.advance(minutes=10)
        sleep_ledger.note_start(context)
    assert sleep_ledger.find_wake_time(context) == START
    assert hours_since(context, hours=1) == 1


def test_a_battery_that_ran_out_makes_overdue_come_earlier_and_gives_a_grace(
    context: Context, clock: SteadyClock
) -> None:
    sleep_ledger.note_start(context)
    clock.reboot(hours=40)
    sleep_ledger.note_start(context)
    assert hours_since(context, hours=40) == 40
    assert sleep_ledger.find_wake_time(context) == clock.now()


# What it is for ---------------------------------------------------------------------------------------------------


class Watched:
    """An agent with a copy that was verified now, and the word that the ledger makes of it."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.agent = Agent("01a202a2-0025-7e41-a333-cb4fba75b1a5", "ada", "openclaw", context.home.folder)
        now = context.now()
        self.facts = StatusFacts(sequence=1, last_captured_at=now, last_verified_at=now, verified_in="local")

    @property
    def state(self) -> str:
        awake_since = sleep_ledger.measure_awake_time(self.context, self.agent, self.facts)
        return judge_agent(self.facts, self.agent, KeyFacts(), self.context.clock.now(), awake_since).state


@pytest.fixture
def ada(context: Context) -> Watched:
    sleep_ledger.note_start(context)
    return Watched(context)


def test_a_weekend_of_sleep_makes_no_agent_overdue(ada: Watched, context: Context, clock: SteadyClock) -> None:
    clock.advance(hours=9)
    sleep(context, clock, 62)
    clock.advance(hours=14)
    assert ada.state == "ok"
    clock.advance(hours=2)
    assert ada.state == "overdue"


def test_a_weekend_off_makes_no_agent_overdue(ada: Watched, context: Context, clock: SteadyClock) -> None:
    clock.advance(hours=9)
    sleep_ledger.note_stop(context)
    clock.reboot(hours=62)
    sleep_ledger.note_start(context)
    clock.advance(hours=14)
    assert ada.state == "ok"


def test_after_seven_days_in_any_case_it_is_overdue_but_for_a_grace(
    ada: Watched, context: Context, clock: SteadyClock
) -> None:
    sleep(context, clock, 8 * 24)
    clock.advance(minutes=14)
    assert ada.state == "ok"
    clock.advance(minutes=2)
    assert ada.state == "overdue"


def test_a_daemon_that_crashes_all_the_time_hides_nothing(ada: Watched, context: Context, clock: SteadyClock) -> None:
    for _ in range(25 * 6):
        clock.advance(minutes=10)
        sleep_ledger.note_start(context)
    assert ada.state == "overdue"


# Faults -----------------------------------------------------------------------------------------------------------


def test_gaps_are_kept_for_eight_days(context: Context, clock: SteadyClock) -> None:
    sleep_ledger.note_start(context)
    for _ in range(20):
        clock.advance(hours=16)
        sleep(context, clock, 8)
    assert hours_since(context, days=7) == pytest.approx(7 * 16)
    assert len((context.home.state_folder / "awake.json").read_bytes()) < 1000


def test_gaps_that_overlap_count_once(context: Context, clock: SteadyClock) -> None:
    now = clock.now()
    sleep_ledger.note_sleep(context, now - timedelta(hours=6), now - timedelta(hours=2))
    sleep_ledger.note_sleep(context, now - timedelta(hours=5), now - timedelta(hours=1))
    assert hours_since(context, hours=10) == 5


@pytest.mark.parametrize("years", [-10, 10])
def test_a_clock_that_leaps_and_comes_back_costs_gaps_and_nothing_else(
    context: Context, clock: SteadyClock, years: int
) -> None:
    sleep_ledger.note_start(context)
    clock.advance(hours=1)
    sleep(context, clock, 8)
    clock.jump(days=365 * years)
    assert sleep_ledger.count_awake_seconds(context, clock.now() - timedelta(hours=3)) == 3 * HOUR
    assert sleep_ledger.count_awake_seconds(context, START) >= 0
    sleep(context, clock, 1)
    clock.jump(days=-365 * years)
    assert 0 <= hours_since(context, hours=9) <= 9
    sleep_ledger.note_start(context)
    assert sleep_ledger.find_wake_time(context) is None or sleep_ledger.find_wake_time(context) <= clock.now()


def test_a_moment_that_is_still_to_come_was_no_time_ago(context: Context, clock: SteadyClock) -> None:
    assert sleep_ledger.count_awake_seconds(context, clock.now() + timedelta(hours=1)) == 0


@pytest.mark.parametrize("content", [b"", b"{", b'{"gaps": 5}', b"[]", b'{"mark": {"wall": "soon"}}', b"\xff"])
def test_a_ledger_that_cannot_be_read_is_none(context: Context, content: bytes) -> None:
    (context.home.state_folder / "awake.json").write_bytes(content)
    assert hours_since(context, hours=30) == 30
    sleep_ledger.note_start(context)
    assert sleep_ledger.find_wake_time(context) == context.clock.now()


def test_on_a_full_disk_nothing_is_kept_and_nothing_fails(context: Context, clock: SteadyClock) -> None:
    full = Context(context.home, FullDisk(), clock, context.environment)
    sleep_ledger.note_start(full)
    sleep_ledger.note_sleep(full, clock.now() - timedelta(hours=1), clock.now())
    sleep_ledger.note_stop(full)
    assert not (context.home.state_folder / "awake.json").exists()
