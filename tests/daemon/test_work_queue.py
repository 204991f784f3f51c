"""Jobs of an agent run one by one, equal requests run once, short ones run first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import Busy, Cancelled, WorkerFailed
from lifeboat_daemon.work import work_queue as queues
from lifeboat_daemon.work.work_queue import WorkQueue
from lifeboat_daemon.work.worker_messages import JobProgress
from lifeboat_daemon.work.worker_pool import WorkerPool
from lifeboat_daemon.work.worker_slots import WorkerSlots
from support.patience import patience


class Hands:
    """Replaces the pool: jobs end when a test says so. `seen` lists the started ones in order."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str | None, JsonObject]] = []
        self.cancelled: list[str] = []
        self._ends: list[asyncio.Future[JsonObject]] = []
        self._places = WorkerSlots(2)
        self.tells: list[Callable[[JobProgress], None]] = []

    async def run(
        self,
        operation: str,
        agent: str | None,
        parameters: JsonObject,
        *,
        long: bool,
        tell: Callable[[JobProgress], None],
        begun: Callable[[], None],
    ) -> JsonObject:
        async with self._places.place(long=long):
            begun()
            self.seen.append((operation, agent, dict(parameters)))
            self.tells.append(tell)
            end: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
            self._ends.append(end)
            return await end

    async def done(self, number: int, outcome: JsonObject | Exception | None = None) -> None:
        end = self._ends[number]
        if isinstance(outcome, Exception):
            end.set_exception(outcome)
        else:
            end.set_result(outcome or {})
        await settle()

    def cancel(self, agent: str, operation: str | None = None) -> int:
        self.cancelled.append(agent)
        return 1

    @property
    def begun(self) -> list[tuple[str, str | None]]:
        return [(operation, agent) for operation, agent, _ in self.seen]


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def told(story: Callable[[WorkQueue, Hands], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        hands = Hands()
        await story(WorkQueue(cast("WorkerPool", hands)), hands)

    asyncio.run(asyncio.wait_for(whole(), patience()))


def test_two_agents_are_worked_on_at_the_same_time_and_one_agent_never_twice() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        for operation, agent in (("capture", "ada"), ("standing", "ada"), ("capture", "bob")):
            queue.put(operation, agent)
        await settle()
        assert hands.begun == [("capture", "ada"), ("capture", "bob")]
        await hands.done(0)
        assert hands.begun[-1] == ("standing", "ada")

    told(story)


def test_a_capture_that_waits_is_not_done_twice() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        queue.put("capture", "ada", {"reason": "change"})
        await settle()
        waiting = [queue.put("capture", "ada", {"reason": reason}) for reason in ("change", "wake", "request")]
        await hands.done(0, {"number": 0})
        await hands.done(1, {"number": 1})
        assert [await each for each in waiting] == [{"number": 1}] * 3
        assert len(hands.seen) == 2 and queue.idle

    told(story)


def test_a_request_that_joins_another_makes_it_do_as_much_as_both_ask_for() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        queue.put("capture", "ada")
        await settle()
        queue.put("capture", "ada", {"full": False})
        queue.put("capture", "ada", {"full": True})
        queue.put("capture", "ada", {"full": False})
        await hands.done(0)
        assert [each[2].get("full") for each in hands.seen] == [None, True]

    told(story)


def test_what_waits_for_a_place_is_joined_too() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        for agent in ("ada", "bob", "cleo"):
            queue.put("capture", agent)
        await settle()
        queue.put("capture", "cleo", {"full": True})
        await hands.done(0)
        assert hands.seen[-1] == ("capture", "cleo", {"full": True})
        assert len(queue.jobs()) == 2

    told(story)


def test_what_runs_already_may_have_missed_the_change_and_is_done_again() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        queue.put("capture", "ada")
        await settle()
        queue.put("capture", "ada")
        await hands.done(0)
        assert hands.begun == [("capture", "ada")] * 2

    told(story)


def test_requests_that_ask_for_different_things_are_not_joined() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        queue.put("notify", None, {"notice": "one"})
        queue.put("notify", None, {"notice": "two"})
        await settle()
        await hands.done(0)
        assert [each[2]["notice"] for each in hands.seen] == ["one", "two"]

    told(story)


def test_short_work_of_an_agent_goes_before_long_work_that_waits_longer() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        queue.put("standing", "ada")
        await settle()
        queue.put("verify", "ada", {"whole": True}, long=True)
        queue.put("capture", "ada")
        await hands.done(0)
        await hands.done(1)
        assert [operation for operation, _ in hands.begun] == ["standing", "capture", "verify"]

    told(story)


def test_whoever_stops_waiting_for_an_answer_takes_it_from_nobody_else() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        queue.put("capture", "ada")
        await settle()
        gone, stays = queue.put("capture", "ada"), queue.put("capture", "ada")
        gone.cancel()
        await hands.done(0)
        await hands.done(1, {"sequence": 7})
        assert await stays == {"sequence": 7}

    told(story)


def test_a_failure_comes_to_everybody_who_asked_and_the_next_work_is_done() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        queue.put("standing", "ada")
        await settle()
        both = [queue.put("capture", "ada"), queue.put("capture", "ada")]
        await hands.done(0, Busy("process 1 holds it (restore)"))
        await hands.done(1, WorkerFailed("it ended"))
        for each in both:
            with pytest.raises(WorkerFailed):
                await each
        queue.put("capture", "ada")
        await settle()
        assert len(hands.seen) == 3

    told(story)


def test_a_mistake_in_between_fails_one_piece_of_work_and_stops_no_other() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        asked = queue.put("capture", "ada")
        await settle()
        await hands.done(0, ValueError("rosebud"))
        with pytest.raises(LifeboatError) as caught:
            await asked
        assert "rosebud" not in caught.value.message
        queue.put("capture", "ada")
        await settle()
        assert len(hands.seen) == 2

    told(story)


def test_transfers_are_done_beside_other_work_and_in_turn_for_each_remote() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        for operation, parameters in (
            ("push", {"remote": "home"}),
            ("capture", {}),
            ("verify_remote", {"remote": "home"}),
        ):
            queue.put(operation, "ada", parameters)
        await settle()
        assert hands.begun == [("push", "ada"), ("capture", "ada")]
        assert [each["remote"] for each in queue.jobs()] == ["home", None, "home"]
        await hands.done(0)
        assert hands.begun[2] == ("verify_remote", "ada")

    told(story)


def test_who_asks_for_a_push_that_waits_makes_it_one_that_was_asked_for() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        queue.put("verify_remote", "ada", {"remote": "home"})
        await settle()
        queue.put("push", "ada", {"remote": "home", "asked": False})
        queue.put("push", "ada", {"remote": "home", "asked": True})
        await hands.done(0)
        assert hands.seen[1:] == [("push", "ada", {"remote": "home", "asked": True})]

    told(story)


def test_what_waits_is_forgotten_when_it_is_cancelled_and_what_runs_is_asked_to_end() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        queue.put("verify", "ada", long=True)
        other = queue.put("capture", "bob")
        await settle()
        waiting = queue.put("standing", "ada")
        assert queue.cancel("ada") == 2
        with pytest.raises(Cancelled):
            await waiting
        assert hands.cancelled == ["ada"] and not other.done()
        await hands.done(0, Cancelled("it was cancelled"))
        assert [each["agent"] for each in queue.jobs()] == ["bob"]

    told(story)


def test_one_operation_is_cancelled_and_what_else_waits_stays() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        queue.put("verify", "ada", long=True)
        await settle()
        waiting = queue.put("capture", "ada")
        assert queue.cancel("ada", "verify") == 1
        assert hands.cancelled == ["ada"] and not waiting.done()
        await hands.done(0, Cancelled("it was cancelled"))
        assert hands.begun == [("verify", "ada"), ("capture", "ada")]

    told(story)


def test_work_that_waits_for_a_place_is_cancelled_without_getting_one() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        for agent in ("ada", "bob", "cleo"):
            queue.put("capture", agent)
        await settle()
        assert queue.cancel("cleo") == 1
        await hands.done(0)
        queue.put("capture", "dora")
        await settle()
        assert hands.begun == [("capture", "ada"), ("capture", "bob"), ("capture", "dora")]

    told(story)


def test_a_capture_that_runs_is_seen_through() -> None:
    async def story(queue: WorkQueue, hands: Hands) -> None:
        asked = queue.put("capture", "ada")
        await settle()
        assert queue.cancel("ada") == 0
        await hands.done(0, {"kept": True})
        assert await asked == {"kept": True}

    told(story)


def test_jobs_say_what_runs_how_far_it_is_and_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(queues, "monotonic", lambda: now)

    async def story(queue: WorkQueue, hands: Hands) -> None:
        nonlocal now
        changes: list[JsonObject] = []
        queue.on_change = changes.append
        queue.put("verify", "ada", {"whole": True}, long=True)
        await settle()
        queue.put("capture", "ada")
        now += 10
        hands.tells[0](JobProgress(1, "verifying", 20, 100))
        running, waiting = queue.jobs()
        assert (running["operation"], running["state"], running["text"]) == ("verify", "running", "verifying")
        assert (running["rate"], running["seconds_left"], running["seconds"]) == (2.0, 40, 10.0)
        assert (waiting["operation"], waiting["state"], waiting["seconds_left"]) == ("capture", "waiting", None)
        await hands.done(0)
        said = [(each["operation"], each["state"]) for each in changes]
        assert said == [
            ("verify", "waiting"),
            ("verify", "running"),
            ("capture", "waiting"),
            ("verify", "running"),
            ("verify", "done"),
            ("capture", "running"),
        ]

    told(story)


def test_a_queue_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "MOST_WAITING", 3)

    async def story(queue: WorkQueue, hands: Hands) -> None:
        for number in range(3):
            queue.put("notify", None, {"notice": number})
        with pytest.raises(Busy):
            queue.put("notify", None, {"notice": 3})
        assert not queue.put("notify", None, {"notice": 2}).done()

    told(story)
