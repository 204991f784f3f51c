"""Sleep and jumps of the wall clock, found from three clocks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_daemon.schedule.clock_gaps import ClockGap, ClockGapDetector
from support.core.protected import SteadyClock

HOUR, YEAR = 3600.0, 365 * 86400.0


@pytest.fixture
def clock() -> SteadyClock:
    return SteadyClock()


@pytest.fixture
def gaps(clock: SteadyClock) -> ClockGapDetector:
    return ClockGapDetector(clock)


def test_an_hour_without_anything_is_no_gap(gaps: ClockGapDetector, clock: SteadyClock) -> None:
    for _ in range(60):
        clock.advance(minutes=1)
        assert gaps.look() is None


@pytest.mark.parametrize("hours", [0.01, 8, 24 * 14])
def test_sleep_is_found_once_and_to_the_second(gaps: ClockGapDetector, clock: SteadyClock, hours: float) -> None:
    clock.advance(seconds=20)
    clock.sleep(hours=hours)
    clock.advance(seconds=40)
    found = gaps.look()
    assert found is not None
    assert found == (pytest.approx(hours * HOUR), 0.0)
    clock.advance(minutes=1)
    assert gaps.look() is None


def test_short_naps_are_added_up(gaps: ClockGapDetector, clock: SteadyClock) -> None:
    found = []
    for _ in range(10):
        clock.advance(minutes=1)
        clock.sleep(seconds=2)
        found.append(gaps.look())
    assert sum(gap.slept for gap in found if gap) == pytest.approx(18)
    assert sum(1 for gap in found if gap) == 3


@pytest.mark.parametrize("seconds", [HOUR, -HOUR, 10 * YEAR, -10 * YEAR, 15.0])
def test_a_jump_of_the_wall_clock_is_found_once_and_is_no_sleep(
    gaps: ClockGapDetector, clock: SteadyClock, seconds: float
) -> None:
    clock.advance(minutes=1)
    clock.jump(seconds=seconds)
    assert gaps.look() == ClockGap(0.0, seconds)
    clock.advance(minutes=1)
    assert gaps.look() is None


def test_a_leap_and_the_way_back_are_two_jumps(gaps: ClockGapDetector, clock: SteadyClock) -> None:
    clock.jump(days=3650)
    assert gaps.look() == ClockGap(0.0, 3650 * 86400.0)
    clock.jump(days=-3650)
    assert gaps.look() == ClockGap(0.0, -3650 * 86400.0)


def test_a_clock_that_is_kept_right_does_not_jump(gaps: ClockGapDetector, clock: SteadyClock) -> None:
    for _ in range(120):
        clock.advance(minutes=1)
        clock.jump(seconds=0.5)
        assert gaps.look() is None


def test_sleep_with_a_wall_clock_set_meanwhile_is_both(gaps: ClockGapDetector, clock: SteadyClock) -> None:
    clock.sleep(hours=8)
    clock.jump(hours=-1)
    assert gaps.look() == ClockGap(8 * HOUR, -HOUR)


def test_clocks_that_all_stand_still_are_no_gap(gaps: ClockGapDetector) -> None:
    assert [gaps.look() for _ in range(3)] == [None, None, None]


def test_a_wall_clock_that_stands_still_jumps_back_once_and_ahead_when_it_is_set(
    gaps: ClockGapDetector, clock: SteadyClock
) -> None:
    found = []
    for _ in range(5):
        clock.advance(minutes=1)
        clock.jump(minutes=-1)
        found.append(gaps.look())
    assert found == [ClockGap(0.0, -60.0), None, None, None, None]
    clock.advance(minutes=1)
    clock.jump(minutes=5)
    assert gaps.look() == ClockGap(0.0, 300.0)


def test_summer_time_is_no_jump(clock: SteadyClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    clock.moment = datetime(2026, 3, 29, 0, 59, 30, tzinfo=UTC)
    gaps = ClockGapDetector(clock)
    clock.advance(minutes=1)
    assert gaps.look() is None


def test_the_clocks_of_this_machine_agree() -> None:
    clock = SystemClock()
    gaps = ClockGapDetector(clock)
    assert gaps.look() is None
    assert clock.since_boot() >= clock.monotonic() - 1
