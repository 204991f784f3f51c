"""Schedules as cron means them, in local time, also in the nights in which the clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_core.settings.crontab import Crontab
from lifeboat_daemon.schedule.local_time_zone import find_local_zone

BERLIN = ZoneInfo("Europe/Berlin")
BEFORE_SUMMER = datetime(2026, 3, 28, 23, 30, tzinfo=UTC)
"""00:30 in Berlin; at 02:00 it is 03:00."""
BEFORE_WINTER = datetime(2026, 10, 24, 22, 30, tzinfo=UTC)
"""00:30 in Berlin; at 03:00 it is 02:00 again."""


def runs(expression: str, after: datetime, count: int, zone: tzinfo = BERLIN) -> list[str]:
    """The next runs in local time: day, time, offset."""
    crontab, found, moment = Crontab(expression), [], after
    for _ in range(count):
        following = crontab.after(moment, zone)
        assert following is not None and following > moment and following.utcoffset() == timedelta()
        moment = following
        found.append(moment.astimezone(zone).strftime("%d %H:%M %z"))
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 * * * *", ["29 01:00 +0100", "29 03:00 +0200", "29 04:00 +0200"]),
        ("*/30 * * * *", ["29 01:00 +0100", "29 01:30 +0100", "29 03:00 +0200", "29 03:30 +0200"]),
        ("30 2 * * *", ["29 03:00 +0200", "30 02:30 +0200"]),
        ("*/20 2 * * *", ["29 03:00 +0200", "30 02:00 +0200", "30 02:20 +0200"]),
        ("0 3 * * *", ["29 03:00 +0200", "30 03:00 +0200"]),
        ("0,30 2,3 * * *", ["29 03:00 +0200", "29 03:30 +0200", "30 02:00 +0200"]),
    ],
)
def test_in_the_hour_that_is_left_out(expression: str, expected: list[str]) -> None:
    assert runs(expression, BEFORE_SUMMER, len(expected)) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 * * * *", ["25 01:00 +0200", "25 02:00 +0200", "25 02:00 +0100", "25 03:00 +0100"]),
        ("*/40 * * * *", ["25 00:40 +0200", "25 01:00 +0200", "25 01:40 +0200", "25 02:00 +0200", "25 02:40 +0200"]),
        ("30 2 * * *", ["25 02:30 +0200", "26 02:30 +0100"]),
        ("*/30 2 * * *", ["25 02:00 +0200", "25 02:30 +0200", "26 02:00 +0100"]),
        ("0 3 * * *", ["25 03:00 +0100", "26 03:00 +0100"]),
    ],
)
def test_in_the_hour_that_comes_twice(expression: str, expected: list[str]) -> None:
    assert runs(expression, BEFORE_WINTER, len(expected)) == expected


def test_in_the_second_of_the_two_hours_a_fixed_time_has_passed() -> None:
    second = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)
    assert runs("30 2 * * *", second, 1) == ["26 02:30 +0100"]
    assert runs("30 * * * *", second, 1) == ["25 02:30 +0100"]


def test_a_day_that_a_zone_left_out_is_made_up_for_when_it_is_over() -> None:
    """Samoa went from the 29th to the 31st of December 2011."""
    assert runs("0 12 30 12 *", datetime(2011, 12, 29, tzinfo=UTC), 1, ZoneInfo("Pacific/Apia")) == ["31 00:00 +1400"]


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 9 * * 1", ["Mon", "Mon"]),
        ("0 9 * * 0", ["Sun", "Sun"]),
        ("0 9 * * 7", ["Sun", "Sun"]),
        ("0 9 * * MON-fri", ["Mon", "Tue", "Wed", "Thu", "Fri", "Mon"]),
        ("0 9 * * fri-mon", ["Sat", "Sun", "Mon", "Fri"]),
        ("0 9 * * 5-7", ["Sat", "Sun", "Fri"]),
        ("0 9 * * */2", ["Sat", "Sun", "Tue", "Thu", "Sat"]),
        ("0 9 * * 1,wed", ["Mon", "Wed", "Mon"]),
    ],
)
def test_days_of_the_week_are_those_of_cron(expression: str, days: list[str]) -> None:
    saturday, crontab = datetime(2026, 6, 6, tzinfo=UTC), Crontab(expression)
    found: list[str] = []
    moment = saturday
    for _ in days:
        following = crontab.after(moment, UTC)
        assert following is not None
        moment = following
        found.append(moment.strftime("%a"))
    assert found == days


def test_a_day_of_the_month_and_one_of_the_week_are_either() -> None:
    assert runs("0 0 13 * 5", datetime(2026, 1, 1, tzinfo=UTC), 4, UTC) == [
        "02 00:00 +0000",
        "09 00:00 +0000",
        "13 00:00 +0000",
        "16 00:00 +0000",
    ]


@pytest.mark.parametrize(
    "expression",
    ["", "hourly", "* * * *", "* * * * * *", "61 * * * *", "0 24 * * *", "0 0 * * 8", "0 0 * * mon-", "* * * * */0"],
)
def test_what_is_no_schedule_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="a cron schedule with five fields"):
        Crontab(expression)


def test_a_day_that_never_comes_is_refused() -> None:
    with pytest.raises(ValueError, match="occurs at least once in the future"):
        Crontab("0 0 31 2 *")
    assert runs("0 0 29 2 *", datetime(2097, 1, 1, tzinfo=UTC), 1, UTC) == ["29 00:00 +0000"]


def test_beyond_the_calendar_there_is_no_run() -> None:
    assert Crontab("0 0 1 1 *").after(datetime(9999, 12, 31, 23, 30, tzinfo=UTC), BERLIN) is None
    assert Crontab("0 * * * *").after(datetime(9999, 12, 31, 23, 30, tzinfo=UTC), BERLIN) is None


EXPRESSIONS = ("*/7 * * * *", "13 */5 * * *", "30 2 * * *", "15 1,2,3 * * *", "0 0 1 * *", "0 12 * * sun")
ZONES = ("Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca", "UTC")


@given(st.datetimes(datetime(2015, 1, 1), datetime(2036, 1, 1)), st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES))
def test_runs_come_in_order_and_at_the_time_that_was_asked_for(moment: datetime, expression: str, name: str) -> None:
    zone, crontab, at = ZoneInfo(name), Crontab(expression), moment.replace(tzinfo=UTC)
    found = crontab.after(at, zone)
    assert found is not None and found > at
    between = at + (found - at) / 2
    assert crontab.after(between, zone) == found
    local = found.astimezone(zone)
    minute_before = (found - timedelta(minutes=1)).astimezone(zone)
    is_after_a_gap = local.utcoffset() != minute_before.utcoffset()
    if not is_after_a_gap:
        as_if_utc = local.replace(tzinfo=UTC)
        assert crontab.after(as_if_utc - timedelta(seconds=1), UTC) == as_if_utc


# The zone ---------------------------------------------------------------------------------------------------------


def test_the_zone_is_that_of_the_file_of_the_system(tmp_path: Path) -> None:
    system = tmp_path / "zoneinfo" / "Area" / "City"
    system.parent.mkdir(parents=True)
    system.write_bytes(_berlin())
    link = tmp_path / "localtime"
    link.symlink_to(system)
    zone = find_local_zone({}, link)
    assert str(zone) == "Area/City"
    assert datetime(2026, 7, 1, tzinfo=zone).utcoffset() == timedelta(hours=2)


@pytest.mark.parametrize("name", ["Europe/Berlin", ":Europe/Berlin"])
def test_the_environment_may_name_another(name: str, tmp_path: Path) -> None:
    assert str(find_local_zone({"TZ": name}, tmp_path / "none")) == "Europe/Berlin"


def test_the_environment_may_name_a_file(tmp_path: Path) -> None:
    (tmp_path / "zone").write_bytes(_berlin())
    zone = find_local_zone({"TZ": str(tmp_path / "zone")}, tmp_path / "none")
    assert datetime(2026, 7, 1, tzinfo=zone).utcoffset() == timedelta(hours=2)


@pytest.mark.parametrize("named", ["", "Nowhere/At All", "/no/such/file", "../../etc/passwd"])
def test_a_zone_that_cannot_be_read_is_one_that_can(named: str, tmp_path: Path) -> None:
    (tmp_path / "localtime").write_text("no zone")
    zone = find_local_zone({"TZ": named}, tmp_path / "localtime")
    assert datetime(2026, 7, 1, tzinfo=zone).utcoffset() is not None


def _berlin() -> bytes:
    import importlib.resources
    import zoneinfo

    for folder in zoneinfo.TZPATH:
        if (Path(folder) / "Europe" / "Berlin").exists():
            return (Path(folder) / "Europe" / "Berlin").read_bytes()
    return (importlib.resources.files("tzdata") / "zoneinfo" / "Europe" / "Berlin").read_bytes()
