"""Which signed sequences may be appended to a history."""

from __future__ import annotations

import hashlib

import pytest

from lifeboat_alf.states.agent_state import Sequence
from lifeboat_endpoint.service.append_rules import LARGEST_FIRST, MOST_NUMBERS, check_fit, is_head
from lifeboat_vault.errors import EpochBehind, RemoteRefused, StaleBase
from lifeboat_vault.remote.remote_contract import MOST_EPOCHS
from lifeboat_vault.vault import SequenceRow

TIME = "2026-11-20T09:00:00.000Z"


def digest(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


def signed(number: int, *, epoch: int = 3) -> Sequence:
    return Sequence("ada", number, None, epoch, TIME, digest(number))


HEAD = SequenceRow(7, 6, 3, TIME, TIME, "capture", "w", digest(7), None, None, [], {}, 0)


@pytest.mark.parametrize("number", [8, 9, 7 + MOST_NUMBERS])
def test_a_later_number_follows_the_head(number: int) -> None:
    check_fit(signed(number), 7, HEAD, 3)


@pytest.mark.parametrize("number", [0, 6, 7])
def test_a_number_that_is_not_later_is_refused(number: int) -> None:
    with pytest.raises(RemoteRefused, match="cannot follow sequence 7"):
        check_fit(signed(number), 7, HEAD, 3)


def test_a_number_far_beyond_the_head_is_refused() -> None:
    with pytest.raises(RemoteRefused, match="at most"):
        check_fit(signed(8 + MOST_NUMBERS), 7, HEAD, 3)


def test_a_history_begins_with_any_number_up_to_a_limit() -> None:
    check_fit(signed(LARGEST_FIRST), None, None, 3)
    with pytest.raises(RemoteRefused, match="at most"):
        check_fit(signed(LARGEST_FIRST + 1), None, None, 3)


@pytest.mark.parametrize("base", [None, 6, 8])
def test_another_base_than_the_head_is_stale(base: int | None) -> None:
    with pytest.raises(StaleBase):
        check_fit(signed(8), base, HEAD, 3)


def test_a_base_without_a_history_is_stale() -> None:
    with pytest.raises(StaleBase):
        check_fit(signed(8), 7, None, 3)


def test_an_epoch_that_is_over_is_refused_before_anything_else() -> None:
    with pytest.raises(EpochBehind):
        check_fit(signed(7, epoch=2), 5, HEAD, 3)


def test_an_epoch_may_be_ahead_by_a_little() -> None:
    check_fit(signed(8, epoch=3 + MOST_EPOCHS), 7, HEAD, 3)
    with pytest.raises(RemoteRefused, match="too high"):
        check_fit(signed(8, epoch=4 + MOST_EPOCHS), 7, HEAD, 3)


def test_only_the_same_number_and_digest_are_the_head() -> None:
    assert is_head(signed(7), HEAD)
    assert not is_head(signed(8), HEAD) and not is_head(signed(7), None)
    assert not is_head(Sequence("ada", 7, None, 3, TIME, digest(8)), HEAD)
    assert not is_head(Sequence("ada", 7, None, 3, TIME, b""), HEAD)
