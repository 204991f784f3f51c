"""Who is told what: notices to people, a sign of life to whoever watches from outside, figures for Prometheus.

What changed is told a moment later, all of it at once; while nothing changes nothing is told, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health import due_checks
from lifeboat_core.health.agent_status import NEEDS_THE_USER, AgentStatus
from lifeboat_daemon.notices import notice_rules
from lifeboat_daemon.notices.metrics_file import DaemonMetrics, write_metrics
from lifeboat_daemon.notices.notice_rules import HOME, NoticeState, UserNotice
from lifeboat_daemon.service.agent_statuses import AgentStatuses
from lifeboat_daemon.service.daemon_tools import DaemonTools
from lifeboat_daemon.service.fleet import Fleet
from lifeboat_daemon.service.watched_agent import WatchedAgent

SOON = 5.0
"""Seconds in which changes gather before anybody is told."""
TELL_AGAIN = 600.0
"""Seconds until what nobody could be told is tried again."""
MOST_UNTOLD = 50


class NoticeSender:
    """Tells of what `standings` say; `about` tells of the daemon itself."""

    def __init__(
        self, parts: DaemonTools, fleet: Fleet, standings: AgentStatuses, about: Callable[[], JsonObject]
    ) -> None:
        self._parts = parts
        self._fleet = fleet
        self._standings = standings
        self._about = about
        self._on_the_way: list[UserNotice] = []
        standings.on_change = self._changed

    def _changed(self, charge: WatchedAgent, before: AgentStatus | None) -> None:
        self.soon()

    def soon(self) -> None:
        """Something changed that may have to be told."""
        wait = self._parts.timers.remaining("tell")
        if wait is None or wait > SOON:
            self._parts.timers.at("tell", SOON, self.tell)

    def tell(self) -> None:
        """Tell what has to be told now, and come back when time alone makes more of it."""
        now = self._parts.context.clock.now()
        told = self._parts.notes.told
        found: list[UserNotice] = []
        waits: list[float] = []
        before = dict(told)
        everything = self._standings.everything()
        for gone in told.keys() - {HOME, *(one.id for one in everything.agents)}:
            del told[gone]
        news = [
            (one.id, notice_rules.decide_agent_notices(one, NoticeState.from_json(told.get(one.id)), now))
            for one in everything.agents
        ]
        news.append((HOME, notice_rules.decide_home_notices(everything, NoticeState.from_json(told.get(HOME)), now)))
        for subject, one in news:
            found += one.notices
            told[subject] = one.told.to_json()
            waits += [] if one.look_again is None else [one.look_again]
        if told != before:
            self._parts.remember()
        if waits:
            self._parts.timers.at("tell", max(SOON, min(waits)), self.tell)
        self._notify(notice_rules.merge_notices(found))
        if found:
            self._ping_now()  # whoever watches from outside hears of trouble, and of its end, as soon as people do
        self.write_figures(self._about())

    def offered(self, new: list[JsonObject]) -> None:
        """Agents were found that nobody protects."""
        notice = notice_rules.make_offers_notice(new)
        self._notify([] if notice is None else [notice])

    def erased(self, agent: Agent) -> None:
        """An agent was purged whole elsewhere, and is gone here."""
        self._notify([notice_rules.make_purged_notice(agent.id, agent.name)])

    def _notify(self, found: list[UserNotice]) -> None:
        for notice in found:
            self._parts.log.event("notice", what=notice.kind, agents=len(notice.subjects))
            self._parts.publish({"event": "notice", **notice.to_json()})
        if found:
            self._parts.notes.untold = (self._parts.notes.untold + found)[-MOST_UNTOLD:]
            self._parts.remember()
            self._parts.spawn(self._reach_somebody(found))

    async def _reach_somebody(self, found: list[UserNotice]) -> None:
        """Notices that nobody could be told, while there is no network for example, or because the service ended, are
        kept and tried again."""
        self._on_the_way += found
        answer = await self._beside("notify", {"notices": [notice.to_json() for notice in found]})
        for notice in found:
            self._on_the_way.remove(notice)
        ways = [{"": "not done"}] * len(found) if answer is None else answer["told"]
        untold = [one for one, told in zip(found, ways, strict=True) if told and all(told.values())]
        if untold:
            self._parts.timers.at("tell again", TELL_AGAIN, self.tell_again)
        waiting = self._parts.notes.untold
        self._parts.notes.untold = [one for one in waiting if one not in found or one in untold]
        if self._parts.notes.untold != waiting:
            self._parts.remember()

    def tell_again(self) -> None:
        """Try again what nobody could be told, also before the service began."""
        found = [one for one in self._parts.notes.untold if one not in self._on_the_way]
        if found:
            self._parts.spawn(self._reach_somebody(found))

    # Figures ----------------------------------------------------------------------------------------------------

    def write_figures(self, daemon: JsonObject) -> None:
        """Write `metrics.file`, where one is named and anything is new. `daemon` tells of the daemon itself."""
        path = str(self._fleet.config.get("metrics.file").value)
        if not path:
            return
        counters = {charge.id: {"captures": charge.captures, "failures": charge.failures} for charge in self._fleet}
        figures = DaemonMetrics.of(self._standings.everything().to_json(), counters, daemon)
        try:
            write_metrics(self._parts.context.files, path, figures)
        except LifeboatError as error:
            self._parts.log.event("metrics_failed", level="warning", code=error.code)

    # A sign of life ---------------------------------------------------------------------------------------------

    def ping_if_due(self) -> None:
        """Call `ping.url` while the daemon lives: who listens there learns from silence."""
        every = float(self._fleet.config.get("ping.every").value)
        if due_checks.is_ping_due(self._parts.notes.pinged, every, self._parts.context.clock.now()):
            self._ping_now()

    def _ping_now(self) -> None:
        """A sign of life says how things stand: there is none before that is known."""
        if self._fleet.config.get("ping.url").value and self._standings.is_known:
            self._parts.notes.pinged = self._parts.context.now()
            self._parts.remember()
            state = self._standings.everything().state
            self._parts.spawn(self._ping(ok=state not in NEEDS_THE_USER))

    async def _ping(self, *, ok: bool) -> None:
        await self._beside("ping", {"ok": ok})

    async def _beside(self, operation: str, parameters: JsonObject) -> JsonObject | None:
        """A worker's answer. What fails here is in the log, and changes no state: it is not about the copies."""
        try:
            return await self._parts.queue.put(operation, None, parameters, long=False)
        except LifeboatError as error:
            self._parts.log.event(f"{operation}_failed", level="warning", code=error.code)
            return None
