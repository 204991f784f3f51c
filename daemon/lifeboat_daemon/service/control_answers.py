"""What the daemon answers over its socket: one method each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents import offers
from lifeboat_core.errors import BadRequest, UnknownAgent
from lifeboat_daemon.service.agent_statuses import AgentStatuses
from lifeboat_daemon.service.capture_scheduler import CaptureScheduler
from lifeboat_daemon.service.daemon_tools import DaemonTools
from lifeboat_daemon.service.fleet import Fleet
from lifeboat_daemon.service.key_checks import KeyChecks
from lifeboat_daemon.service.periodic_checks import PeriodicChecks
from lifeboat_daemon.service.replication import Replication
from lifeboat_daemon.service.watched_agent import WatchedAgent

Handler = Callable[[JsonObject], Awaitable[JsonObject]]


class ControlAnswers:
    """`up` waits until all agents are in care, `about` tells of the daemon itself; `reload` reads the files again,
    `stop` ends the daemon."""

    def __init__(
        self,
        parts: DaemonTools,
        fleet: Fleet,
        standings: AgentStatuses,
        captures: CaptureScheduler,
        upkeep: PeriodicChecks,
        replication: Replication,
        key_looks: KeyChecks,
        *,
        up: Callable[[], Awaitable[None]],
        about: Callable[[], JsonObject],
        reload: Callable[[], None],
        stop: Callable[[str], None],
    ) -> None:
        self._parts, self._fleet, self._standings = parts, fleet, standings
        self._captures, self._upkeep, self._replication = captures, upkeep, replication
        self._key_looks = key_looks
        self._up, self._about, self._reload, self._stop = up, about, reload, stop

    def handlers(self) -> dict[str, Handler]:
        """Every method by its name."""
        return {
            "status": self.status,
            "daemon": self.daemon,
            "jobs": self.jobs,
            "sync": self.sync,
            "verify": self.verify,
            "cancel": self.cancel,
            "reload": self.reload,
            "discover": self.discover,
            "stop": self.stop,
        }

    async def status(self, _: JsonObject) -> JsonObject:
        """How everything stands, as `status --json` says it."""
        self._key_looks.asked()
        await self._standings.known()
        document = self._standings.everything().to_json()
        found = offers.list_pending_offers(self._parts.context)
        return {**document, "daemon": self._about(), "offers": [each.to_json() for each in found]}

    async def daemon(self, _: JsonObject) -> JsonObject:
        """The daemon itself: since when, what it watches and how, what it did and does."""
        coverage = self._parts.watcher.coverage
        watched = [
            {
                "id": charge.id,
                "name": charge.agent.name,
                "cadence": charge.pacer.timing.cadence,
                "mode": (seen := coverage(charge.id)).mode,
                "folders": seen.folders,
                "watches": seen.watches,
                "reason": seen.reason,
                "captures": charge.captures,
                "failures": charge.failures,
                "at_work": charge.at_work,
            }
            for charge in self._fleet
        ]
        return {**self._about(), "agents": watched, "jobs": self._parts.queue.jobs()}

    async def jobs(self, _: JsonObject) -> JsonObject:
        """What runs and what waits."""
        return {"jobs": self._parts.queue.jobs()}

    async def sync(self, parameters: JsonObject) -> JsonObject:
        """Capture now, and send it to every second copy: the agents that are named, or all that are not at rest."""
        await self._up()
        now = self._parts.context.now()
        named = parameters.get("agents")
        chosen = [charge for charge in self._fleet if not charge.rests(now)] if named is None else self._named(named)
        full = bool(parameters.get("full", False))
        for charge in chosen:
            self._upkeep.make_way(charge)
        asked = [self._captured_and_sent(charge, full=full) for charge in chosen]
        return {"agents": list(await asyncio.gather(*asked))}

    async def _captured_and_sent(self, charge: WatchedAgent, *, full: bool) -> JsonObject:
        return await self._replication.after(charge, self._captures.asked_for(charge, full=full))

    async def verify(self, parameters: JsonObject) -> JsonObject:
        """Try out a restore of one agent."""
        await self._up()
        charge = self._one(parameters)
        return await self._upkeep.verify(charge, {"whole": bool(parameters.get("whole", False))})

    async def cancel(self, parameters: JsonObject) -> JsonObject:
        """Stop what runs for one agent at its next safe point."""
        await self._up()
        charge = self._one(parameters)
        self._parts.queue.cancel(charge.id)
        return {}

    async def reload(self, parameters: JsonObject) -> JsonObject:
        """Read settings and agents again, and look at the key; of an agent that is named, look up how it stands."""
        await self._up()
        self._reload()
        self._key_looks.look()
        charge = self._fleet.get(str(parameters.get("agent", "")))
        if charge is not None:
            self._parts.spawn(self._upkeep.look_up(charge))
        return {"problem": self._fleet.problem}

    async def discover(self, _: JsonObject) -> JsonObject:
        """Look for agents that nobody protects."""
        return await self._upkeep.discover()

    async def stop(self, parameters: JsonObject) -> JsonObject:
        """End, once what is being committed is committed."""
        self._stop(str(parameters.get("reason", "request")))
        return {}

    def _named(self, ids: Any) -> list[WatchedAgent]:
        if not isinstance(ids, list):
            raise BadRequest("agents: a list of ids is expected")
        return [self._one({"agent": each}) for each in ids]

    def _one(self, parameters: JsonObject) -> WatchedAgent:
        """The agent that is named. One that was added a moment ago may be in no list yet."""
        wanted = str(parameters.get("agent", ""))
        if self._fleet.get(wanted) is None:
            self._reload()
        charge = self._fleet.get(wanted)
        if charge is None:
            raise UnknownAgent(f"no agent has the id {wanted!r}")
        return charge
