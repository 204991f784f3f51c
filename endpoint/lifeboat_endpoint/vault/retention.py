"""Which sequences thinning lets go. Pure: rows and a trusted time in, numbers out."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from lifeboat_alf import times
from lifeboat_endpoint.vault.rows import SequenceRow

LARGEST_SHARE = 10
"""One run drops at most one part in ten, so that a wrong time cannot cost the history."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Keep all sequences of `all_hours`, then the last of each hour for `hourly_days`, of each day for `daily_days`,
    and of each week for ever. Ages count from the trusted time."""

    all_hours: int = 24
    hourly_days: int = 7
    daily_days: int = 90


SHORT_OF_ROOM = Retention(all_hours=1, hourly_days=1, daily_days=30)
"""The longest that history may be while there is no room."""


def shorter(policy: Retention) -> Retention:
    """What a policy keeps while there is no room."""
    return Retention(
        min(policy.all_hours, SHORT_OF_ROOM.all_hours),
        min(policy.hourly_days, SHORT_OF_ROOM.hourly_days),
        min(policy.daily_days, SHORT_OF_ROOM.daily_days),
    )


def to_drop(
    rows: list[SequenceRow],
    retention: Retention,
    now: datetime,
    verified: int | None,
    keep: Callable[[int], bool] = lambda _: False,
) -> list[int]:
    """Numbers to drop, oldest first. `rows` are all kept sequences in order; the head, pinned and labelled ones,
    `verified` and what `keep` says stay, and so does the last of each period."""
    period = _periods(retention, now)
    last_of = {period(row): row.number for row in rows}
    spare = {row.number for row in rows if not is_protected(row, now)} - {*last_of.values(), verified}
    spare = {number for number in spare if not keep(number)}
    return _without_twins(rows, spare)[: max(1, len(rows) // LARGEST_SHARE)]


def _without_twins(rows: list[SequenceRow], spare: set[int]) -> list[int]:
    """The spare ones, but for those between two equal states: without them one state would stand twice in a row."""
    drop: list[int] = []
    before: bytes | None = None
    for row, following in itertools.pairwise(rows):
        if row.number in spare and following.digest != before:
            drop.append(row.number)
        else:
            before = row.digest
    return drop


def _periods(retention: Retention, now: datetime) -> Callable[[SequenceRow], tuple[object, ...]]:
    """The period of which the last sequence is kept; one of its own for everything recent (or in the future)."""
    every, hourly = now - timedelta(hours=retention.all_hours), now - timedelta(days=retention.hourly_days)
    daily = now - timedelta(days=retention.daily_days)

    def period(row: SequenceRow) -> tuple[object, ...]:
        moment = times.parse(row.time)
        if moment >= every:
            return ("all", row.number)
        if moment >= hourly:
            return ("hour", moment.year, moment.month, moment.day, moment.hour)
        if moment >= daily:
            return ("day", moment.year, moment.month, moment.day)
        return ("week", *moment.isocalendar()[:2])

    return period


def is_protected(row: SequenceRow, now: datetime | None) -> bool:
    """Labelled, or pinned by a pin that has not run out; without a trusted `now` none has."""
    return row.label is not None or any(
        pin.until is None or now is None or times.parse(pin.until) > now for pin in row.pins
    )
