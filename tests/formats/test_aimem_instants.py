"""Times of an AIMEM bundle, exact to the nanosecond."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.common import times
from lifeboat_formats.aimem.wire import instants

SECOND = 10**9


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("2026-04-01T09:30:00Z", 1775035800 * SECOND),
        ("2026-04-01T09:30Z", 1775035800 * SECOND),
        ("2026-04-01T09:30:00.5+00:00", 1775035800 * SECOND + 500_000_000),
        ("2026-04-01T09:30:00,123456789999Z", 1775035800 * SECOND + 123_456_789),
        ("2016-12-31T23:59:60Z", 1483228800 * SECOND),
    ],
)
def test_025_a_time_is_an_instant(text: str, nanoseconds: int) -> None:
    assert instants.parse_nanoseconds(text) == nanoseconds


@settings(max_examples=200, deadline=None)
@given(st.datetimes(timezones=st.just(UTC)), st.integers(0, 999))
def test_025_what_is_written_is_the_same_instant(moment: datetime, rest: int) -> None:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    value = (since // timedelta(microseconds=1)) * 1000 + rest
    assert instants.parse_nanoseconds(instants.format_nanoseconds(value)) == value
    assert times.parse_time(instants.format_nanoseconds(value)).replace(microsecond=0) == moment.replace(microsecond=0)


@settings(max_examples=100, deadline=None)
@given(st.integers())
def test_025_every_number_is_written_as_some_time(value: int) -> None:
    assert instants.is_instant(instants.format_nanoseconds(value))


def test_025_a_time_is_written_without_digits_that_say_nothing() -> None:
    assert instants.format_nanoseconds(1775035800 * SECOND) == "2026-04-01T09:30:00Z"
    assert instants.format_nanoseconds(1775035800 * SECOND + 120_000_000) == "2026-04-01T09:30:00.12Z"
    assert instants.normalize_instant("2026-04-01T09:30:00,500+00:00") == "2026-04-01T09:30:00.5Z"
    assert instants.parse_milliseconds("2026-04-01T09:30:00.0019Z") == 1775035800001


@pytest.mark.parametrize("value", [None, 1, b"2026-04-01T09:30:00Z", ["2026-04-01T09:30:00Z"], "2026-04-01T09:30:00"])
def test_025_what_is_no_time_is_none(value: object) -> None:
    assert not instants.is_instant(value)


@settings(max_examples=200, deadline=None)
@given(st.text("0123456789-:TZ.+, ", max_size=30))
def test_025_any_text_is_a_time_or_none(text: str) -> None:
    if instants.is_instant(text):
        assert isinstance(instants.parse_nanoseconds(text), int)
    else:
        with pytest.raises(instants.NotAnInstant):
            instants.parse_nanoseconds(text)
