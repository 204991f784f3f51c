from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lifeboat_vault.at_rest import data_key_cache
from lifeboat_vault.at_rest.data_key_cache import DataKeyCache, UnwrappedKey, drop_when_refused
from lifeboat_vault.at_rest.key_sources import key_service
from lifeboat_vault.errors import KeyRevoked, KeySourceAway
from support.endpoint import sealed
from support.endpoint.sealed import (
    AGENT,
    OTHER_AGENT,
    OTHER_TENANT,
    TENANT,
    MovingClock,
    data_keys,
    key_file,
    opened_keys,
)
from support.patience import patience
from support.vault.fake_transit import FakeTransit, fake_transit
from support.vault.key_places import KINDS, KeyPlace, key_place
from support.waiting import until

KEY = bytes(range(32))
ID, OTHER_ID = "0123456789ab", "ba9876543210"
SOURCE = "transit:https://vault.example.com/transit/keys/customer"


class Source:
    """Gives one key, unless told to refuse."""

    def __init__(self, clock: MovingClock, spec: str = SOURCE, tenant: str = TENANT) -> None:
        self.asked: list[str] = []
        self.refuses: Exception | None = None
        self.slow = threading.Event()
        self.slow.set()
        self._spec = spec
        self.held = DataKeyCache(tenant, self.ask, clock)

    def ask(self, key_id: str) -> UnwrappedKey:
        self.asked.append(key_id)
        self.slow.wait(patience())
        with drop_when_refused(self._spec):
            if self.refuses is not None:
                raise self.refuses
            return UnwrappedKey(KEY, self._spec, 300.0)


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


def test_a_key_is_asked_for_once_until_its_time_is_over(clock: MovingClock) -> None:
    source = Source(clock)
    first = source.held.of(ID, AGENT)
    assert source.held.of(ID, AGENT) is first and source.held.of(ID, OTHER_AGENT) != first and source.asked == [ID]
    clock.advance(seconds=300)
    assert source.held.of(ID, AGENT) == first and source.asked == [ID, ID]


def test_a_refusal_takes_every_key_of_the_source_from_every_tenant(clock: MovingClock) -> None:
    one, other = Source(clock), Source(clock, tenant=OTHER_TENANT)
    elsewhere = Source(clock, spec="file:/etc/lifeboat/endpoint.key", tenant=OTHER_TENANT)
    for source in (one, other, elsewhere):
        source.held.of(OTHER_ID, AGENT)
    one.refuses = other.refuses = KeyRevoked("no")
    with pytest.raises(KeyRevoked):
        one.held.of(ID, AGENT)
    for source in (one, other):
        with pytest.raises(KeyRevoked):
            source.held.of(OTHER_ID, AGENT)
    elsewhere.held.of(OTHER_ID, AGENT)
    assert elsewhere.asked == [OTHER_ID]


def test_a_refusal_of_one_key_leaves_the_others(clock: MovingClock) -> None:
    source = Source(clock)
    source.held.of(OTHER_ID, AGENT)
    source.refuses = KeyRevoked("too old", only_this=True)
    with pytest.raises(KeyRevoked):
        source.held.of(ID, AGENT)
    source.held.of(OTHER_ID, AGENT)


def test_a_source_that_is_away_takes_nothing(clock: MovingClock) -> None:
    source = Source(clock)
    source.held.of(OTHER_ID, AGENT)
    source.refuses = KeySourceAway("nobody there")
    with pytest.raises(KeySourceAway):
        source.held.of(ID, AGENT)
    source.held.of(OTHER_ID, AGENT)
    clock.advance(seconds=300)
    with pytest.raises(KeySourceAway):
        source.held.of(OTHER_ID, AGENT)


def test_many_threads_that_need_one_key_ask_once(clock: MovingClock) -> None:
    source = Source(clock)
    source.slow.clear()
    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(source.held.of, ID, AGENT) for _ in range(8)]
        time.sleep(0.1)
        source.slow.set()
        assert len({each.result() for each in found}) == 1
    assert source.asked == [ID]


def test_who_waits_for_another_threads_question_waits_a_limited_time(
    clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_key_cache, "_PATIENCE", 0.05)
    source = Source(clock)
    source.slow.clear()
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(source.held.of, ID, AGENT)
        until(lambda: source.asked, "the question")
        with pytest.raises(KeySourceAway):
            source.held.of(ID, OTHER_AGENT)
        source.slow.set()
        asking.result()
    source.held.of(ID, OTHER_AGENT)


def test_what_is_let_go_of_is_overwritten(clock: MovingClock) -> None:
    source = Source(clock)
    source.held.of(ID, AGENT)
    held = source.held._held[ID]
    kept = held._key
    view = bytes(kept)
    source.held.drop([ID])
    assert view == KEY and kept == b"" and held.following(ID, TENANT, AGENT) is None


def test_what_nobody_used_until_its_time_was_over_goes_with_the_next_question(clock: MovingClock) -> None:
    idle, busy = Source(clock), Source(clock, tenant=OTHER_TENANT)
    idle.held.of(ID, AGENT)
    clock.advance(seconds=301)
    busy.held.of(ID, AGENT)
    assert idle.held._held == {}


def test_keys_of_tenants_that_are_closed_are_not_kept(clock: MovingClock) -> None:
    source = Source(clock)
    source.held.of(ID, AGENT)
    held = source.held
    assert held in data_key_cache._every()
    del source, held
    gc.collect()
    assert all(not each._held for each in data_key_cache._every() if each._clock is clock)


def test_keys_are_shown_nowhere(clock: MovingClock) -> None:
    source = Source(clock)
    keys = source.held.of(ID, AGENT)
    assert repr(keys) == "SealingKeys()" and repr(KEY) not in repr(UnwrappedKey(KEY, SOURCE, 300.0))


# With data keys -------------------------------------------------------------------------------------------------------


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KeyPlace]:
    with key_place(request.param, tmp_path, monkeypatch) as found:
        monkeypatch.setattr(sealed, "make_source", lambda folder: found.spec)
        yield found


def test_what_one_question_shows_to_be_taken_away_is_gone_for_everybody(tmp_path: Path, place: KeyPlace) -> None:
    clock = MovingClock()
    sealers = [data_keys(tmp_path, tenant, clock=clock).sealer(AGENT) for tenant in (TENANT, OTHER_TENANT)]
    place.take_away()
    for sealer in sealers:
        sealer.seal("body", b"still held")
    with pytest.raises(KeyRevoked):
        opened_keys(tmp_path, clock=clock).sealer(AGENT)
    for sealer in sealers:
        with pytest.raises(KeyRevoked, match=place.told):
            sealer.seal("body", b"secret")
    place.give_back()
    for sealer in sealers:
        sealer.seal("body", b"secret")


@pytest.fixture
def transit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTransit]:
    with fake_transit(monkeypatch) as made:
        yield made


def test_a_source_that_is_away_is_no_revocation(
    tmp_path: Path, transit: FakeTransit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_service, "_AWAY_SECONDS", 0.0)
    clock = MovingClock()
    keys = data_keys(tmp_path, source=transit.spec(), clock=clock)
    sealer = keys.sealer(AGENT)
    transit.fails = 503
    sealer.seal("body", b"still held")
    clock.advance(seconds=301)
    with pytest.raises(KeySourceAway):
        sealer.seal("body", b"secret")
    with pytest.raises(KeySourceAway):
        keys.rotate()
    with pytest.raises(KeySourceAway):
        keys.move(key_file(tmp_path))
    transit.fails = None
    sealer.seal("body", b"secret")
    assert len(keys.ids()) == 1


def test_a_data_key_is_asked_for_once_by_all_agents(tmp_path: Path, transit: FakeTransit) -> None:
    keys = data_keys(tmp_path, source=transit.spec())
    for agent in (None, AGENT, OTHER_AGENT):
        keys.sealer(agent).seal("body", b"secret")
    assert transit.operations == ["encrypt", "decrypt"]


def test_others_change_keys_while_a_source_far_away_is_asked(tmp_path: Path, transit: FakeTransit) -> None:
    """No lock or transaction is held while the service takes its time."""
    keys = data_keys(tmp_path, source=transit.spec(), scope="agent")
    keys.sealer(AGENT)
    began, go_on = threading.Event(), threading.Event()
    answer = transit.reply

    def slowly(handler: Any) -> None:
        if not began.is_set():
            began.set()
            go_on.wait(patience())
        answer(handler)

    transit.server.replies = [slowly]
    with ThreadPoolExecutor(1) as pool:
        rotating = pool.submit(keys.rotate)
        assert began.wait(patience())
        other = opened_keys(tmp_path)
        made = other.sealer(OTHER_AGENT).key_id
        go_on.set()
        rotating.result()
    assert keys.current(OTHER_AGENT) != made and len(keys.ids()) == 6
    for key_id in keys.ids():
        keys.sealer_of(key_id)


def test_a_key_that_was_made_while_the_source_moved_opens(tmp_path: Path, transit: FakeTransit) -> None:
    keys = data_keys(tmp_path, source=transit.spec(), scope="agent")
    elsewhere = key_file(tmp_path)
    answer = transit.reply
    once = iter([None])

    def moving(handler: Any) -> None:
        for _ in once:
            transit.server.replies = [answer]
            opened_keys(tmp_path).move(elsewhere)
        answer(handler)

    transit.server.replies = [moving]
    key_id = keys.sealer(AGENT).key_id
    fresh = opened_keys(tmp_path)
    assert fresh.source == elsewhere and fresh.sealer(AGENT).key_id == key_id
