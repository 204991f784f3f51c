"""Which partition a record belongs to, and when a partition is sealed."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.memory import partitions
from lifeboat_alf.memory.partitions import PartitionLedger
from lifeboat_alf.states.agent_state import Partition

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
Q3 = Partition("memory/partitions/2026-Q3.jsonl", "2026-07-01", "2026-09-30", True)
Q4 = Partition("memory/partitions/2026-Q4.jsonl", "2026-10-01", None, False)


@pytest.mark.parametrize(
    ("moment", "granularity", "path"),
    [
        ("2026-01-01T00:00:00Z", "quarterly", "2026-Q1"),
        ("2026-03-31T23:59:59.999Z", "quarterly", "2026-Q1"),
        ("2026-04-01", "quarterly", "2026-Q2"),
        ("2026-12-31T23:30:00-02:00", "quarterly", "2027-Q1"),
        ("0987-12-31", "quarterly", "0987-Q4"),
        ("2026-02-28T12:00:00Z", "monthly", "2026-02"),
    ],
)
def test_a_partition_is_named_by_the_utc_day(moment, granularity, path):
    assert partitions.name_for(moment, granularity) == f"memory/partitions/{path}.jsonl"


def test_the_last_quarter_of_all_time_has_an_end():
    assert partitions.period_around(date(9999, 12, 1)) == (date(9999, 10, 1), date(9999, 12, 31))


def test_the_first_capture_fills_past_periods_and_seals_them_afterwards():
    ledger = PartitionLedger([], NOW, first_capture=True)
    assert ledger.place("2025-08-03").created_at == "2025-08-03T00:00:00.000Z"
    assert ledger.place("2025-07-09").partition.file.endswith("2025-Q3.jsonl")
    assert ledger.place("2026-11-19T08:00:00Z").partition.file.endswith("2026-Q4.jsonl")
    assert [item.last for item in ledger.seal()] == ["2025-09-30"]
    assert [(item.sealed, item.last) for item in ledger.partitions] == [(True, "2025-09-30"), (False, None)]
    assert ledger.changed


@pytest.mark.parametrize("wanted", ["2026-08-15", "2025-02-01", None, "2026-09-30T23:59:58Z"])
def test_a_late_arrival_of_a_closed_or_never_opened_period_is_dated_with_the_capture(wanted):
    placed = partitions.plan_partition(wanted, NOW, [Q3, Q4])
    assert placed == ("2026-11-20T12:00:00.000Z", Q4)


def test_a_day_of_the_open_period_is_kept():
    assert partitions.plan_partition("2026-10-02", NOW, [Q3, Q4]) == ("2026-10-02T00:00:00.000Z", Q4)


def test_nothing_is_dated_after_the_capture():
    assert partitions.plan_partition("2026-12-24", NOW, [Q4]).created_at == "2026-11-20T12:00:00.000Z"


def test_a_period_that_ended_is_sealed_at_the_next_capture_before_anything_is_placed():
    ledger = PartitionLedger([Q3, Q4], datetime(2027, 1, 1, 0, 0, 5, tzinfo=UTC))
    assert [item.file for item in ledger.seal()] == [Q4.file]
    placed = ledger.place("2026-12-31T23:59:58Z")
    assert placed.created_at == "2027-01-01T00:00:05.000Z"
    assert placed.partition == Partition("memory/partitions/2027-Q1.jsonl", "2027-01-01", None, False)


def test_the_last_day_of_a_period_belongs_to_it():
    assert partitions.seal_partitions([Q4], datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC)) == []


def test_a_switch_to_monthly_lets_the_open_quarter_keep_its_days_and_opens_the_month_after_them():
    ledger = PartitionLedger([Q3, Q4], NOW)
    ledger.switch("monthly")
    assert ledger.place().partition.file == Q4.file
    next_day = PartitionLedger(ledger.partitions, NOW + timedelta(days=1), "monthly")
    assert [(item.file, item.last, item.extra) for item in next_day.seal()] == [(Q4.file, "2026-11-20", {})]
    opened = next_day.place().partition
    assert (opened.file, opened.first) == ("memory/partitions/2026-11.jsonl", "2026-11-21")
    december = PartitionLedger(next_day.partitions, datetime(2026, 12, 3, tzinfo=UTC), "monthly")
    assert [item.last for item in december.seal()] == ["2026-11-30"]
    assert december.place().partition.first == "2026-12-01"


def test_a_switch_with_nothing_new_today_opens_the_month_at_once():
    ledger = PartitionLedger([Q4], NOW)
    ledger.switch("monthly", newest="2026-11-02T10:00:00Z")
    ledger.seal()
    assert ledger.place().partition == Partition("memory/partitions/2026-11.jsonl", "2026-11-03", None, False)


def test_back_to_quarterly_months_go_on_until_the_quarter_ends():
    october = Partition("memory/partitions/2026-10.jsonl", "2026-10-01", "2026-10-31", True)
    ledger = PartitionLedger([october], NOW)
    assert ledger.place().partition.file == "memory/partitions/2026-11.jsonl"
    ledger = PartitionLedger(ledger.partitions, datetime(2027, 2, 1, tzinfo=UTC))
    ledger.seal()
    assert ledger.place().partition.file == "memory/partitions/2027-Q1.jsonl"


def test_a_clock_that_fell_back_adds_nothing_to_what_is_sealed():
    ahead = Partition("memory/partitions/2036-Q4.jsonl", "2036-10-01", None, False)
    sealed = Partition(Q4.file, Q4.first, "2026-12-31", True)
    assert partitions.plan_partition(None, NOW, [sealed, ahead]) == ("2036-10-01T00:00:00.000Z", ahead)


def test_a_foreign_partition_that_is_unsealed_with_an_end_is_sealed_when_it_is_over():
    foreign = Partition("memory/2026-Q3.jsonl", "2026-07-01", "2026-09-30", False)
    assert partitions.seal_partitions([foreign], NOW)[0].sealed


def test_a_head_gives_its_partitions_back_with_what_is_unknown_in_them():
    item = {"file": Q3.file, "from": "2026-07-01", "to": "2026-09-30", "sealed": True, "x": [1]}
    assert [partitions.to_item(p) for p in partitions.from_head({"partitions": [item]})] == [item]


days = st.dates(date(2024, 1, 1), date(2028, 12, 31))


@given(st.lists(st.tuples(days, st.none() | days, st.booleans()), min_size=1, max_size=30))
def test_ranges_never_overlap_and_hold_what_was_placed_in_them(captures):
    known: list[Partition] = []
    placed: list[tuple[str, str]] = []
    for number, (today, wanted, monthly) in enumerate(sorted(captures, key=lambda item: item[0])):
        ledger = PartitionLedger(
            known, datetime(today.year, today.month, today.day, 9, tzinfo=UTC), "quarterly", number == 0
        )
        if monthly:
            ledger.switch("monthly")
        if number:
            ledger.seal()
        before = {item.file for item in ledger.partitions if item.sealed}
        made = ledger.place(wanted.isoformat() if wanted else None)
        assert made.partition.file not in before
        placed.append((made.created_at, made.partition.file))
        if not number:
            ledger.seal()
        known = ledger.partitions
    for earlier, later in itertools.pairwise(known):
        assert partitions.end_of(earlier) < date.fromisoformat(later.first)
    for created_at, file in placed:
        found = partitions.locate_partition(created_at, known)
        assert found is not None and found.file == file


def moments(around: tuple[str, ...]):
    return (
        st.none()
        | st.sampled_from(around)
        | st.datetimes(datetime(2024, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC)).map(datetime.isoformat)
    )


@given(
    st.lists(moments(("2026-11-20", "2026-11-20T12:00:00Z", "2026-10-01", "2026-09-30")), max_size=40), st.booleans()
)
def test_a_ledger_places_as_if_it_decided_every_time(wanted, first):
    ledger = PartitionLedger([] if first else [Q3, Q4], NOW, first_capture=first)
    for moment in wanted:
        before = ledger.partitions
        assert ledger.place(moment) == partitions.plan_partition(moment, NOW, before, first_capture=first)


def test_a_ledger_looks_once_for_all_moments_of_a_day(monkeypatch):
    asked: list[date] = []
    holding = partitions._holding
    monkeypatch.setattr(partitions, "_holding", lambda day, known: asked.append(day) or holding(day, known))
    ledger = PartitionLedger([Q3, Q4], NOW)
    assert len({ledger.place(f"2026-10-02T08:00:{second:02}Z").created_at for second in range(60)}) == 60
    assert asked == [date(2026, 10, 2)]


@pytest.mark.parametrize(
    ("file", "first"),
    [
        ("memory/partitions/2026-Q1.jsonl", "2026-01-01"),
        ("memory/partitions/2026-Q2.jsonl", "2026-04-01"),
        ("memory/partitions/2026-Q4.jsonl", "2026-10-01"),
        ("memory/partitions/2026-09.jsonl", "2026-09-01"),
    ],
)
def test_a_name_says_the_first_day_of_its_period(file: str, first: str) -> None:
    assert partitions.from_name(file) == partitions.Partition(file, first, None, False)
