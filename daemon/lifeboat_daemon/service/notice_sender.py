"""Send notices to people, pings to the dead-man's switch, and metrics to Prometheus.

Changes are collected for a moment and then reported together. Without a change nothing is sent and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health import due_checks
from lifeboat_core.health.agent_status import AgentStatus
from lifeboat_core.health.safety_level import SafetyLevel
from lifeboat_daemon.notices import notice_rules
from lifeboat_daemon.notices.metrics_file import DaemonMetrics, write_metrics
from lifeboat_daemon.notices.notice_rules import HOME, NoticeState, UserNotice
from lifeboat_daemon.service.agent_statuses import AgentStatuses
from lifeboat_daemon.service.daemon_tools import DaemonTools
from lifeboat_daemon.service.fleet import Fleet
from lifeboat_daemon.service.watched_agent import WatchedAgent

SOON = 5.0
"""Seconds in which changes are collected before they are reported."""
TELL_AGAIN = 600.0
"""Seconds until a notice that could not be delivered is sent again."""
MOST_UNTOLD = 50


class NoticeSender:
    """Reports what `statuses` contains; `about` describes the daemon itself."""

    def __init__(
        self, parts: DaemonTools, fleet: Fleet, statuses: AgentStatuses, about: Callable[[], JsonObject]
    ) -> None:
        self._parts = parts
        self._fleet = fleet
        self._statuses = statuses
        self._about = about
        self._on_the_way: list[UserNotice] = []
        statuses.on_change = self._changed

    def _changed(self, watched: WatchedAgent, before: AgentStatus | None) -> None:
        self.soon()

    def soon(self) -> None:
        """Report soon: something changed that may need a notice."""
        wait = self._parts.timers.remaining("tell")
        if wait is None or wait > SOON:
            self._parts.timers.at("tell", SOON, self.tell)

    def tell(self) -> None:
        """Send the notices that are due and set a timer for those that become due by time alone."""
        now = self._parts.context.clock.now()
        told = self._parts.notes.told
        found: list[UserNotice] = []
        waits: list[float] = []
        before = dict(told)
        everything = self._statuses.everything()
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
            self._ping_now()  # The monitor learns about trouble, and about its end, at the same time as people do.
        self.write_figures(self._about())

    def offered(self, new: list[JsonObject]) -> None:
        """Report agents that were found and are not protected."""
        notice = notice_rules.make_offers_notice(new)
        self._notify([] if notice is None else [notice])

    def erased(self, agent: Agent) -> None:
        """Report that an agent was purged entirely on another machine and was therefore destroyed here."""
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
        """Send notices. Those that cannot be delivered, because of a missing network or the end of the service, are
        kept and sent again later."""
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
        """Send undelivered notices again, including those of an earlier run."""
        found = [one for one in self._parts.notes.untold if one not in self._on_the_way]
        if found:
            self._parts.spawn(self._reach_somebody(found))

    # Metrics ----------------------------------------------------------------------------------------------------

    def write_figures(self, daemon: JsonObject) -> None:
        """Write `metrics.file` if it is set and any value changed. `daemon` describes the daemon itself."""
        path = str(self._fleet.config.get("metrics.file").value)
        if not path:
            return
        counters = {watched.id: {"captures": watched.captures, "failures": watched.failures} for watched in self._fleet}
        figures = DaemonMetrics.of(self._statuses.everything().to_json(), counters, daemon)
        try:
            write_metrics(self._parts.context.files, path, figures)
        except LifeboatError as error:
            self._parts.log.event("metrics_failed", level="warning", code=error.code)

    # Pings ------------------------------------------------------------------------------------------------------

    def ping_if_due(self) -> None:
        """Call `ping.url` regularly while the daemon runs. The monitor raises the alarm when the calls stop."""
        every = float(self._fleet.config.get("ping.every").value)
        if due_checks.is_ping_due(self._parts.notes.pinged, every, self._parts.context.clock.now()):
            self._ping_now()

    def _ping_now(self) -> None:
        """Call the address with the present state. Nothing is called before the state is known."""
        if self._fleet.config.get("ping.url").value and self._statuses.is_known:
            self._parts.notes.pinged = self._parts.context.now()
            self._parts.remember()
            level = self._statuses.everything().safety.level
            self._parts.spawn(self._ping(ok=level is not SafetyLevel.PROBLEM))

    async def _ping(self, *, ok: bool) -> None:
        await self._beside("ping", {"ok": ok})

    async def _beside(self, operation: str, parameters: JsonObject) -> JsonObject | None:
        """Return the answer of a worker. An error is only logged: it does not concern the copies and changes no
        state."""
        try:
            return await self._parts.queue.put(operation, None, parameters, long=False)
        except LifeboatError as error:
            self._parts.log.event(f"{operation}_failed", level="warning", code=error.code)
            return None
