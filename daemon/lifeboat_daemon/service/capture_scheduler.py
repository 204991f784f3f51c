"""Schedule captures: from file events to the answer of a worker."""

from __future__ import annotations

import asyncio
from datetime import datetime

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.capture.sync_json import failure_document
from lifeboat_core.errors import Busy, Cancelled
from lifeboat_daemon.schedule.cadence import MANUAL, REQUEST, SCHEDULED
from lifeboat_daemon.service.agent_statuses import AgentStatuses
from lifeboat_daemon.service.daemon_tools import DaemonTools
from lifeboat_daemon.service.fleet import Fleet
from lifeboat_daemon.service.watched_agent import WatchedAgent
from lifeboat_daemon.watch.agent_watcher import CHANGED, WatchSignal


class CaptureScheduler:
    """Decides when each agent is captured, and handles the results."""

    def __init__(self, parts: DaemonTools, fleet: Fleet, standings: AgentStatuses) -> None:
        self._parts = parts
        self._fleet = fleet
        self._standings = standings

    def signalled(self, signal: WatchSignal) -> None:
        """Handle a file event in a workspace. It tells when to look, not what changed."""
        charge = self._fleet.get(signal.agent)
        if charge is None:
            return
        reach_crash_point(CrashPoint.DAEMON_SIGNALLED)
        now = self._parts.seconds()
        if signal.kind == CHANGED:
            charge.pacer.changed(now)
        else:
            charge.pacer.wants_scan(now, signal.kind)
        self.arrange(charge)

    def leaves_alone(self, charge: WatchedAgent) -> bool:
        """Return whether no capture will report the status of an agent, because none begins by itself."""
        return charge.pacer.timing.cadence == MANUAL or charge.rests(self._parts.context.now())

    def look_at(self, charge: WatchedAgent, reason: str) -> None:
        """Capture an agent as soon as its cadence allows it: at the start, after sleep, when a pause ends."""
        charge.pacer.wants_scan(self._parts.seconds(), reason)
        self.arrange(charge)

    def arrange(self, charge: WatchedAgent) -> None:
        """Begin a capture or set a timer for it. Called after every change that could affect the time."""
        if charge.is_gone:
            return
        name = f"capture {charge.id}"
        self._arrange_resume(charge)
        if charge.rests(self._parts.context.now()):
            self._parts.timers.cancel(name)
            return
        due = charge.pacer.due(self._parts.seconds())
        if due is None:
            self._parts.timers.cancel(name)
            return
        wait = due.at - self._parts.seconds()
        if wait > 0:
            self._warm_in_time(charge, wait)
            self._parts.timers.at(name, wait, lambda: self.arrange(charge))
            return
        self._parts.timers.cancel(name)
        self._begin(charge, due.reason)

    def _warm_in_time(self, charge: WatchedAgent, wait: float) -> None:
        """Start a worker while the agent still writes, so that it is ready when the debounce ends."""
        if wait <= charge.pacer.timing.debounce + 1:
            self._parts.workers.warm()

    def _arrange_resume(self, charge: WatchedAgent) -> None:
        name, until = f"resume {charge.id}", charge.agent.paused_until
        if not charge.agent.paused or until is None:
            self._parts.timers.cancel(name)
            return
        wait = (times.parse_time(until) - self._parts.context.clock.now()).total_seconds()
        if wait > 0:
            self._parts.timers.at(name, wait, lambda: self._resumed(charge))

    def _resumed(self, charge: WatchedAgent) -> None:
        self._standings.judge(charge)
        self.look_at(charge, "resume")

    def follow_schedule(self, charge: WatchedAgent) -> None:
        """Set the timer of the cadence `scheduled`. A missed time is made up for by one immediate capture."""
        name = f"schedule {charge.id}"
        if charge.pacer.timing.cadence != SCHEDULED:
            self._parts.timers.cancel(name)
            return
        last = self._parts.notes.scheduled.get(charge.id) or charge.agent.added_at or None
        self._parts.timers.cron(name, charge.pacer.timing.cron, lambda: self._scheduled(charge), _moment(last))

    def _scheduled(self, charge: WatchedAgent) -> None:
        self._parts.notes.scheduled[charge.id] = self._parts.context.now()
        self._parts.remember()
        self.look_at(charge, "schedule")

    def _begin(self, charge: WatchedAgent, reason: str) -> None:
        """Start a capture. It is recorded immediately so that no second one begins before it runs."""
        charge.pacer.began(self._parts.seconds())
        self._parts.spawn(self._capture(charge, reason, full=False))

    async def asked_for(self, charge: WatchedAgent, *, full: bool = False) -> JsonObject:
        """Capture an agent now and return its part of `sync --json`. Never raises for a failure: the document reports
        it."""
        charge.pacer.began(self._parts.seconds())
        return await asyncio.shield(self._parts.spawn(self._capture(charge, REQUEST, full=full)))

    async def _capture(self, charge: WatchedAgent, reason: str, *, full: bool) -> JsonObject:
        """Run a capture and report its beginning and every kind of end to the pacer."""
        complete, due_in = False, None
        try:
            with self._standings.at_work(charge, "capture"):
                wanted = {"reason": reason, "full": full, "asked": reason == REQUEST}
                future = self._parts.queue.put("capture", charge.id, wanted, long=charge.is_new)
                document = self._ended(charge, await asyncio.shield(future), reason)
                complete, due_in = not document["unstable"], document["due_in"]
                return document
        except Exception as error:
            return self._failed(charge, self._parts.known(error))
        finally:
            charge.pacer.ended(self._parts.seconds(), complete=complete, due_in=due_in)
            self.arrange(charge)

    def _failed(self, charge: WatchedAgent, error: LifeboatError) -> JsonObject:
        """Record a failure. A busy lock is not a failure: the capture waits for it, and the status says so. Neither is
        the end of the daemon, nor the removal of the agent."""
        document = failure_document(charge.agent, charge.facts.sequence if charge.facts else None, error)
        if charge.is_gone or error.code == Cancelled.code:
            return document
        busy = error.code == Busy.code
        charge.blocked = error.message if busy else None
        charge.failures += not busy
        kind = "capture_waits" if busy else "capture_failed"
        self._parts.log.event(kind, level="info" if busy else "error", agent=charge.id, code=error.code)
        self._standings.failed(charge, None if busy else error)
        return document

    def _ended(self, charge: WatchedAgent, answer: JsonObject, reason: str) -> JsonObject:
        """Handle the result of a capture once, however many callers had requested it."""
        document: JsonObject = answer["capture"]
        charge.blocked = None
        if charge.last is document:
            return document
        charge.last = document
        charge.captures += 1
        if document["changed"]:
            self._parts.log.event("captured", agent=charge.id, sequence=document["sequence"], reason=reason)
            self._parts.publish({"event": "capture", "agent": charge.id, "name": charge.agent.name, **document})
        self._standings.took(charge, answer)
        return document


def _moment(text: str | None) -> datetime | None:
    return times.parse_time(text) if text else None
