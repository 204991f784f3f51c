"""Which work gets a slot."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from lifeboat_daemon.work.worker_slots import WorkerSlots
from support.patience import patience


class Yard:
    """Jobs that hold a slot until they are released, and the order in which they got one."""

    def __init__(self, total: int) -> None:
        self.places = WorkerSlots(total)
        self.began: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def comes(self, name: str, *, long: bool = False) -> None:
        self.ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.ensure_future(self._work(name, long))

    async def _work(self, name: str, long: bool) -> None:
        async with self.places.place(long=long):
            self.began.append(name)
            await self.ends[name].wait()

    async def leaves(self, name: str) -> None:
        self.ends[name].set()
        await settle()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, patience()))


def test_one_place_is_kept_for_short_work() -> None:
    async def story() -> None:
        yard = Yard(2)
        for name in ("export", "verify"):
            yard.comes(name, long=True)
        await settle()
        assert yard.began == ["export"]
        yard.comes("capture")
        await settle()
        assert yard.began == ["export", "capture"]
        await yard.leaves("capture")
        assert yard.began == ["export", "capture"]
        await yard.leaves("export")
        assert yard.began[-1] == "verify"

    run(story())


def test_short_work_goes_before_long_work_that_waits_longer() -> None:
    async def story() -> None:
        yard = Yard(2)
        for name in ("one", "two"):
            yard.comes(name)
        yard.comes("long", long=True)
        yard.comes("three")
        await settle()
        await yard.leaves("one")
        assert yard.began == ["one", "two", "three"]
        await yard.leaves("two")
        assert yard.began[-1] == "long"

    run(story())


def test_who_gives_up_waiting_takes_no_place() -> None:
    async def story() -> None:
        yard = Yard(1)
        for name in ("first", "gives up", "last"):
            yard.comes(name)
        await settle()
        yard.tasks["gives up"].cancel()
        await settle()
        await yard.leaves("first")
        assert yard.began == ["first", "last"]

    run(story())


def test_who_gives_up_at_the_moment_of_its_turn_gives_the_place_back() -> None:
    async def story() -> None:
        yard = Yard(1)
        async with yard.places.place(long=False):
            yard.comes("gives up")
            await settle()
        yard.tasks["gives up"].cancel()  # The slot is assigned, and its new owner has not run yet.
        await settle()
        yard.comes("last")
        await settle()
        assert yard.began == ["last"]

    run(story())


def test_one_place_does_long_work_too() -> None:
    async def story() -> None:
        yard = Yard(1)
        yard.comes("long", long=True)
        await settle()
        assert yard.began == ["long"]

    run(story())
