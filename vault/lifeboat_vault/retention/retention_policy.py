"""Decide which sequences to thin. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from lifeboat_alf.common import times
from lifeboat_vault.rows.sequence_rows import SequenceRow

LARGEST_SHARE = 10
"""One run drops at most one sequence in ten, so that a wrong time cannot cost the history."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Keep all sequences of `all_hours`, then the last of each hour for `hourly_days`, of each day for `daily_days`,
    and of each week for ever. Ages are relative to the trusted time."""

    all_hours: int = 24
    hourly_days: int = 7
    daily_days: int = 90


SHORT_OF_ROOM = Retention(all_hours=1, hourly_days=1, daily_days=30)
"""Longest retention while the disk is full."""


def shorten_retention(policy: Retention) -> Retention:
    """Return the retention while the disk is full."""
    return Retention(
        min(policy.all_hours, SHORT_OF_ROOM.all_hours),
        min(policy.hourly_days, SHORT_OF_ROOM.hourly_days),
        min(policy.daily_days, SHORT_OF_ROOM.daily_days),
    )


def sequences_to_drop(
    rows: list[SequenceRow],
    retention: Retention,
    now: datetime,
    verified: int | None,
    keep: Callable[[int], bool] = lambda _: False,
) -> list[int]:
    """Return the numbers to drop, oldest first. `rows` are all kept sequences in order. The head, pinned and labelled
    ones, `verified`, what `keep` accepts, and the last of each period stay."""
    period = _periods(retention, now)
    # A sequence stays when it is the last of its period by either time: the writer's time may be wrong, and the states
    # that a machine pushes after weeks all arrive in one hour.
    last_of = {period(row, row.time): row.number for row in rows} | {
        period(row, row.raw_time, by_arrival=True): row.number for row in rows
    }
    spare = {row.number for row in rows if not is_protected(row, now)} - {*last_of.values(), verified}
    spare = {number for number in spare if not keep(number)}
    return _without_twins(rows, spare)[: max(1, len(rows) // LARGEST_SHARE)]


def _without_twins(rows: list[SequenceRow], spare: set[int]) -> list[int]:
    """Return the spare sequences, except those between two equal states: without them one state would occur twice in a
    row."""
    drop: list[int] = []
    before: bytes | None = None
    for row, following in itertools.pairwise(rows):
        if row.number in spare and following.digest != before:
            drop.append(row.number)
        else:
            before = row.digest
    return drop


class _Period(Protocol):
    """Function that returns the period of a sequence."""

    def __call__(self, row: SequenceRow, time: str, *, by_arrival: bool = False) -> tuple[object, ...]: ...


def _periods(retention: Retention, now: datetime) -> _Period:
    """Return the function that maps a sequence to its period, of which the last one is kept; recent ones have periods
    of their own. Ages follow this vault's clock, never a client's (`_age_from`)."""
    every, hourly = now - timedelta(hours=retention.all_hours), now - timedelta(days=retention.hourly_days)
    daily = now - timedelta(days=retention.daily_days)

    def period(row: SequenceRow, time: str, *, by_arrival: bool = False) -> tuple[object, ...]:
        since, moment = _age_from(row, now), times.parse_time(time)
        if since >= every:
            return ("all", row.number)
        if since >= hourly:
            return (by_arrival, "hour", moment.year, moment.month, moment.day, moment.hour)
        if since >= daily:
            return (by_arrival, "day", moment.year, moment.month, moment.day)
        return (by_arrival, "week", *moment.isocalendar()[:2])

    return period


def _age_from(row: SequenceRow, now: datetime) -> datetime:
    """Return the time from which the age of a sequence counts: its arrival, if it came from elsewhere; the clock's
    time, if its own is ahead of that; otherwise its own time, which a clock set back does not affect."""
    time, raw_time = times.parse_time(row.time), times.parse_time(row.raw_time)
    return raw_time if raw_time > time or time > now else time


def is_protected(row: SequenceRow, now: datetime | None) -> bool:
    """Return whether a sequence is labelled, or pinned by a pin that has not expired. Without a trusted `now` no pin
    expires."""
    return row.label is not None or any(
        pin.until is None or now is None or times.parse_time(pin.until) > now for pin in row.pins
    )
