"""The daemon as a whole: how it starts, what wakes it, and how it ends.

file events --> AgentWatcher --> CaptureScheduler, Replication --> WorkQueue --> WorkerPool --> a worker process
timers, sleep, requests ------------------^-----------^                                               |
                                          |           |  facts and folders to watch                   |
control socket <-- AgentStatuses, PeriodicChecks -----+-----------------------------------------------+
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.agents import offers
from lifeboat_core.errors import Cancelled
from lifeboat_core.health import sleep_ledger
from lifeboat_core.home.context import Context
from lifeboat_core.settings import config_file
from lifeboat_core.texts.human_text import count_text
from lifeboat_daemon.control.control_server import ControlServer
from lifeboat_daemon.schedule.clock_gaps import ClockGapDetector
from lifeboat_daemon.schedule.timers import Timers
from lifeboat_daemon.service import daemon_notes, key_checks
from lifeboat_daemon.service.agent_statuses import AgentStatuses
from lifeboat_daemon.service.capture_scheduler import CaptureScheduler
from lifeboat_daemon.service.control_answers import ControlAnswers
from lifeboat_daemon.service.daemon_tools import DaemonTools
from lifeboat_daemon.service.event_log import EventLog
from lifeboat_daemon.service.fleet import Fleet
from lifeboat_daemon.service.key_checks import KeyChecks
from lifeboat_daemon.service.notice_sender import NoticeSender
from lifeboat_daemon.service.periodic_checks import PeriodicChecks
from lifeboat_daemon.service.replication import Replication
from lifeboat_daemon.service.watched_agent import WatchedAgent
from lifeboat_daemon.units import systemd_notify
from lifeboat_daemon.watch.agent_watcher import GONE, AgentWatcher, WatchSignal
from lifeboat_daemon.work.work_queue import WorkQueue
from lifeboat_daemon.work.worker_pool import WorkerPool

TICK = 60.0
"""Seconds between two checks of what causes no event: sleep, a clock that jumped, a watch that died."""
FIRST_TICK = 8.0
"""Seconds. At this time the worker that made the first captures still runs and can also verify and discover."""
LAST_WORK = 30.0
"""Seconds that a stop allows for running commits."""
LAST_WORDS = 5.0
"""Seconds, after all workers have ended, for what waited for them. A worker that hangs in a file system never ends."""
STOPPED, UPGRADED, DISPLACED = "stopped", "upgraded", "displaced"


class DaemonService:
    """One daemon. `run` returns why it ended: `stopped`; `upgraded`: another release is installed, and its daemon has
    to take over; `displaced`: `is_alone` returned False."""

    make_workers: Callable[..., WorkerPool] = WorkerPool
    make_watcher: Callable[..., AgentWatcher] = AgentWatcher

    def __init__(
        self, context: Context, log: EventLog, *, release: str, worker_command: Sequence[str] | None = None
    ) -> None:
        self.context = context
        self.log = log
        self.release = release
        self.started_at = context.now()
        self.ticks = 0
        self._worker_command = worker_command
        self._ended = asyncio.Event()
        self._up = asyncio.Event()
        self._why = STOPPED
        self._gaps = ClockGapDetector(context.clock)
        self.fleet = Fleet(context)
        self.is_alone: Callable[[], bool] = lambda: True

    async def run(self) -> str:
        """Serve until a stop is requested. Raises the error that prevents the start."""
        self._assemble()
        try:
            await self._begin()
            await self._recover()
            if not self._ended.is_set():
                self._take_up()
            await self._ended.wait()
        finally:
            await self._end()
        return self._why

    def stop(self, why: str = STOPPED) -> None:
        """Request the end. Can be called from a signal handler of the loop. The first reason stays: after `stopped` the
        daemon is not started again."""
        if not self._ended.is_set() or why != UPGRADED:
            self._why = why
        self._ended.set()
        self._up.set()

    async def up(self) -> None:
        """Wait until the agents are loaded. Raises Cancelled if the daemon ends first."""
        await self._up.wait()
        if self._ended.is_set():
            raise Cancelled("the daemon is stopping")

    # Start and end ----------------------------------------------------------------------------------------------

    def _assemble(self) -> None:
        loop = asyncio.get_running_loop()
        workers = self.make_workers(loop, command=self._worker_command)
        workers.on_upgrade = self._upgraded
        workers.on_event = lambda kind, fields: self.log.event(kind, "debug", **fields)
        self.parts = DaemonTools(
            context=self.context,
            log=self.log,
            timers=Timers(loop, clock=self.context.clock),
            watcher=self.make_watcher(loop, self._signalled),
            workers=workers,
            queue=WorkQueue(workers),
            notes=daemon_notes.load_notes(self.context),
        )
        self.statuses = AgentStatuses(self.parts, self.fleet)
        self.captures = CaptureScheduler(self.parts, self.fleet, self.statuses)
        self.news = NoticeSender(self.parts, self.fleet, self.statuses, self.about)
        self.periodic_checks = PeriodicChecks(self.parts, self.fleet, self.statuses, self.news)
        self.periodic_checks.on_names = self._watch_for_runtimes
        self.replication = Replication(
            self.parts, self.fleet, self.statuses, self.periodic_checks.look_up, erased=self.news.erased
        )
        self.statuses.on_facts = self.replication.seen
        self.key_checks = KeyChecks(self.parts, self.statuses)
        self.answers = ControlAnswers(self)
        self.server = ControlServer(self.context, self.release, self.answers.handlers(), report=self.log)
        self.parts.publish = self.server.publish
        self.parts.queue.on_change = self._job_changed

    def _signalled(self, signal: WatchSignal) -> None:
        self.captures.signalled(signal)
        watched = self.fleet.get(signal.agent)
        if watched is not None and self.captures.leaves_alone(watched) and _comes_or_goes(watched, signal):
            self.parts.spawn(self.periodic_checks.look_up(watched))

    def _job_changed(self, job: JsonObject) -> None:
        self.server.publish({"event": "job", **job})

    async def _begin(self) -> None:
        sleep_ledger.note_start(self.context)
        self.parts.timers.start()
        await self.server.start()
        reach_crash_point(CrashPoint.DAEMON_LISTENING)
        systemd_notify.notify_ready()
        self.log.event("started", pid=os.getpid(), release=self.release)
        self._tick_later()

    async def _recover(self) -> None:
        """Finish what a crash interrupted before anything is captured: a restore, the rotation of a key. It may take
        long, so the daemon feeds the watchdog meanwhile and stops on request."""
        recovering, ended = self.parts.spawn(self._have_recovered()), asyncio.ensure_future(self._ended.wait())
        await asyncio.wait({recovering, ended}, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()

    async def _have_recovered(self) -> None:
        try:
            await self.parts.queue.put("recover", None, {}, long=False)
        except LifeboatError as error:
            self.log.event("recover_failed", level="error", code=error.code)

    def _take_up(self) -> None:
        """Load all agents."""
        self._up.set()
        self.key_checks.look()
        self.reload()
        self._watch_files()
        self.news.tell_again()
        self.parts.timers.at("tick", min(TICK, FIRST_TICK), self.tick)

    async def _end(self) -> None:
        reach_crash_point(CrashPoint.DAEMON_STOPPING)
        systemd_notify.notify_stopping()
        self.log.event("stopping", why=self._why)
        self.server.publish({"event": "stopping", "why": self._why})
        self.parts.watcher.stop()
        await self.parts.timers.stop()
        await self.parts.workers.stop(LAST_WORK)
        await self.parts.finish(LAST_WORDS)
        sleep_ledger.note_stop(self.context)
        self.news.write_figures({**self.about(), "running": False})
        await self.server.stop()
        self.log.event("stopped")

    def _upgraded(self, release: str) -> None:
        if release != self.release:
            self.log.event("upgraded", release=release)
            self.stop(UPGRADED)

    # The user's files -------------------------------------------------------------------------------------------

    def reload(self) -> None:
        """Read settings and agents and apply the changes. Does nothing before all agents are loaded or after the end
        began."""
        if self._ended.is_set() or not self._up.is_set():
            return
        new, gone = self.fleet.load()
        self.statuses.began = True
        if self.fleet.problem:
            self.log.event("config_refused", level="error")
        for agent_id in gone:
            self._leave(agent_id)
        for watched in new:
            self.parts.spawn(self._take_care(watched))
        for watched in self.fleet:
            self.captures.follow_schedule(watched)
            self.captures.arrange(watched)
        self.replication.forgive()
        self.statuses.judge_all()
        systemd_notify.notify_status(count_text(len(self.fleet.watched_agents), "agent"))

    async def _take_care(self, watched: WatchedAgent) -> None:
        """Determine the status of a new agent, and watch it before its first capture."""
        await self.periodic_checks.look_up(watched)
        self.captures.look_at(watched, "start")

    def _leave(self, agent_id: str) -> None:
        self.parts.watcher.leave(agent_id)
        for name in ("capture", "resume", "schedule"):
            self.parts.timers.cancel(f"{name} {agent_id}")
        self.replication.leave(agent_id)
        self.parts.queue.cancel(agent_id)
        self.parts.notes.forget(agent_id)
        self.parts.publish({"event": "gone", "agent": agent_id})

    def _watch_files(self) -> None:
        home = self.context.home
        watch = self.parts.watcher.watch_files
        watch(home.folder, {config_file.FILE, config_file.PRIVATE_FILE}, self._reload_soon)
        watch(home.agents_folder, {"*.toml"}, self._reload_soon)
        watch(home.keys_folder, set(key_checks.FILES), self.key_checks.soon)
        watch(home.remotes_folder, {"*.toml"}, self._remotes_soon)
        self._watch_for_runtimes(offers.load_last_discovery(self.context).watch_names)

    def _watch_for_runtimes(self, names: Collection[str]) -> None:
        self.parts.watcher.watch_files(self.context.user_home, set(names), self._look_around_soon)

    def _reload_soon(self) -> None:
        """Reload soon: files are written in several steps. Continuous writes do not postpone it forever."""
        if self.parts.timers.remaining("reload") is None:
            self.parts.timers.at("reload", 0.3, self.reload)

    def _remotes_soon(self) -> None:
        """Reload the remotes soon: a remote is a file and a token, written one after the other."""
        if self.parts.timers.remaining("remotes") is None:
            self.parts.timers.at("remotes", 0.3, self.replication.files_changed)

    def _look_around_soon(self) -> None:
        """Discover soon: a runtime that is being installed is not complete at once. Continuous changes do not postpone
        it forever."""
        if self.parts.timers.remaining("look around") is None:
            self.parts.timers.at("look around", 60.0, self.periodic_checks.look_around)

    # Time -------------------------------------------------------------------------------------------------------

    def _tick_later(self) -> None:
        self.parts.timers.at("tick", TICK, self.tick)

    def tick(self) -> None:
        """Check what causes no event. Nothing is written while nothing happened."""
        if not self.is_alone():
            self.stop(DISPLACED)
            return
        self._tick_later()
        self.ticks += 1
        systemd_notify.notify_watchdog()
        gap = self._gaps.look()
        if gap is not None:
            self._after(gap.slept, gap.jumped)
        self.parts.watcher.check()
        self.parts.spawn(self.server.check())
        self.parts.publish({"event": "tick", "time": self.context.now()})
        if not self._up.is_set():
            return
        self.statuses.judge_all()
        self.periodic_checks.tick()
        self.replication.tick()
        self.key_checks.tick()
        self.news.ping_if_due()

    def _after(self, slept: float, jumped: float) -> None:
        """Set all timers again. After sleep, one scan of every agent makes up for everything missed."""
        self.log.event("woke" if slept else "clock_jumped", slept=int(slept), jumped=int(jumped))
        self.parts.timers.woke()
        if not slept:
            for watched in self.fleet:
                self.captures.arrange(watched)  # A pause may have ended, or apply again after the clock jumped back.
            return
        now = self.context.clock.now()
        sleep_ledger.note_sleep(self.context, now - timedelta(seconds=slept), now)
        for watched in self.fleet:
            self.captures.look_at(watched, "wake")  # It joins what fell due meanwhile, so that one capture is made.
        self.key_checks.asked()
        self.replication.forgive()

    # Description ------------------------------------------------------------------------------------------------

    def about(self) -> JsonObject:
        """Describe the daemon itself for `status`."""
        return {
            "running": True,
            "pid": os.getpid(),
            "version": self.release,
            "started_at": self.started_at,
            "address": self.server.address,
            "ticks": self.ticks,
            "python": sys.executable,
        }


def _comes_or_goes(watched: WatchedAgent, signal: WatchSignal) -> bool:
    """Return whether an existing workspace disappeared, or a missing one came back."""
    was_gone = watched.facts is not None and watched.facts.is_gone
    return was_gone != (signal.kind == GONE)
