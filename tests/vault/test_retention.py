from __future__ import annotations

import hashlib
import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.common import times
from lifeboat_vault.retention.retention_policy import sequences_to_drop
from lifeboat_vault.vault import Pin, Retention, SequenceRow
from support.vault.vaults import START

NOW = START


def row(
    number: int, moment: datetime, *, label: str | None = None, pin: Pin | None = None, content: str = ""
) -> SequenceRow:
    time = times.to_text(moment)
    digest = hashlib.sha256((content or str(number)).encode()).digest()
    return SequenceRow(number, None, 1, time, time, "capture", "w", digest, None, label, [pin] if pin else [], {}, 0)


def every(step: timedelta, count: int, **options: str) -> list[SequenceRow]:
    """Return `count` sequences, the last one now."""
    return [row(number, NOW - step * (count - 1 - number)) for number in range(count)]


def thinned(rows: list[SequenceRow], now: datetime = NOW, verified: int | None = None) -> list[SequenceRow]:
    """Return what is left after as many runs as needed."""
    while gone := sequences_to_drop(rows, Retention(), now, verified):
        assert len(gone) <= max(1, len(rows) // 10)
        rows = [item for item in rows if item.number not in gone]
    return rows


def ages(rows: list[SequenceRow]) -> list[timedelta]:
    return [NOW - times.parse_time(item.time) for item in rows]


def test_everything_of_a_day_is_kept() -> None:
    rows = every(timedelta(minutes=7), 200)
    assert thinned(rows) == rows


def test_then_hours_then_days_then_weeks() -> None:
    kept = ages(thinned(every(timedelta(minutes=60), 24 * 200)))
    day = timedelta(days=1)
    assert len([age for age in kept if age <= day]) == 25
    assert 6 * 24 <= len([age for age in kept if day < age <= 7 * day]) <= 6 * 24 + 1
    assert 83 <= len([age for age in kept if 7 * day < age <= 90 * day]) <= 85
    assert 15 <= len([age for age in kept if age > 90 * day]) <= 17


@pytest.mark.parametrize(
    ("limit", "before"),
    [
        (timedelta(hours=Retention().all_hours), timedelta(minutes=10)),
        (timedelta(days=Retention().hourly_days), timedelta(hours=2)),
        (timedelta(days=Retention().daily_days), timedelta(days=1)),
    ],
    ids=["everything", "hours", "days"],
)
def test_a_sequence_that_is_exactly_as_old_as_a_limit_is_within_it(limit: timedelta, before: timedelta) -> None:
    """So the one shortly before it, in the same longer period, is the last of that period and stays."""
    now = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
    rows = [row(0, now - limit - before), row(1, now - limit), row(2, now)]
    assert sequences_to_drop(rows, Retention(), now, None) == []
    assert sequences_to_drop(
        [rows[0], row(1, now - limit - timedelta(seconds=1)), rows[2]], Retention(), now, None
    ) == [0]


def test_the_last_of_each_period_is_the_one_that_stays() -> None:
    old = NOW - timedelta(days=40)
    rows = [row(number, old + timedelta(minutes=number)) for number in range(3)] + [row(3, NOW)]
    assert [item.number for item in thinned(rows)] == [2, 3]


def test_pins_labels_and_the_last_verified_stay_until_a_pin_runs_out() -> None:
    old = NOW - timedelta(days=40)
    rows = [
        row(0, old, pin=Pin(0, "held")),
        row(1, old, label="before the move"),
        row(2, old, pin=Pin(2, "safety", times.to_text(NOW + timedelta(hours=1)))),
        row(3, old, pin=Pin(3, "safety", times.to_text(NOW - timedelta(hours=1)))),
        row(4, old),
        row(5, old),
        row(6, old),
        row(7, NOW),
    ]
    assert [item.number for item in thinned(rows, verified=4)] == [0, 1, 2, 4, 6, 7]


def test_what_lies_in_the_future_of_the_trusted_time_stays() -> None:
    rows = every(timedelta(minutes=5), 50)
    assert thinned(rows, NOW - timedelta(days=2)) == rows


def test_a_wrong_time_costs_a_tenth_at_most() -> None:
    rows = every(timedelta(minutes=5), 100)
    assert len(sequences_to_drop(rows, Retention(), NOW + timedelta(days=3650), None)) == 10


@given(
    contents=st.lists(st.sampled_from("abc"), min_size=1, max_size=40),
    gaps=st.lists(st.integers(0, 4000), min_size=40, max_size=40),
    labelled=st.sets(st.integers(0, 40)),
)
def test_no_state_stands_twice_in_a_row_after_thinning(
    contents: list[str], gaps: list[int], labelled: set[int]
) -> None:
    moment, rows = NOW - timedelta(days=100), []
    for number, content in enumerate(contents):
        moment += timedelta(minutes=gaps[number])
        if not rows or content != contents[number - 1]:
            rows.append(row(number, moment, content=content, label="x" if number in labelled else None))
    kept = thinned(rows)
    assert all(one.digest != two.digest for one, two in itertools.pairwise(kept))
    assert kept[-1] == rows[-1] and all(item in kept for item in rows if item.label)


def _arrived(number: int, claimed: datetime, arrived: datetime) -> SequenceRow:
    return replace(row(number, claimed), raw_time=times.to_text(arrived))


def test_what_a_machine_brings_after_months_is_as_young_as_its_arrival() -> None:
    away = [_arrived(number, NOW - timedelta(days=60, hours=-number), NOW) for number in range(30)]
    assert thinned(away, NOW + timedelta(hours=1)) == away


def test_later_it_is_thinned_by_the_times_at_which_it_was_captured() -> None:
    away = [_arrived(number, NOW - timedelta(days=60 - number), NOW) for number in range(30)]
    assert thinned(away, NOW + timedelta(days=30)) == away, "one a day"


def test_a_client_that_claims_one_time_for_all_loses_no_more_than_its_arrivals_allow() -> None:
    claimed = NOW - timedelta(days=400)
    rows = [_arrived(number, claimed, NOW - timedelta(days=40 - number)) for number in range(40)]
    assert thinned(rows) == rows, "one a day arrived"


def test_what_was_captured_under_a_clock_that_was_ahead_is_thinned_by_what_the_clock_said() -> None:
    ahead = NOW + timedelta(days=3650)
    rows = [_arrived(number, ahead, NOW - timedelta(days=60, minutes=-number)) for number in range(20)]
    assert [one.number for one in thinned(rows)][-1] == 19
    assert len(thinned(rows)) < len(rows)
