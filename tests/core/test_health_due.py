"""What is due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.common import times
from lifeboat_core.health import due_checks
from lifeboat_core.health.due_checks import SAMPLE, WHOLE

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = 86400.0


def ago(days: float) -> str:
    return times.to_text(NOW - timedelta(days=days))


def found(verified: float | None, whole: float | None, added: float | None = 100) -> str | None:
    """What is due when a copy was verified, whole, so many days ago."""
    last, last_whole, since = (None if each is None else ago(each) for each in (verified, whole, added))
    return due_checks.choose_due_verification(last, last_whole, DAY, 30 * DAY, NOW, added_at=since)


@pytest.mark.parametrize(
    ("verified", "whole", "added", "expected"),
    [
        (None, None, 0, SAMPLE),
        (None, None, 100, SAMPLE),
        (0.5, 3, 100, None),
        (1.0, 3, 100, SAMPLE),
        (0.5, 30, 100, WHOLE),
        (0.5, None, 1, None),
        (0.5, None, 31, WHOLE),
        (0.5, None, None, WHOLE),
        (-300, 3, 100, SAMPLE),
        (0.5, -300, 100, WHOLE),
    ],
)
def test_a_sample_every_day_and_everything_every_month(
    verified: float | None, whole: float | None, added: float | None, expected: str | None
) -> None:
    assert found(verified, whole, added) == expected


@given(verified=st.floats(0, 60), whole=st.floats(0, 60), more=st.floats(0, 60))
def test_what_is_due_stays_due(verified: float, whole: float, more: float) -> None:
    before, after = found(verified, whole), found(verified + more, whole + more)
    assert before in (None, after) or after == WHOLE


def test_a_whole_verification_waits_two_weeks_at_most() -> None:
    assert due_checks.can_defer_whole(ago(30), None, 30 * DAY, NOW)
    assert due_checks.can_defer_whole(ago(43.9), None, 30 * DAY, NOW)
    assert not due_checks.can_defer_whole(ago(44), None, 30 * DAY, NOW)
    assert not due_checks.can_defer_whole(None, ago(50), 30 * DAY, NOW)


def test_the_ping_is_called_as_often_as_the_setting_says() -> None:
    assert due_checks.is_ping_due(None, 3600, NOW)
    assert not due_checks.is_ping_due(ago(0.01), 3600, NOW)
    assert due_checks.is_ping_due(ago(0.05), 3600, NOW)
    assert due_checks.is_ping_due(ago(-300), 3600, NOW), "a clock that was wrong"
