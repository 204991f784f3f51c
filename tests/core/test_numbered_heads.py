"""Numbered heads: of several writers in any order of their steps, no accepted head is lost."""

from __future__ import annotations

import functools
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from lifeboat_core.remotes.sealed.log_files import HeadMoved
from lifeboat_core.remotes.sealed.numbered_heads import NumberedHeads
from lifeboat_vault.errors import RemoteBusy, RemoteDamaged
from support.patience import patience


class StepOrder:
    """Lets one of several threads go on at a time, chosen by a random number; a thread waits before each step."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._arrived = threading.Semaphore(0)
        self._waiting: dict[int, threading.Event] = {}

    def step(self) -> None:
        mine = self._waiting[threading.get_ident()] = threading.Event()
        self._arrived.release()
        assert mine.wait(patience())

    def run(self, works: list[Callable[[], None]]) -> None:
        failed: list[BaseException] = []

        def work(each: Callable[[], None]) -> None:
            self.step()
            try:
                each()
            except BaseException as error:
                failed.append(error)
            self._arrived.release()

        threads = [threading.Thread(target=work, args=(each,)) for each in works]
        for thread in threads:
            thread.start()
            assert self._arrived.acquire(timeout=patience())
        while self._waiting:
            # Some threads stay behind for long: these are the machines that slept.
            chosen = self._random.choice(sorted(self._waiting)[: self._random.choice((1, 2, len(threads)))])
            self._waiting.pop(chosen).set()
            assert self._arrived.acquire(timeout=patience())
        for thread in threads:
            thread.join(patience())
        assert failed == []


@dataclass
class MemoryPlace:
    """Heads in memory. `listing` is called between the parts of a listing, which is not taken at one moment."""

    step: Callable[[], None] = lambda: None
    listing: Callable[[], None] = lambda: None
    files: dict[int, bytes] = field(default_factory=dict)

    def numbers(self) -> list[int]:
        self.step()
        found = []
        for number in sorted(self.files):
            self.listing()
            if self.files.get(number):
                found.append(number)
        return found

    def read(self, number: int) -> bytes:
        self.step()
        return self.files.get(number, b"")

    def create(self, number: int, data: bytes) -> bool:
        self.step()
        return self.files.setdefault(number, data) is data

    def clear(self, number: int) -> None:
        self.step()
        if number == 1:
            self.files[1] = b""
        else:
            self.files.pop(number, None)


def write_in_turn(place: MemoryPlace, name: str, accepted: list[bytes]) -> None:
    """Append words to the head, as a machine that is told when another one was faster."""
    heads = NumberedHeads(place)
    for turn in range(4):
        try:
            known = heads.load()
            word = f"{name}{turn} ".encode()
            heads.replace((known.data if known else b"") + word, known.tag if known else None)
            accepted.append(word)
        except (HeadMoved, RemoteBusy):
            continue


@pytest.mark.parametrize("is_listed_slowly", [False, True])
def test_no_accepted_head_is_lost_in_any_order_of_steps(is_listed_slowly: bool) -> None:
    for seed in range(150):
        order = StepOrder(seed)
        place = MemoryPlace(order.step, order.step if is_listed_slowly else lambda: None)
        accepted: list[bytes] = []
        order.run([functools.partial(write_in_turn, place, name, accepted) for name in "abcd"])
        newest = NumberedHeads(MemoryPlace(files=place.files)).load()
        assert newest is not None
        assert [word for word in accepted if word not in newest.data] == [], (seed, newest.data, accepted)
        assert accepted


def test_a_machine_that_slept_cannot_use_a_number_that_was_cleared() -> None:
    place = MemoryPlace()
    sleeper, awake = NumberedHeads(place), NumberedHeads(place)
    tag = awake.replace(b"1", None)
    tag = awake.replace(b"2", tag)
    assert sleeper.load() == (2, b"2", tag)
    old = tag
    for number in range(3, 8):
        tag = awake.replace(str(number).encode(), tag)
    with pytest.raises(HeadMoved):
        sleeper.replace(b"of the sleeper", old)
    assert NumberedHeads(place).load() == (7, b"7", tag)
    awake.replace(b"8", tag)
    assert place.numbers() == [8]


def test_the_first_head_cannot_be_created_twice() -> None:
    place = MemoryPlace()
    late = NumberedHeads(place)
    assert late.load() is None
    first = NumberedHeads(place)
    first.replace(b"2", first.replace(b"1", None))
    assert not place.create(1, b"of the late one")
    with pytest.raises(HeadMoved):
        late.replace(b"of the late one", None)
    assert place.files == {1: b"", 2: b"2"}


def test_a_head_that_is_empty_is_damage_and_not_a_missing_head() -> None:
    place = MemoryPlace()
    NumberedHeads(place).replace(b"1", None)

    class Torn(MemoryPlace):
        def read(self, number: int) -> bytes:
            return b""

    with pytest.raises(RemoteDamaged):
        NumberedHeads(Torn(files=place.files)).load()


def test_leftovers_of_writers_that_died_are_cleared_by_the_next_one() -> None:
    place = MemoryPlace(files={1: b"1", 2: b"2", 3: b"3"})
    heads = NumberedHeads(place)
    known = heads.load()
    assert known is not None and known.number == 3
    heads.replace(b"4", known.tag)
    assert place.files == {1: b"", 4: b"4"}
