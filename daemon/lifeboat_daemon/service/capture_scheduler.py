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

    def __init__(self, parts: DaemonTools, fleet: Fleet, statuses: AgentStatuses) -> None:
        self._parts = parts
        self._fleet = fleet
        self._statuses = statuses

    def signalled(self, signal: WatchSignal) -> None:
        """Handle a file event in a workspace. It tells when to look, not what changed."""
        watched = self._fleet.get(signal.agent)
        if watched is None:
            return
        reach_crash_point(CrashPoint.DAEMON_SIGNALLED)
        now = self._parts.seconds()
        if signal.kind == CHANGED:
            watched.pacer.changed(now)
        else:
            watched.pacer.wants_scan(now, signal.kind)
        self.arrange(watched)

    def leaves_alone(self, watched: WatchedAgent) -> bool:
        """Return whether no capture will report the status of an agent, because none begins by itself."""
        return watched.pacer.timing.cadence == MANUAL or watched.rests(self._parts.context.now())

    def look_at(self, watched: WatchedAgent, reason: str) -> None:
        """Capture an agent as soon as its cadence allows it: at the start, after sleep, when a pause ends."""
        watched.pacer.wants_scan(self._parts.seconds(), reason)
        self.arrange(watched)

    def arrange(self, watched: WatchedAgent) -> None:
        """Begin a capture or set a timer for it. Called after every change that could affect the time."""
        if watched.is_gone:
            return
        name = f"capture {watched.id}"
        self._arrange_resume(watched)
        if watched.rests(self._parts.context.now()):
            self._parts.timers.cancel(name)
            return
        due = watched.pacer.due(self._parts.seconds())
        if due is None:
            self._parts.timers.cancel(name)
            return
        wait = due.at - self._parts.seconds()
        if wait > 0:
            self._warm_in_time(watched, wait)
            self._parts.timers.at(name, wait, lambda: self.arrange(watched))
            return
        self._parts.timers.cancel(name)
        self._begin(watched, due.reason)

    def _warm_in_time(self, watched: WatchedAgent, wait: float) -> None:
        """Start a worker while the agent still writes, so that it is ready when the debounce ends."""
        if wait <= watched.pacer.timing.debounce + 1:
            self._parts.workers.warm()

    def _arrange_resume(self, watched: WatchedAgent) -> None:
        name, until = f"resume {watched.id}", watched.agent.paused_until
        if not watched.agent.paused or until is None:
            self._parts.timers.cancel(name)
            return
        wait = (times.parse_time(until) - self._parts.context.clock.now()).total_seconds()
        if wait > 0:
            self._parts.timers.at(name, wait, lambda: self._resumed(watched))

    def _resumed(self, watched: WatchedAgent) -> None:
        self._statuses.judge(watched)
        self.look_at(watched, "resume")

    def follow_schedule(self, watched: WatchedAgent) -> None:
        """Set the timer of the cadence `scheduled`. A missed time is made up for by one immediate capture."""
        name = f"schedule {watched.id}"
        if watched.pacer.timing.cadence != SCHEDULED:
            self._parts.timers.cancel(name)
            return
        last = self._parts.notes.scheduled.get(watched.id) or watched.agent.added_at or None
        self._parts.timers.cron(name, watched.pacer.timing.cron, lambda: self._scheduled(watched), _moment(last))

    def _scheduled(self, watched: WatchedAgent) -> None:
        self._parts.notes.scheduled[watched.id] = self._parts.context.now()
        self._parts.remember()
        self.look_at(watched, "schedule")

    def _begin(self, watched: WatchedAgent, reason: str) -> None:
        """Start a capture. It is recorded immediately so that no second one begins before it runs."""
        watched.pacer.began(self._parts.seconds())
        self._parts.spawn(self._capture(watched, reason, full=False))

    async def asked_for(self, watched: WatchedAgent, *, full: bool = False) -> JsonObject:
        """Capture an agent now and return its part of `sync --json`. Never raises for a failure: the document reports
        it."""
        watched.pacer.began(self._parts.seconds())
        return await asyncio.shield(self._parts.spawn(self._capture(watched, REQUEST, full=full)))

    async def _capture(self, watched: WatchedAgent, reason: str, *, full: bool) -> JsonObject:
        """Run a capture and report its beginning and every kind of end to the pacer."""
        complete, due_in = False, None
        try:
            with self._statuses.at_work(watched, "capture"):
                wanted = {"reason": reason, "full": full, "asked": reason == REQUEST}
                future = self._parts.queue.put("capture", watched.id, wanted, long=watched.is_new)
                document = self._ended(watched, await asyncio.shield(future), reason)
                complete, due_in = not document["unstable"], document["due_in"]
                return document
        except Exception as error:
            return self._failed(watched, self._parts.known(error))
        finally:
            watched.pacer.ended(self._parts.seconds(), complete=complete, due_in=due_in)
            self.arrange(watched)

    def _failed(self, watched: WatchedAgent, error: LifeboatError) -> JsonObject:
        """Record a failure. A busy lock is not a failure: the capture waits for it, and the status says so. Neither is
        the end of the daemon, nor the removal of the agent."""
        document = failure_document(watched.agent, watched.facts.sequence if watched.facts else None, error)
        if watched.is_gone or error.code == Cancelled.code:
            return document
        busy = error.code == Busy.code
        watched.blocked = error.message if busy else None
        watched.failures += not busy
        kind = "capture_waits" if busy else "capture_failed"
        self._parts.log.event(kind, level="info" if busy else "error", agent=watched.id, code=error.code)
        self._statuses.failed(watched, None if busy else error)
        return document

    def _ended(self, watched: WatchedAgent, answer: JsonObject, reason: str) -> JsonObject:
        """Handle the result of a capture once, however many callers had requested it."""
        document: JsonObject = answer["capture"]
        watched.blocked = None
        if watched.last is document:
            return document
        watched.last = document
        watched.captures += 1
        if document["changed"]:
            self._parts.log.event("captured", agent=watched.id, sequence=document["sequence"], reason=reason)
            self._parts.publish({"event": "capture", "agent": watched.id, "name": watched.agent.name, **document})
        self._statuses.took(watched, answer)
        return document


def _moment(text: str | None) -> datetime | None:
    return times.parse_time(text) if text else None
