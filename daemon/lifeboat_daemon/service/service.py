"""The daemon as a whole: how it begins, what wakes it, and how it ends.

file events --> Watcher --> Captures --> Queue --> Workers --> a worker process
timers, sleep, requests ------^                        |
                                              facts and what to watch
control socket <-- Standings, Upkeep <-----------------+
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_daemon import offers
from lifeboat_daemon.context import Context
from lifeboat_daemon.control.server import Server
from lifeboat_daemon.logs import Log
from lifeboat_daemon.schedule import awake
from lifeboat_daemon.schedule.gaps import Gaps
from lifeboat_daemon.schedule.timers import Timers
from lifeboat_daemon.service import key_looks, notes
from lifeboat_daemon.service.answers import Answers
from lifeboat_daemon.service.captures import Captures
from lifeboat_daemon.service.charge import Charge
from lifeboat_daemon.service.fleet import Fleet
from lifeboat_daemon.service.key_looks import KeyLooks
from lifeboat_daemon.service.news import News
from lifeboat_daemon.service.parts import Parts
from lifeboat_daemon.service.standings import Standings
from lifeboat_daemon.service.upkeep import Upkeep
from lifeboat_daemon.units import notify
from lifeboat_daemon.watch.watcher import Signal, Watcher
from lifeboat_daemon.work.pool import Workers
from lifeboat_daemon.work.queue import Queue

JsonObject = dict[str, Any]

TICK = 60.0
"""Seconds between two looks at what no event tells of: sleep, a clock that jumped, a watch that died."""
FIRST_TICK = 8.0
"""Seconds: while the worker that made the first captures is still there, it can verify them and look around, too."""
LAST_WORK = 30.0
"""Seconds that a stop leaves to what is being committed."""
STOPPED, UPGRADED = "stopped", "upgraded"


class Service:
    """One daemon. `run` ends when somebody asks for it, and says why: `stopped`, or `upgraded`: the program on disk is
    of another release, and a daemon of that one has to take over."""

    def __init__(
        self, context: Context, log: Log, *, release: str, worker_command: Sequence[str] | None = None
    ) -> None:
        self.context = context
        self.log = log
        self.release = release
        self.started_at = context.now()
        self.ticks = 0
        self._worker_command = worker_command
        self._ended = asyncio.Event()
        self._why = STOPPED
        self._gaps = Gaps(context.clock)
        self.fleet = Fleet(context)

    async def run(self) -> str:
        """Serve until somebody asks to stop. Raises what keeps the daemon from beginning at all."""
        self._assemble()
        try:
            await self._begin()
            await self._ended.wait()
        finally:
            await self._end()
        return self._why

    def stop(self, why: str = STOPPED) -> None:
        """Begin to end; may be called from a signal handler of the loop."""
        self._why = why
        self._ended.set()

    # Beginning and ending ---------------------------------------------------------------------------------------

    def _assemble(self) -> None:
        loop = asyncio.get_running_loop()
        workers = Workers(loop, command=self._worker_command)
        workers.on_upgrade = self._upgraded
        workers.on_event = lambda kind, fields: self.log.event(kind, "debug", **fields)
        self.parts = Parts(
            context=self.context,
            log=self.log,
            timers=Timers(loop, clock=self.context.clock),
            watcher=Watcher(loop, self._signalled),
            workers=workers,
            queue=Queue(workers),
            notes=notes.read(self.context),
        )
        self.standings = Standings(self.parts, self.fleet)
        self.captures = Captures(self.parts, self.fleet, self.standings)
        self.news = News(self.parts, self.fleet, self.standings, self.about)
        self.upkeep = Upkeep(self.parts, self.fleet, self.standings, self.news)
        self.upkeep.on_names = self._watch_for_runtimes
        self.key_looks = KeyLooks(self.parts, self.standings)
        answers = Answers(
            self.parts,
            self.fleet,
            self.standings,
            self.captures,
            self.upkeep,
            self.key_looks,
            about=self.about,
            reload=self.reload,
            stop=self.stop,
        )
        self.server = Server(self.context, self.release, answers.handlers(), report=self.log)
        self.parts.publish = self.server.publish
        self.parts.queue.on_change = self._job_changed

    def _signalled(self, signal: Signal) -> None:
        self.captures.signalled(signal)

    def _job_changed(self, job: JsonObject) -> None:
        self.server.publish({"event": "job", **job})

    async def _begin(self) -> None:
        awake.note_start(self.context)
        self.parts.timers.start()
        await self.server.start()
        reached(Step.DAEMON_LISTENING)
        notify.sd_notify("READY=1")
        self.log.event("started", pid=os.getpid(), release=self.release)
        await self._recover()
        self.key_looks.look()
        self.reload()
        self._watch_files()
        self.parts.timers.at("tick", min(TICK, FIRST_TICK), self.tick)

    async def _recover(self) -> None:
        """What a crash interrupted is finished before anything is captured: a restore, the replacing of a key."""
        try:
            await self.parts.queue.put("recover", None, {}, long=False)
        except LifeboatError as error:
            self.log.event("recover_failed", level="error", code=error.code)

    async def _end(self) -> None:
        reached(Step.DAEMON_STOPPING)
        notify.sd_notify("STOPPING=1")
        self.log.event("stopping", why=self._why)
        self.server.publish({"event": "stopping", "why": self._why})
        self.parts.watcher.stop()
        await self.parts.timers.stop()
        await self.parts.workers.stop(LAST_WORK)
        await asyncio.gather(*self.parts.tasks, return_exceptions=True)
        awake.note_stop(self.context)
        self.news.write_figures({**self.about(), "running": False})
        await self.server.stop()
        self.log.event("stopped")

    def _upgraded(self, release: str) -> None:
        if release != self.release:
            self.log.event("upgraded", release=release)
            self.stop(UPGRADED)

    # What the user decided --------------------------------------------------------------------------------------

    def reload(self) -> None:
        """Read settings and agents, and take care of what changed."""
        new, gone = self.fleet.load()
        self.standings.began = True
        if self.fleet.problem:
            self.log.event("config_refused", level="error")
        for agent_id in gone:
            self._leave(agent_id)
        for charge in new:
            self.parts.spawn(self._take_care(charge))
        for charge in self.fleet:
            self.captures.follow_schedule(charge)
            self.captures.arrange(charge)
        self.standings.judge_all()
        notify.sd_notify(f"STATUS={len(self.fleet.charges)} agents")

    async def _take_care(self, charge: Charge) -> None:
        """How it stands is known at once, and it is watched before it is captured for the first time."""
        await self.upkeep.look_up(charge)
        self.captures.look_at(charge, "start")

    def _leave(self, agent_id: str) -> None:
        self.parts.watcher.leave(agent_id)
        for name in ("capture", "resume", "schedule"):
            self.parts.timers.cancel(f"{name} {agent_id}")
        self.parts.publish({"event": "gone", "agent": agent_id})

    def _watch_files(self) -> None:
        home = self.context.home
        watch = self.parts.watcher.watch_files
        watch(home.folder, {home.config_file.name, "private.toml"}, self._reload_soon)
        watch(home.agents_folder, {"*.toml"}, self._reload_soon)
        watch(home.keys_folder, set(key_looks.FILES), self.key_looks.soon)
        self._watch_for_runtimes(offers.last(self.context).watch_names)

    def _watch_for_runtimes(self, names: Collection[str]) -> None:
        self.parts.watcher.watch_files(self.context.user_home, set(names), self._look_around_soon)

    def _reload_soon(self) -> None:
        """Files are written in several steps."""
        self.parts.timers.at("reload", 0.3, self.reload)

    def _look_around_soon(self) -> None:
        """A runtime that is being installed is not complete at once. One that never rests does not put the look off."""
        if self.parts.timers.remaining("look around") is None:
            self.parts.timers.at("look around", 60.0, self.upkeep.look_around)

    # Time -------------------------------------------------------------------------------------------------------

    def _tick_later(self) -> None:
        self.parts.timers.at("tick", TICK, self.tick)

    def tick(self) -> None:
        """Look at what no event tells of. Nothing is written and nobody is woken while nothing happened."""
        self._tick_later()
        self.ticks += 1
        notify.sd_notify("WATCHDOG=1")
        gap = self._gaps.look()
        if gap is not None:
            self._after(gap.slept, gap.jumped)
        self.parts.watcher.check()
        self.parts.spawn(self.server.check())
        self.standings.judge_all()
        self.upkeep.tick()
        self.key_looks.tick()
        self.news.ping_if_due()

    def _after(self, slept: float, jumped: float) -> None:
        """Timers are set again; after sleep one look at everybody makes up for all that was missed."""
        self.log.event("woke" if slept else "clock_jumped", slept=int(slept), jumped=int(jumped))
        self.parts.timers.woke()
        if slept:
            now = self.context.clock.now()
            awake.note_sleep(self.context, now - timedelta(seconds=slept), now)
            for charge in self.fleet:
                self.captures.look_at(charge, "wake")
            self.key_looks.asked()

    # About ------------------------------------------------------------------------------------------------------

    def about(self) -> JsonObject:
        """The daemon itself, as `status` tells of it."""
        return {
            "running": True,
            "pid": os.getpid(),
            "version": self.release,
            "started_at": self.started_at,
            "address": self.server.address,
            "ticks": self.ticks,
            "python": sys.executable,
        }
