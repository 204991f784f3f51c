"""What second copies need of an agent's history stays, within the vault's limit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.common import times
from lifeboat_core.history import thin_history
from lifeboat_core.remotes import acknowledged_states, remote_registry
from lifeboat_core.remotes.acknowledged_states import AcknowledgedState
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.settings import config_file
from support.core.protected import Protected

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SERVER = RemoteConfig("server", "https://sync.example.com", id="one")
NUMBERS = range(20)


def ago(**parts: float) -> str:
    return times.to_text(NOW - timedelta(**parts))


def kept(*remotes: tuple[RemoteConfig, AcknowledgedState]) -> set[int]:
    keep = thin_history.compute_needed(list(remotes), NOW)
    return {number for number in NUMBERS if keep(number)}


def test_without_a_remote_nothing_is_needed() -> None:
    assert kept() == set()


def test_what_a_remote_holds_and_what_it_has_not_yet_is_needed() -> None:
    assert kept((SERVER, AcknowledgedState(number=15, at=ago(days=1)))) == {15, 16, 17, 18, 19}


def test_what_one_of_several_remotes_has_is_no_longer_on_its_way() -> None:
    behind = (SERVER, AcknowledgedState(number=4, at=ago(days=9)))
    assert kept(behind, (SERVER, AcknowledgedState(number=17, at=ago(days=1)))) == {4, 17, 18, 19}


def test_what_is_on_its_way_to_one_of_several_remotes_is_needed_until_it_arrived() -> None:
    behind = (SERVER, AcknowledgedState(number=4, at=ago(days=9), sent={"number": 9, "digest": ""}))
    assert kept(behind, (SERVER, AcknowledgedState(number=17, at=ago(days=1)))) == {4, 9, 17, 18, 19}


def test_before_a_remote_has_anything_all_is_needed() -> None:
    assert kept((SERVER, AcknowledgedState())) == set(NUMBERS)


@pytest.mark.parametrize(("days", "is_needed"), [(89, True), (91, False)])
def test_a_remote_that_was_not_seen_for_90_days_needs_nothing(days: int, is_needed: bool) -> None:
    assert bool(kept((SERVER, AcknowledgedState(number=4, at=ago(days=days))))) is is_needed


def test_a_remote_that_is_read_back_was_seen() -> None:
    assert kept((SERVER, AcknowledgedState(number=19, at=ago(days=200), verified_at=ago(days=1)))) == {19}


@given(numbers=st.lists(st.none() | st.sampled_from(NUMBERS), min_size=1))
def test_the_next_delta_of_every_remote_can_always_be_made(numbers: list[int | None]) -> None:
    remotes = [(SERVER, AcknowledgedState(number=number, at=ago(days=1))) for number in numbers]
    assert {number for number in numbers if number is not None} <= kept(*remotes)


# In a vault ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    """A sequence every two minutes, ten of them, and two days later."""
    made = Protected(tmp_path)
    made.add(name="ada")
    remote_registry.save_remote(made.context, SERVER)
    for number in range(10):
        made.clock.advance(minutes=2)
        made.write("MEMORY.md", f"# Memory\n\nBoat {number}.\n")
        assert made.capture().changed
    made.clock.advance(days=2)
    return made


def numbers(ada: Protected) -> list[int]:
    with ada.context.vault(ada.agent.id) as vault:
        return [row.number for row in vault.sequences()]


def acknowledge(ada: Protected, number: int) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        acknowledged_states.note_acknowledged(vault, SERVER.id, number=number, at=ada.context.now())


def thinned(ada: Protected) -> list[int]:
    while thin_history.thin_if_due(ada.context, ada.agent) is not None:
        pass
    return numbers(ada)


def test_what_no_remote_has_is_not_thinned(ada: Protected) -> None:
    before = numbers(ada)
    assert thinned(ada) == before


def test_what_a_remote_has_is_thinned_but_for_where_it_stands(ada: Protected) -> None:
    acknowledge(ada, 6)
    left = thinned(ada)
    assert set(range(6, 11)) <= set(left) and not set(range(1, 6)) <= set(left)


def test_without_the_remote_all_is_thinned_as_before(ada: Protected) -> None:
    remote_registry.delete_remote(ada.context, SERVER.name)
    assert len(thinned(ada)) < 5


def test_where_there_is_no_room_what_was_not_sent_goes_last_and_that_is_said(ada: Protected) -> None:
    config_file.write_config(ada.context.home, ada.context.files, "vault.max_size", "1KB")
    said = thin_history.apply_retention(ada.context, ada.agent)
    assert any("before every remote had received them" in each for each in said), said
