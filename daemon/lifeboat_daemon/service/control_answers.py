"""The methods that the daemon answers over its socket."""

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
    """One function for each method. `up` waits until all agents are loaded, `about` describes the daemon, `reload`
    reads the files again, `stop` ends the daemon."""

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
        """Return every handler by the name of its method."""
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
        """Return the status of everything, as `status --json` writes it."""
        self._key_looks.asked()
        await self._standings.known()
        document = self._standings.everything().to_json()
        found = offers.list_pending_offers(self._parts.context)
        return {**document, "daemon": self._about(), "offers": [each.to_json() for each in found]}

    async def daemon(self, _: JsonObject) -> JsonObject:
        """Describe the daemon: when it started, what it watches and how, its past and present jobs."""
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
        """Return running and waiting jobs."""
        return {"jobs": self._parts.queue.jobs()}

    async def sync(self, parameters: JsonObject) -> JsonObject:
        """Capture now and push to every remote: the named agents, or all that are not paused."""
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
        """Run a restore drill of one agent."""
        await self._up()
        charge = self._one(parameters)
        return await self._upkeep.verify(charge, {"whole": bool(parameters.get("whole", False))})

    async def cancel(self, parameters: JsonObject) -> JsonObject:
        """Stop the running job of one agent at its next safe point."""
        await self._up()
        charge = self._one(parameters)
        self._parts.queue.cancel(charge.id)
        return {}

    async def reload(self, parameters: JsonObject) -> JsonObject:
        """Read settings and agents again and check the key. For a named agent, also check its status."""
        await self._up()
        self._reload()
        self._key_looks.look()
        charge = self._fleet.get(str(parameters.get("agent", "")))
        if charge is not None:
            self._parts.spawn(self._upkeep.look_up(charge))
        return {"problem": self._fleet.problem}

    async def discover(self, _: JsonObject) -> JsonObject:
        """Look for agents that are not protected."""
        return await self._upkeep.discover()

    async def stop(self, parameters: JsonObject) -> JsonObject:
        """Stop the daemon after running commits."""
        self._stop(str(parameters.get("reason", "request")))
        return {}

    def _named(self, ids: Any) -> list[WatchedAgent]:
        if not isinstance(ids, list):
            raise BadRequest("agents: a list of ids is expected")
        return [self._one({"agent": each}) for each in ids]

    def _one(self, parameters: JsonObject) -> WatchedAgent:
        """Return the named agent. An agent that was just added may not be loaded yet."""
        wanted = str(parameters.get("agent", ""))
        if self._fleet.get(wanted) is None:
            self._reload()
        charge = self._fleet.get(wanted)
        if charge is None:
            raise UnknownAgent(f"no agent has the id {wanted!r}")
        return charge
