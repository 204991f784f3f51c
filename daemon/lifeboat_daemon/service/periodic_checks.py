"""Periodic work of the daemon: verification, and discovery of agents that are not protected."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.health import due_checks
from lifeboat_core.purge.purge_folders import list_purged_agent_ids
from lifeboat_daemon.service.agent_statuses import AgentStatuses
from lifeboat_daemon.service.daemon_tools import DaemonTools
from lifeboat_daemon.service.fleet import Fleet
from lifeboat_daemon.service.notice_sender import NoticeSender
from lifeboat_daemon.service.watched_agent import WatchedAgent

LOOK_AROUND = timedelta(days=1)
TELL_AGAIN = timedelta(hours=1)
NOT_AGAIN_FOR = timedelta(hours=1)
"""Delay of the next verification after one that failed or was deferred."""


class PeriodicChecks:
    """Periodic work. Every part is considered on each tick and starts only when it is due."""

    def __init__(self, parts: DaemonTools, fleet: Fleet, statuses: AgentStatuses, news: NoticeSender) -> None:
        self._parts = parts
        self._fleet = fleet
        self._statuses = statuses
        self._news = news
        self._told: datetime | None = None
        self._verifying: dict[str, bool] = {}
        """By agent, the running automatic verifications: whether each covers every sequence."""
        self.on_names: Callable[[Collection[str]], None] = lambda _: None
        """Called with the names in the user's home whose appearance should trigger another discovery."""

    def tick(self) -> None:
        """Start what is due."""
        for watched in self._fleet:
            if watched.look_again:  # No capture reports the status of a paused agent.
                self._parts.spawn(self.look_up(watched))
            self._verify_if_due(watched)
        if self._is_past(self._parts.notes.discovered, LOOK_AROUND):
            self.look_around()
        self._tell_of_purges_if_due()

    def _tell_of_purges_if_due(self) -> None:
        """Tell remotes about agents that were purged entirely. These agents are not replicated any longer, so nothing
        else would contact remotes that were unreachable at the time."""
        now = self._parts.context.clock.now()
        if self._told is None or abs(now - self._told) >= TELL_AGAIN:
            self._told = now
            if list_purged_agent_ids(self._parts.context):
                self._parts.spawn(self._tell_of_purges())

    async def _tell_of_purges(self) -> None:
        try:
            await self._parts.queue.put("tell_erased", None, {}, long=True)
        except Exception as error:
            self._parts.log.event("tell_erased_failed", "warning", code=self._parts.known(error).code)

    def _is_past(self, moment: str | None, pause: timedelta) -> bool:
        """Return whether a pause since a time is over. A time in the future comes from a wrong clock."""
        if moment is None:
            return True
        passed = self._parts.context.clock.now() - times.parse_time(moment)
        return passed >= pause or passed < timedelta(0)

    # Verification -----------------------------------------------------------------------------------------------

    def _verify_if_due(self, watched: WatchedAgent) -> None:
        facts = watched.facts
        if watched.id in self._verifying or facts is None or facts.sequence is None or facts.unreadable is not None:
            return
        if not self._is_past(self._parts.notes.verify_failed.get(watched.id), NOT_AGAIN_FOR):
            return
        every, whole_every = self._seconds(watched, "verify.every"), self._seconds(watched, "verify.whole_every")
        now, added_at = self._parts.context.clock.now(), watched.agent.added_at
        what = due_checks.choose_due_verification(
            facts.last_verified_at, facts.last_whole_at, every, whole_every, now, added_at=added_at
        )
        if what is not None:
            self._parts.spawn(self._verify(watched, whole=what == due_checks.WHOLE))

    def _seconds(self, watched: WatchedAgent, name: str) -> float:
        return float(self._fleet.config.get(name, watched.agent.settings).value)

    async def _verify(self, watched: WatchedAgent, *, whole: bool) -> None:
        self._verifying[watched.id] = whole
        try:
            answer = await self.verify(watched, {"whole": whole, "sample": not whole, "unasked": True})
            # A damaged copy does not count as the last verified one.
            if answer.get("deferred") or not answer.get("ok"):
                self._try_later(watched)
            self._parts.log.event("verified", agent=watched.id, whole=whole, deferred=bool(answer.get("deferred")))
        except Exception as error:
            self._try_later(watched)
            self._parts.log.event("verify_failed", "warning", agent=watched.id, code=self._parts.known(error).code)
        finally:
            del self._verifying[watched.id]

    def make_way(self, watched: WatchedAgent) -> None:
        """Cancel long automatic verifications of an agent because a capture was requested. A sample takes seconds and
        is completed."""
        if self._verifying.get(watched.id):
            self._parts.queue.cancel(watched.id, "verify")

    def _try_later(self, watched: WatchedAgent) -> None:
        if watched.is_gone:
            return
        self._parts.notes.verify_failed[watched.id] = self._parts.context.now()
        self._parts.remember()

    async def verify(self, watched: WatchedAgent, parameters: JsonObject) -> JsonObject:
        """Verify an agent's vault. Raises what the worker raises."""
        future = self._parts.queue.put("verify", watched.id, parameters, long=True)
        with self._statuses.at_work(watched, "verify"):
            answer = await asyncio.shield(future)
            self._statuses.took(watched, answer)
        return answer

    # Discovery --------------------------------------------------------------------------------------------------

    def look_around(self) -> None:
        """Look for agents that are not protected."""
        self._parts.spawn(self._look_around())

    async def _look_around(self) -> None:
        try:
            await self.discover()
        except Exception as error:
            self._parts.log.event("discover_failed", "warning", code=self._parts.known(error).code)

    async def discover(self) -> JsonObject:
        """Look for agents that are not protected and offer new ones. Raises what the worker raises."""
        found = await self._parts.queue.put("discover", None, {}, long=False)
        self._parts.notes.discovered = self._parts.context.now()
        self._parts.remember()
        self._parts.publish({"event": "offers", "offers": found["offers"]})
        self._news.offered(found["new"])
        self.on_names(found["watch_names"])
        return found

    async def look_up(self, watched: WatchedAgent) -> None:
        """Determine the status of an agent and the folders to watch, without a capture."""
        try:
            self._statuses.took(watched, await self._parts.queue.put("standing", watched.id, {}, long=False))
        except Exception as error:
            watched.look_again = True
            self._statuses.failed(watched, self._parts.known(error))
