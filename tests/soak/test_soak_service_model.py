"""Whatever happens in whatever order: once things are calm, every change is captured, and nothing is left over."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from msgspec import ValidationError

from lifeboat_alf.common import times
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents.agent import Agent
from lifeboat_daemon.schedule.cadence import AFTER_INTERACTION, MANUAL
from lifeboat_daemon.watch.agent_watcher import CHANGED, GONE, RESCAN
from lifeboat_daemon.work.worker_messages import WorkerJob
from support.daemon.inside import BUSY, CRASH, FAILED, HANG, NONSENSE, OK, UNSTABLE, Inside

CALM = 400.0
"""Seconds in which everything that went wrong is made up for."""
OF_ALL = {"tick", "tell", "tell again", "key", "reload", "look around"}
OF_ONE = {"capture", "resume", "schedule"}

which = st.integers(0, 5)
moments = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 1.9, 2.0, 2.1, 5.0, 30.0, 61.0])
outcomes = st.lists(st.sampled_from([OK, BUSY, FAILED, UNSTABLE, CRASH, NONSENSE]), max_size=4)


class ServiceMachine(RuleBasedStateMachine):
    """`agents` are in care; `rests` are those that were paused when things were calm, and of which nobody asked for a
    capture since."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = Inside()
        self.agents: list[Agent] = []
        self.rests: set[str] = set()
        self.asked: list[asyncio.Task[Any]] = []
        self.inside.world.on_capture = self._captured
        self.add(paused=False)

    def _captured(self, job: WorkerJob) -> None:
        if job.agent in self.rests:
            self.inside.world.violations.append("a capture of an agent that is paused")

    def _one(self, which: int) -> Agent | None:
        return self.agents[which % len(self.agents)] if self.agents else None

    def _save(self, agent: Agent, **changed: Any) -> None:
        self.rests.discard(agent.id)
        saved = self.inside.save(replace(agent, **changed))
        self.agents = [saved if each.id == agent.id else each for each in self.agents]

    # What happens -------------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.agents) < 4)
    @rule(paused=st.booleans())
    def add(self, paused: bool) -> None:
        self.agents.append(self.inside.add(f"Agent {len(self.agents)}", paused=paused))

    @rule(which=which)
    def remove(self, which: int) -> None:
        if (agent := self._one(which)) is not None:
            self.agents.remove(agent)
            self.rests.discard(agent.id)
            self.inside.remove(agent)

    @rule(which=which, kind=st.sampled_from([CHANGED, CHANGED, RESCAN, GONE]), number=st.sampled_from([1, 1, 1, 20]))
    def change(self, which: int, kind: str, number: int) -> None:
        if (agent := self._one(which)) is not None:
            for _ in range(number):
                self.inside.change(agent, kind)

    @rule(which=which, outcomes=outcomes, takes=st.sampled_from([0.1, 0.3, 3.0, 40.0]))
    def captures_will(self, which: int, outcomes: list[str], takes: float) -> None:
        if (agent := self._one(which)) is not None:
            self.inside.place(agent).outcomes = outcomes
            self.inside.place(agent).takes = takes

    @rule(which=which)
    def next_capture_hangs(self, which: int) -> None:
        if (agent := self._one(which)) is not None:
            self.inside.place(agent).outcomes = [HANG]

    @rule(
        operation=st.sampled_from(["standing", "verify", "discover", "notify", "key"]),
        outcomes=outcomes,
        takes=st.sampled_from([0.1, 5.0, 50.0]),
    )
    def other_work_will(self, operation: str, outcomes: list[str], takes: float) -> None:
        self.inside.world.outcomes[operation] = outcomes
        self.inside.world.takes[operation] = takes

    @rule(those=st.lists(which, max_size=3), full=st.booleans(), leaves=st.booleans())
    def sync(self, those: list[int], full: bool, leaves: bool) -> None:
        named = [agent.id for each in those if (agent := self._one(each)) is not None]
        self.rests -= set(named)
        asked = self.inside.ask("sync", agents=named, full=full)
        self.inside.passes(0)
        if leaves:
            asked.cancel()
        self.asked.append(asked)

    @rule(which=which, method=st.sampled_from(["verify", "cancel", "reload"]))
    def ask(self, which: int, method: str) -> None:
        if (agent := self._one(which)) is not None:
            self.asked.append(self.inside.ask(method, agent=agent.id))
            self.inside.passes(0)

    @rule(which=which, seconds=st.sampled_from([None, 1.0, 30.0, 7200.0]))
    def pause(self, which: int, seconds: float | None) -> None:
        if (agent := self._one(which)) is not None:
            now = self.inside.clock.now()
            until = None if seconds is None else times.to_text(now + timedelta(seconds=seconds))
            self._save(agent, paused=True, paused_until=until, paused_at=times.to_text(now))

    @rule(which=which)
    def resume(self, which: int) -> None:
        if (agent := self._one(which)) is not None:
            self._save(agent, paused=False, paused_until=None, paused_at=None)

    @rule(which=which, cadence=st.sampled_from([AFTER_INTERACTION, "scheduled", MANUAL]))
    def cadence(self, which: int, cadence: str) -> None:
        if (agent := self._one(which)) is not None:
            saved = agent_files.write_setting(self.inside.context, agent, "cadence", cadence)
            self.agents[self.agents.index(agent)] = saved
            self.inside.files_changed()

    @rule(seconds=st.sampled_from([6.0, 3600.0, 30000.0]), meanwhile=st.booleans())
    def sleep(self, seconds: float, meanwhile: bool) -> None:
        self.rests.clear()  # a pause may end while nobody looks
        self.inside.clock.slept += seconds
        if meanwhile:
            for agent in self.agents:
                self.inside.place(agent).version += 1

    @rule(seconds=st.sampled_from([-90000.0, -600.0, 600.0, 90000.0]))
    def clock_jumps(self, seconds: float) -> None:
        self.rests.clear()
        self.inside.clock.jumped += seconds

    @rule(seconds=moments)
    def time_passes(self, seconds: float) -> None:
        self.inside.passes(seconds)

    @rule(waits=moments)
    def restart(self, waits: float) -> None:
        self.inside.stop()
        self.inside.passes(1)
        assert self.inside.world.doing == []
        self._everybody_is_answered()
        self.inside.start(waits)

    # Calm ---------------------------------------------------------------------------------------------------------

    @rule()
    def calm(self) -> None:
        """Nothing goes wrong any more, and some minutes pass."""
        world = self.inside.world
        world.outcomes.clear()
        world.takes.clear()
        for place in world.places.values():
            place.outcomes, place.takes = [], 0.3
        for worker in list(self.inside.service.parts.workers._all):
            worker.kill()
        self.inside.passes(CALM)
        self._nothing_is_left()
        for agent in self.agents:
            self._stands_as_it_should(agent)
        self._nobody_was_told_twice()

    def _nothing_is_left(self) -> None:
        inside, parts = self.inside, self.inside.service.parts
        here = {agent.id for agent in self.agents}
        self._everybody_is_answered()
        assert parts.queue.jobs() == [] and inside.world.doing == [] and parts.tasks == set()
        assert asyncio.all_tasks(inside.loop) <= {inside.ended}
        assert inside.timers <= OF_ALL | {f"{kind} {agent_id}" for kind in OF_ONE for agent_id in here}
        assert inside.world.followed.keys() == here
        assert {watched.id for watched in inside.service.fleet} == here
        assert parts.workers._lent == {} and parts.workers._places._free == 2
        inside.log.mistakes = [each for each in inside.log.mistakes if type(each) not in (ValidationError, KeyError)]
        assert inside.log.mistakes == [] and inside.world.violations == []

    def _everybody_is_answered(self) -> None:
        for each in self.asked:
            assert each.done()
            assert each.cancelled() or each.exception() is None or isinstance(each.exception(), LifeboatError)
        self.asked.clear()

    def _stands_as_it_should(self, agent: Agent) -> None:
        inside, place = self.inside, self.inside.place(agent)
        watched = inside.service.fleet.get(agent.id)
        assert watched is not None and watched.works == []
        now = inside.clock.now()
        if agent.is_paused(times.to_text(now)):
            self.rests.add(agent.id)
            # What somebody asked for and failed is not made again unasked: it stays in sight.
            assert inside.state(agent) in (
                "paused",
                "error" if watched.failure else "",
                "waiting" if watched.blocked else "",
            )
            return
        self.rests.discard(agent.id)
        if agent.is_paused(times.to_text(now - timedelta(seconds=CALM / 2))):
            return  # it has just ended
        if watched.pacer.timing.cadence == MANUAL and (watched.failure or watched.blocked):
            return
        assert inside.state(agent) in ("ok", "overdue")  # what was not verified in time, because it could not be
        assert watched.blocked is None and watched.failure is None
        if watched.pacer.timing.cadence == AFTER_INTERACTION:
            assert place.kept == place.version

    def _nobody_was_told_twice(self) -> None:
        said: dict[str, list[str]] = defaultdict(list)
        for notice in self.inside.world.notices:
            for subject in notice["subjects"]:
                said[subject].append(notice["kind"])
        for kinds in said.values():
            assert all(one != other for one, other in pairwise(kinds) if one != "age")

    def teardown(self) -> None:
        """What workers still answer that makes no sense is over before the end is looked at."""
        self.inside.world.outcomes.clear()
        for agent in self.agents:
            self.inside.place(agent).outcomes = []
        self.inside.passes(300)
        self.inside.log.mistakes.clear()
        self.inside.close()


TestService = ServiceMachine.TestCase
TestService.settings = settings(max_examples=40, stateful_step_count=30)
