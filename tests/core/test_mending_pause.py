"""When a remote that could not be mended is asked again."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.common import times
from lifeboat_core.remotes import mending_pause, retry_backoff
from lifeboat_core.remotes.mending_pause import LONGEST, MendingPause
from lifeboat_vault.remote.remote_contract import RemoteAgent

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
DAMAGE = "1 2  notes.md is not there"
MOST = LONGEST * (1.0 + retry_backoff.BY_CHANCE)


def paused(tries: int, seed: int = 0, now: datetime = NOW) -> MendingPause:
    """The pause after so many tries in a row that left the same."""
    pause: MendingPause | None = None
    for _ in range(tries):
        pause = mending_pause.extend_pause(pause, "a film", DAMAGE, now, random.Random(seed))
    assert pause is not None
    return pause


def seconds(pause: MendingPause, now: datetime = NOW) -> float:
    return (times.parse_time(pause.again_at) - now).total_seconds()


@given(st.integers(1, 60), st.integers(0, 2**32))
def test_the_pause_grows_from_a_minute_to_a_day_and_a_quarter(tries: int, seed: int) -> None:
    found = paused(tries, seed)
    assert found.tries == tries
    assert retry_backoff.FIRST <= seconds(found) <= MOST
    assert seconds(paused(tries + 1, seed)) >= seconds(found)


@given(st.integers(1, 60), st.floats(0.0, 2 * MOST))
def test_a_try_is_due_when_the_pause_is_over_and_not_before(tries: int, after: float) -> None:
    pause = paused(tries)
    now = NOW + timedelta(seconds=after)
    is_over = now >= times.parse_time(pause.again_at)
    assert mending_pause.is_mending_due(pause, DAMAGE, now, asked=False) == is_over
    assert mending_pause.is_mending_due(pause, DAMAGE, now, asked=True)


@given(st.integers(1, 60), st.text(max_size=20))
def test_another_damage_is_due_at_once(tries: int, damage: str) -> None:
    assert mending_pause.is_mending_due(paused(tries), damage, NOW, asked=False) == (damage != DAMAGE)


@given(st.integers(1, 60), st.text(max_size=20), st.integers(0, 2**32))
def test_the_pause_begins_anew_when_something_else_is_left(tries: int, left: str, seed: int) -> None:
    found = mending_pause.extend_pause(paused(tries), left, DAMAGE, NOW, random.Random(seed))
    assert found.tries == (tries + 1 if left == "a film" else 1)
    assert found.left == left


@given(st.integers(1, 60), st.floats(1.0, 1e8))
def test_a_pause_that_was_noted_under_a_clock_that_was_ahead_keeps_nobody_waiting_for_longer_than_a_pause(
    tries: int, ahead: float
) -> None:
    pause = paused(tries, now=NOW + timedelta(seconds=ahead))
    is_due = mending_pause.is_mending_due(pause, DAMAGE, NOW, asked=False)
    assert is_due == (seconds(pause) > MOST)


def test_before_any_try_it_is_due() -> None:
    assert mending_pause.is_mending_due(None, DAMAGE, NOW, asked=False)


def test_what_is_known_of_the_damage_changes_with_each_part_of_it() -> None:
    there = RemoteAgent("agent", "Ada", "openclaw", 1)
    every = {
        mending_pause.describe_known_damage(RemoteAgent("agent", "Ada", "openclaw", 1, **changed), found)
        for changed, found in (
            ({}, ""),
            ({}, "notes.md is not there"),
            ({"damaged": 1}, ""),
            ({"damaged_states": 1}, ""),
            ({"damage_found_at": "2026-11-28T12:00:00.000Z"}, ""),
        )
    }
    assert len(every) == 5 and mending_pause.describe_known_damage(there, "") in every
