"""The status of the agents, as far as the daemon knows: facts from workers, judged again as time passes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.health import agent_status, sleep_ledger
from lifeboat_core.health.agent_status import AgentStatus, KeyFacts, Status, StatusFacts
from lifeboat_core.machine import clock_trust
from lifeboat_daemon.service.daemon_tools import DaemonTools
from lifeboat_daemon.service.fleet import Fleet
from lifeboat_daemon.service.watched_agent import WatchedAgent
from lifeboat_daemon.watch.watch_plan import WatchPlan
from lifeboat_daemon.watch.watch_signals import NONE, PARTIAL

PATIENCE = 8.0
KEY_PATIENCE = 3.0
"""Seconds. A key store may never answer."""
NOT_YET = "the store that contains your key has not answered yet"
STILL_BEGINNING = (
    "the daemon is still cleaning up after its last run and has not checked the agents yet; try again soon"
)


class AgentStatuses:
    """Keeps the status of every agent. `on_change` is called with an agent whose status changed, and the former status;
    `on_facts` with an agent that has new facts."""

    def __init__(self, parts: DaemonTools, fleet: Fleet) -> None:
        self._parts = parts
        self._fleet = fleet
        self.on_facts: Callable[[WatchedAgent], None] = lambda _: None
        self.on_change: Callable[[WatchedAgent, AgentStatus | None], None] = lambda *_: None
        self.key = KeyFacts(note=NOT_YET)
        self.began = False
        self._key_is_known = asyncio.Event()
        self._known = asyncio.Event()

    @property
    def is_known(self) -> bool:
        """Whether every agent has been checked."""
        return self._known.is_set()

    async def known(self) -> None:
        """Wait until every agent and the key have been checked, but only some seconds. Right after the start no status
        is known."""
        await asyncio.gather(_waited(self._known, PATIENCE), _waited(self._key_is_known, KEY_PATIENCE))

    def took(self, watched: WatchedAgent, answer: JsonObject) -> None:
        """Apply the answer of a worker: the facts of an agent, and the folders to watch from now on."""
        facts = StatusFacts.from_json(answer["facts"])
        plan = msgspec.convert(answer["watch"], WatchPlan) if "watch" in answer else None
        if watched.is_gone:
            return
        watched.facts, watched.failure, watched.look_again = facts, None, False
        if plan is not None:
            self._parts.watcher.follow(watched.id, plan)
        self.judge(watched)
        self.on_facts(watched)

    def took_key(self, document: JsonObject | None) -> None:
        """Apply the facts of the user's key, or None if the check failed."""
        self._key_is_known.set()
        key = self.key if document is None else msgspec.convert(document, KeyFacts)
        if key != self.key:
            self.key = key
            self.judge_all()

    def failed(self, watched: WatchedAgent, error: LifeboatError | None) -> None:
        """Record the error of failed work on an agent, or None if the work only has to wait."""
        watched.failure = None if error is None else f"{error.title}: {error.message}"
        self.judge(watched)

    @contextlib.contextmanager
    def at_work(self, watched: WatchedAgent, operation: str) -> Iterator[None]:
        """Record work on an agent while the context lasts. Several may overlap, such as a capture that waits for a
        verification."""
        watched.works.append(operation)
        self.judge(watched)
        try:
            yield
        finally:
            watched.works.remove(operation)
            self.judge(watched)

    def judge_all(self) -> None:
        """Judge all agents again: time passed, or something changed that concerns all."""
        self._note_what_is_known()
        ledger = sleep_ledger.load_sleep_ledger(self._parts.context)
        for watched in self._fleet:
            self._judge(watched, ledger)

    def judge(self, watched: WatchedAgent) -> None:
        """Judge one agent and report a changed status."""
        if not watched.is_gone:
            self._note_what_is_known()
            self._judge(watched, sleep_ledger.load_sleep_ledger(self._parts.context))

    def _judge(self, watched: WatchedAgent, ledger: sleep_ledger.SleepLedger) -> None:
        before, after = watched.status, self._of(watched, ledger)
        if after != before:
            watched.status = after
            self._parts.publish({"event": "agent", "agent": after.to_json()})
            self.on_change(watched, before)

    def _note_what_is_known(self) -> None:
        if self.began and all(each.facts is not None or each.failure is not None for each in self._fleet):
            self._known.set()
        else:
            self._known.clear()

    def _of(self, watched: WatchedAgent, ledger: sleep_ledger.SleepLedger) -> AgentStatus:
        """Return the present status of an agent."""
        facts = watched.facts or StatusFacts()
        if watched.failure is not None:
            facts = msgspec.structs.replace(facts, failed=watched.failure)
        now = self._parts.context.clock.now()
        slept = sleep_ledger.measure_awake_time(
            self._parts.context, watched.agent, facts, config=self._fleet.config, ledger=ledger
        )
        found = agent_status.judge_agent(facts, watched.agent, self.key, now, slept)
        if watched.blocked is not None:
            found = agent_status.mark_blocked(found, f"waiting: {watched.blocked}")
        coverage = self._parts.watcher.coverage(watched.id)
        if coverage.mode in (PARTIAL, NONE) and coverage.folders:
            found = agent_status.mark_half_watched(found, str(coverage.reason))
        return found if watched.at_work is None else agent_status.mark_at_work(found)

    def everything(self) -> Status:
        """Return the document of `status`."""
        ledger = sleep_ledger.load_sleep_ledger(self._parts.context)
        found = (self._of(watched, ledger) for watched in self._fleet)
        agents = sorted(found, key=lambda one: (one.name.casefold(), one.id))
        problems = [] if self.began else [STILL_BEGINNING]
        problems += [self._fleet.problem] if self._fleet.problem else []
        context = self._parts.context
        trusted = clock_trust.is_clock_trusted(context)
        return agent_status.summarize_agents(agents, self.key, problems, clock_trusted=trusted, now=context.clock.now())


async def _waited(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
