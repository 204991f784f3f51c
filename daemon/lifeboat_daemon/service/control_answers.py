"""The methods that the daemon answers over its socket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents import offers
from lifeboat_core.errors import BadRequest, UnknownAgent
from lifeboat_daemon.service.watched_agent import WatchedAgent

if TYPE_CHECKING:
    from lifeboat_daemon.service.daemon_service import DaemonService

Handler = Callable[[JsonObject], Awaitable[JsonObject]]


class ControlAnswers:
    """One function for each method."""

    def __init__(self, service: DaemonService) -> None:
        self._service = service

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
        self._service.key_checks.asked()
        await self._service.statuses.known()
        document = self._service.statuses.everything().to_json()
        found = offers.list_pending_offers(self._service.parts.context)
        return {**document, "daemon": self._service.about(), "offers": [each.to_json() for each in found]}

    async def daemon(self, _: JsonObject) -> JsonObject:
        """Describe the daemon: when it started, what it watches and how, its past and present jobs."""
        coverage = self._service.parts.watcher.coverage
        agents = [
            {
                "id": watched.id,
                "name": watched.agent.name,
                "cadence": watched.pacer.timing.cadence,
                "mode": (seen := coverage(watched.id)).mode,
                "folders": seen.folders,
                "watches": seen.watches,
                "reason": seen.reason,
                "captures": watched.captures,
                "failures": watched.failures,
                "at_work": watched.at_work,
            }
            for watched in self._service.fleet
        ]
        return {**self._service.about(), "agents": agents, "jobs": self._service.parts.queue.jobs()}

    async def jobs(self, _: JsonObject) -> JsonObject:
        """Return running and waiting jobs."""
        return {"jobs": self._service.parts.queue.jobs()}

    async def sync(self, parameters: JsonObject) -> JsonObject:
        """Capture now and push to every remote: the named agents, or all that are not paused."""
        await self._service.up()
        now = self._service.parts.context.now()
        named = parameters.get("agents")
        chosen = (
            [watched for watched in self._service.fleet if not watched.rests(now)]
            if named is None
            else self._named(named)
        )
        full = bool(parameters.get("full", False))
        for watched in chosen:
            self._service.periodic_checks.make_way(watched)
        asked = [self._captured_and_sent(watched, full=full) for watched in chosen]
        return {"agents": list(await asyncio.gather(*asked))}

    async def _captured_and_sent(self, watched: WatchedAgent, *, full: bool) -> JsonObject:
        return await self._service.replication.after(watched, self._service.captures.asked_for(watched, full=full))

    async def verify(self, parameters: JsonObject) -> JsonObject:
        """Run a restore drill of one agent."""
        await self._service.up()
        watched = self._one(parameters)
        return await self._service.periodic_checks.verify(watched, {"whole": bool(parameters.get("whole", False))})

    async def cancel(self, parameters: JsonObject) -> JsonObject:
        """Stop the running job of one agent at its next safe point."""
        await self._service.up()
        watched = self._one(parameters)
        self._service.parts.queue.cancel(watched.id)
        return {}

    async def reload(self, parameters: JsonObject) -> JsonObject:
        """Read settings and agents again and check the key. For a named agent, also check its status."""
        await self._service.up()
        self._service.reload()
        self._service.key_checks.look()
        watched = self._service.fleet.get(str(parameters.get("agent", "")))
        if watched is not None:
            self._service.parts.spawn(self._service.periodic_checks.look_up(watched))
        return {"problem": self._service.fleet.problem}

    async def discover(self, _: JsonObject) -> JsonObject:
        """Look for agents that are not protected."""
        return await self._service.periodic_checks.discover()

    async def stop(self, parameters: JsonObject) -> JsonObject:
        """Stop the daemon after running commits."""
        self._service.stop(str(parameters.get("reason", "request")))
        return {}

    def _named(self, ids: Any) -> list[WatchedAgent]:
        if not isinstance(ids, list):
            raise BadRequest("the parameter `agents` must be a list of ids")
        return [self._one({"agent": each}) for each in ids]

    def _one(self, parameters: JsonObject) -> WatchedAgent:
        """Return the named agent. An agent that was just added may not be loaded yet."""
        wanted = str(parameters.get("agent", ""))
        if self._service.fleet.get(wanted) is None:
            self._service.reload()
        watched = self._service.fleet.get(wanted)
        if watched is None:
            raise UnknownAgent(f"no agent has the id {wanted!r}")
        return watched
