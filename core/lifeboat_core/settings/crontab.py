"""The five fields of cron, with the meaning that cron gives them, in local time.

APScheduler finds the times. Three things are corrected: cron counts the days of the week from Sunday, it takes the day
of the month *or* the day of the week if both are given, and clock changes are handled. With a fixed hour a run happens
once, also if that hour comes twice (then the first time) or not at all (then when it is over). With `*` or `*/n` as the
hour, runs follow the elapsed time: in an hour that comes twice they happen twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo

from apscheduler.triggers.cron import CronTrigger

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_ANY = "*"
_FARTHEST = timedelta(days=9 * 366)
"""29 February is at most eight years away."""
_INSTANT = timedelta(microseconds=1)
_EXAMPLE = "a cron schedule with five fields, like '30 7 * * mon-fri'"


class Crontab:
    """A schedule. Raises ValueError for an invalid text, and for one that never comes true."""

    def __init__(self, text: str) -> None:
        fields = text.lower().split()
        if len(fields) != 5:
            raise ValueError(_EXAMPLE)
        try:
            self._triggers = [_trigger(*each) for each in _alternatives(fields)]
        except (ValueError, TypeError, IndexError):
            raise ValueError(_EXAMPLE) from None
        self._follows_the_clock = not fields[1].startswith(_ANY)
        if self._next_naive(datetime(2026, 1, 1)) is None:
            raise ValueError("a schedule that occurs at least once in the future")

    def after(self, moment: datetime, zone: tzinfo) -> datetime | None:
        """Return the first time after a moment (in UTC), in a time zone; None beyond the calendar."""
        try:
            return self._after_fixed(moment, zone) if self._follows_the_clock else self._after_passing(moment, zone)
        except OverflowError:
            return None

    def _after_fixed(self, moment: datetime, zone: tzinfo) -> datetime | None:
        found = self._next_naive(moment.astimezone(zone).replace(tzinfo=None, fold=0))
        while found is not None:
            real = _resolve(found, zone)
            if real > moment:
                return real
            found = self._next_naive(found)
        return None

    def _after_passing(self, moment: datetime, zone: tzinfo) -> datetime | None:
        """Follow elapsed time: between two clock changes, local time is UTC and a constant."""
        offset = _offset(moment, zone)
        while (found := self._next_naive(moment.replace(tzinfo=None) + offset)) is not None:
            real = (found - offset).replace(tzinfo=UTC)
            there = _offset(real, zone)
            if there == offset:
                return real
            moment, offset = _change(moment, real, zone) - _INSTANT, there
        return None

    def _next_naive(self, local: datetime) -> datetime | None:
        """Return the first local time after another one, as if clocks never changed."""
        at = local.replace(tzinfo=UTC) + _INSTANT
        found = [time for trigger in self._triggers if (time := _next(trigger, at)) is not None]
        return min(found).replace(tzinfo=None) if found else None


def _next(trigger: CronTrigger, at: datetime) -> datetime | None:
    trigger.end_date = at + _FARTHEST
    found: datetime | None = trigger.get_next_fire_time(None, at)
    return found


def _trigger(minute: str, hour: str, day: str, month: str, weekday: str) -> CronTrigger:
    return CronTrigger(minute=minute, hour=hour, day=day, month=month, day_of_week=weekday, timezone=UTC)


def _alternatives(fields: list[str]) -> Iterator[tuple[str, str, str, str, str]]:
    minute, hour, day, month, weekday = fields
    weekday = weekday if weekday == _ANY else ",".join(_weekdays(weekday))
    if day.startswith(_ANY) or weekday == _ANY:
        yield minute, hour, day, month, weekday
        return
    yield minute, hour, day, month, _ANY
    yield minute, hour, _ANY, month, weekday


def _weekdays(field: str) -> Iterator[str]:
    """Return the days of `1-5`, `sun,wed`, `fri-mon` or `*/2` by name."""
    for part in field.split(","):
        found = re.fullmatch(r"(\*|\w+)(?:-(\w+))?(?:/(\d+))?", part)
        if not found:
            raise ValueError(part)
        first, last, step = found[1], found[2], int(found[3] or 1)
        if first == _ANY:
            begin, end = 0, 6
        else:
            begin = _weekday(first)
            end = _weekday(last) if last else 6 if found[3] else begin
        if end < begin:
            end += 7
        yield from (_DAYS[day % 7] for day in range(begin, end + 1, step))


def _weekday(text: str) -> int:
    """Return a day from 0 to 7 or the first three letters; Sunday is 0 and 7."""
    number = int(text) if text.isdigit() else _DAYS.index(text)
    if number > 7:
        raise ValueError(text)
    return number


def _resolve(local: datetime, zone: tzinfo) -> datetime:
    """Return the moment of a local time: the first of two, and the end of the gap for a skipped one."""
    first = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    second = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return first if first <= second else _change(second, first, zone)


def _offset(moment: datetime, zone: tzinfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta()


def _change(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """Return the second in which the clocks change, between two moments with different offsets."""
    old = _offset(before, zone)
    while after - before > _INSTANT:
        middle = before + (after - before) // 2
        before, after = (middle, after) if _offset(middle, zone) == old else (before, middle)
    return after
