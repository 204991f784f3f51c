"""The whole service within a test: real timers, queue, pool and socket, on a clock that advances only when nothing else
happens. A world under the control of the test replaces worker processes and file events."""

from __future__ import annotations

import asyncio
import selectors
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

from lifeboat_alf.common import ids, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import Busy, DiskFull, WorkerFailed
from lifeboat_core.home.context import Context
from lifeboat_daemon.control import error_documents
from lifeboat_daemon.service.daemon_service import STOPPED, DaemonService
from lifeboat_daemon.service.event_log import EventLog
from lifeboat_daemon.watch.agent_watcher import CHANGED, AgentWatcher, WatchCoverage, WatchSignal
from lifeboat_daemon.watch.watch_plan import WatchPlan
from lifeboat_daemon.work.time_limits import TRANSFERS
from lifeboat_daemon.work.worker_messages import JobFailure, JobProgress, JobResult, WorkerJob, WorkerReady
from lifeboat_daemon.work.worker_pool import WorkerPool
from lifeboat_daemon.work.worker_process import WorkerProcess

T = TypeVar("T")
RELEASE = "1.0.0"
OK, BUSY, FAILED, UNSTABLE, CRASH, HANG, NONSENSE = "ok", "busy", "failed", "unstable", "crash", "hang", "nonsense"
BASE = datetime(2026, 11, 20, 9, tzinfo=UTC)


class StandsStill(AssertionError):
    """No event can ever happen again."""


class _Selector(selectors.DefaultSelector):
    """Never waits: it advances the time instead."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise StandsStill
        # A smaller amount would vanish in the sum, and the time would never pass.
        self.loop.passed += max(timeout, 1e-6)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes immediately."""

    def __init__(self) -> None:
        self.passed = 0.0
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.passed


@dataclass
class VirtualClock:
    """The loop's time, plus what the loop does not know: `slept` and `jumped`, in seconds."""

    loop: VirtualLoop
    slept: float = 0.0
    jumped: float = 0.0

    def now(self) -> datetime:
        return BASE + timedelta(seconds=self.loop.passed + self.slept + self.jumped)

    def since_boot(self) -> float:
        return 1000.0 + self.loop.passed + self.slept

    def monotonic(self) -> float:
        return 1000.0 + self.loop.passed

    def boot_id(self) -> str:
        return "boot"


class QuickFiles(SystemFiles):
    """File operations without fsync: nothing here has to survive a power failure."""

    def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
        super().write_new(path, data, mode=mode, sync=False)

    def sync_folder(self, path: StrPath) -> None:
        return


class Notebook:
    """The log: events, and unexpected errors."""

    def __init__(self) -> None:
        self.kinds: list[tuple[str, JsonObject]] = []
        self.mistakes: list[BaseException] = []

    def event(self, kind: str, /, level: str = "info", **fields: object) -> None:
        self.kinds.append((kind, dict(fields)))

    def exception(self, kind: str, error: BaseException, /, level: str = "error", **fields: object) -> None:
        self.mistakes.append(error)

    def count(self, kind: str) -> int:
        return sum(each == kind for each, _ in self.kinds)


@dataclass
class Remote:
    """A remote. `has` is what it has of each agent. `answers` are the outcomes of the next pushes (`ok` after them,
    HANG for one that never answers), or the fields of an outcome. `takes` is the duration of each. `pushes` are all
    pushes received, as (seconds, agent, asked). `known` is what agents know of the last try. `purges` are agents with a
    purge that it has not applied: it is reported at the next push (None), and then waits for a day. `holds` is the
    result of reading it back."""

    name: str
    optional: bool = False
    holds: bool = True
    takes: float = 1.0
    has: dict[str, int] = field(default_factory=dict)
    verified: dict[str, str] = field(default_factory=dict)
    answers: list[JsonObject] = field(default_factory=list)
    pushes: list[tuple[float, str, bool]] = field(default_factory=list)
    reads: list[tuple[float, str]] = field(default_factory=list)
    known: dict[str, JsonObject] = field(default_factory=dict)
    purges: dict[str, datetime | None] = field(default_factory=dict)

    def hears_of_purges(self, agent: str, now: datetime) -> None:
        asked_at = self.purges.get(agent, now)
        if asked_at is None:
            self.purges[agent] = now + timedelta(days=1)
        elif asked_at <= now:
            self.purges.pop(agent, None)


@dataclass
class Place:
    """One workspace and its copy, by version. `outcomes` are those of the next captures, `ok` after them; `takes` is
    the duration of each; `held` is the version before a removal that looks like an accident."""

    version: int = 0
    kept: int | None = None
    verified_at: str | None = None
    outcomes: list[str] = field(default_factory=list)
    takes: float = 0.3
    captures: int = 0
    held: int | None = None


class World:
    """What workers find. `doing` are running jobs; `notices` are the sent notices; `key` is the state of the user's
    key. While it is `immortal`, no worker can be killed."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.places: dict[str, Place] = defaultdict(Place)
        self.remotes: list[Remote] = []
        self.outcomes: dict[str, list[str]] = defaultdict(list)
        self.takes: dict[str, float] = defaultdict(lambda: 0.1)
        self.doing: list[WorkerJob] = []
        self.done: list[WorkerJob] = []
        self.notices: list[JsonObject] = []
        self.violations: list[str] = []
        self.release = RELEASE
        self.immortal = False
        self.key = "ok"
        self.followed: dict[str, WatchPlan] = {}
        self.files: dict[str, Callable[[], None]] = {}
        self.tell: Callable[[WatchSignal], None] = lambda _: None
        self.on_capture: Callable[[WorkerJob], None] = lambda _: None

    def now(self) -> str:
        return times.to_text(self.clock.now())

    async def do(self, job: WorkerJob) -> JobResult | JobFailure:
        """Perform a job as a worker would. Raises WorkerFailed if the worker dies of it."""
        if any(_are_in_each_others_way(each, job) for each in self.doing):
            self.violations.append(f"{job.operation} of an agent at which somebody works")
        self.doing.append(job)
        try:
            return await self._outcome(job)
        finally:
            self.doing.remove(job)
            self.done.append(job)

    async def _outcome(self, job: WorkerJob) -> JobResult | JobFailure:
        place = self.places[job.agent] if job.agent is not None else Place()
        if job.operation in TRANSFERS:
            return JobResult(job.number, await self._transfer(job, place))
        outcomes = place.outcomes if job.operation == "capture" else self.outcomes[job.operation]
        outcome = outcomes.pop(0) if outcomes else OK
        seen = place.version
        if job.operation == "capture":
            self.on_capture(job)
        if outcome == HANG:
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(place.takes if job.operation == "capture" else self.takes[job.operation])
        if outcome == CRASH:
            raise WorkerFailed("the worker was ended by SIGKILL")
        if outcome == BUSY:
            return JobFailure(job.number, error_documents.describe_error(Busy("process 7 holds it (restore)")))
        if outcome == FAILED:
            return JobFailure(job.number, error_documents.describe_error(DiskFull("no space left")))
        if outcome == NONSENSE:
            found = {"changed": False, "unstable": False, "due_in": None}
            return JobResult(job.number, {"capture": found, "facts": {"sequence": "x"}})
        return JobResult(job.number, self._answer(job, place, seen, unstable=outcome == UNSTABLE))

    def _answer(self, job: WorkerJob, place: Place, seen: int, *, unstable: bool) -> JsonObject:
        if job.operation == "capture":
            changed = place.kept != seen and not unstable
            if not unstable:
                place.kept = seen
            place.captures += 1
            found = {"changed": changed, "sequence": place.kept, "unstable": unstable, "due_in": None}
            return {"capture": found, **self._standing(place, job.agent)}
        if job.operation == "verify":
            place.verified_at = self.now()
            return {"ok": True, "deferred": None, **self._standing(place, job.agent)}
        if job.operation == "notify":
            self.notices += job.parameters["notices"]
            return {"told": [{"desktop": None} for _ in job.parameters["notices"]]}
        fixed: dict[str, JsonObject] = {
            "standing": self._standing(place, job.agent),
            "discover": {"offers": [], "new": [], "watch_names": []},
            "key": {"key": {"state": self.key, "note": "" if self.key == "ok" else "it is locked"}},
        }
        return fixed.get(job.operation, {})

    async def _transfer(self, job: WorkerJob, place: Place) -> JsonObject:
        """Return the answer of a remote. A push takes what exists when it begins."""
        assert job.agent is not None
        remote = next(each for each in self.remotes if each.name == job.parameters["remote"])
        if job.operation == "verify_remote":
            remote.reads.append((self.clock.since_boot(), job.agent))
            await asyncio.sleep(self.takes[job.operation])
            if remote.holds:
                remote.verified[job.agent] = self.now()
            found = {"ok": remote.holds, "deferred": None, "sequence": remote.has.get(job.agent)}
            return {**found, **self._standing(place, job.agent)}
        seen = place.kept if place.held is None else place.held
        remote.pushes.append((self.clock.since_boot(), job.agent, bool(job.parameters.get("asked"))))
        answer = remote.answers.pop(0) if remote.answers else {"state": OK}
        if answer["state"] == HANG:
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(remote.takes)
        if answer["state"] in (OK, "fenced"):
            remote.hears_of_purges(job.agent, self.clock.now())
        if (answer["state"] == OK or answer.get("code") == "remote_damaged") and seen is not None:
            remote.has[job.agent] = seen
            remote.verified.setdefault(job.agent, self.now())
        tries = remote.known.get(job.agent, {}).get("tries", 0) + 1 if answer["state"] == "waiting" else 0
        remote.known[job.agent] = {**answer, "tries": tries}
        sequence, optional = remote.has.get(job.agent), remote.optional
        document = {"name": remote.name, "sequence": sequence, "optional": optional, "bytes": 1, "code": None}
        retry_after = answer.get("retry_after")
        return {"remote": {**document, **answer}, "retry_after": retry_after, **self._standing(place, job.agent)}

    def _of_remote(self, remote: Remote, place: Place, agent: str) -> JsonObject:
        target = place.kept if place.held is None else place.held
        has, known = remote.has.get(agent), remote.known.get(agent, {})
        pending = 0 if target is None else target - (-1 if has is None else has)
        state = known.get("state", OK)
        if state not in ("fenced", "error"):
            state = "waiting" if pending > 0 else "held" if place.held is not None else state
        purges, ask_at = int(agent in remote.purges), remote.purges.get(agent)
        is_purge = purges and state == OK
        return {
            "name": remote.name,
            "id": remote.name,
            "optional": remote.optional,
            "state": "waiting" if is_purge else state,
            "purges": purges,
            "purges_ask_at": None if ask_at is None else times.to_text(ask_at),
            "sequence": has,
            "pending": max(0, pending),
            "verified_at": remote.verified.get(agent),
            "message": known.get("message", ""),
            "code": "purge" if is_purge else known.get("code", ""),
            "tries": known.get("tries", 0),
        }

    def _standing(self, place: Place, agent: str | None) -> JsonObject:
        facts = {
            "sequence": place.kept,
            "last_captured_at": None if place.kept is None else self.now(),
            "last_verified_at": place.verified_at,
            "last_whole_at": place.verified_at,
            "remotes": [self._of_remote(remote, place, str(agent)) for remote in self.remotes],
        }
        return {"facts": facts, "watch": {"folders": []}}


def _are_in_each_others_way(one: WorkerJob, other: WorkerJob) -> bool:
    """Return whether two jobs must not run at the same time: those of one agent, and transfers of one agent to one
    remote."""
    if one.agent is None or one.agent != other.agent:
        return False
    transfers = [each for each in (one, other) if each.operation in TRANSFERS]
    return not transfers or (len(transfers) == 2 and one.parameters["remote"] == other.parameters["remote"])


class WorldsWorker:
    """A simulated worker process."""

    def __init__(self, world: World, pid: int) -> None:
        self._world = world
        self._work: asyncio.Task[JobResult | JobFailure] | None = None
        self._killed: BaseException | None = None
        self.pid = pid
        self.job: WorkerJob | None = None
        self.jobs = self.rss = self.lines = 0
        self.dismissed = False
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_free(self) -> bool:
        return self.job is None and not self.dismissed and not self.gone.done()

    async def do(self, job: WorkerJob, tell: Callable[[JobProgress], None]) -> JobResult | JobFailure:
        if self.gone.done():
            raise WorkerFailed("the worker ended")
        self.job, self._work = job, asyncio.ensure_future(self._world.do(job))
        try:
            answer = await self._work
            self.jobs += 1
            return answer
        except WorkerFailed:
            self._end()
            raise
        except asyncio.CancelledError:
            if self._killed is not None:
                raise self._killed from None
            raise
        finally:
            self.job = self._work = None
            if self.dismissed:
                self._end()

    def cancel(self) -> None:
        return  # No safe point is near.

    def dismiss(self) -> None:
        self.dismissed = True
        if self.job is None:
            self._end()

    def terminate(self) -> None:
        self.dismiss()

    def kill(self, why: BaseException | None = None) -> None:
        self.dismissed = True
        if self._world.immortal:
            return  # It hangs in a file system.
        self._killed = self._killed or why or WorkerFailed("the worker was ended by SIGKILL")
        if self._work is not None:
            self._work.cancel()
        self._end()

    async def put_away(self) -> None:
        self.kill()

    def describe_end(self) -> str:
        return "ended with status 0"

    def _end(self) -> None:
        if not self.gone.done():
            self.gone.set_result(None)


class WorldsWorkers(WorkerPool):
    """The real pool with simulated workers."""

    world: World

    async def _start(self) -> WorkerProcess:
        await asyncio.sleep(0.2)
        worker = cast(WorkerProcess, WorldsWorker(self.world, next(self._numbers)))
        self._all.add(worker)
        worker.gone.add_done_callback(lambda _: self._ended(worker))
        self._upgraded(WorkerReady(worker.pid, self.world.release))
        if self._stopping:
            worker.dismiss()
        return worker


class WorldsWatcher:
    """Reports what the world wants reported."""

    def __init__(self, world: World, tell: Callable[[WatchSignal], None]) -> None:
        self._world = world
        self._is_stopped = False
        world.tell = tell

    def follow(self, agent: str, plan: WatchPlan) -> None:
        if not self._is_stopped:
            self._world.followed[agent] = plan

    def leave(self, agent: str) -> None:
        self._world.followed.pop(agent, None)

    def check(self) -> None:
        return

    def coverage(self, agent: str) -> WatchCoverage:
        return WatchCoverage("events", 1, 1)

    def watch_files(self, folder: Path, names: Collection[str], tell: Callable[[], None]) -> None:
        self._world.files[str(folder)] = tell

    def stop(self) -> None:
        self._is_stopped = True
        self._world.followed.clear()
        self._world.files.clear()


class Inside:
    """A service under the control of a test. `run` lets something happen, `passes` lets time pass."""

    def __init__(self, *, start: bool = True) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="lifeboat-inside-")
        folder = Path(self._folder.name)
        self.loop = VirtualLoop()
        asyncio.set_event_loop(self.loop)
        self.clock = VirtualClock(self.loop)
        self.world = World(self.clock)
        self.log = Notebook()
        self.loop.set_exception_handler(self._went_wrong)
        environment = {"HOME": str(folder / "user"), "LIFEBOAT_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}
        (folder / "user").mkdir()
        self.context = Context.open(environment, QuickFiles(), self.clock)
        self.events: list[JsonObject] = []
        self.ended: asyncio.Task[str] | None = None
        if start:
            self.start()

    def _went_wrong(self, loop: asyncio.AbstractEventLoop, found: JsonObject) -> None:
        self.log.mistakes.append(found.get("exception") or AssertionError(found["message"]))

    def start(self, seconds: float = 5.0) -> None:
        """Start serving, and wait until it is up."""
        self.run(self._begin())
        self.passes(seconds)

    async def _begin(self) -> None:
        world = self.world

        class InsideWorkers(WorldsWorkers):
            pass

        InsideWorkers.world = world
        self.service = DaemonService(self.context, cast(EventLog, self.log), release=RELEASE)
        self.service.make_workers = InsideWorkers
        self.service.make_watcher = lambda _, tell: cast(AgentWatcher, WorldsWatcher(world, tell))
        self.ended = asyncio.ensure_future(self.service.run())
        await asyncio.sleep(0)
        publish = self.service.parts.publish
        self.service.parts.workers._release = RELEASE

        def published(event: JsonObject) -> None:
            self.events.append(event)
            publish(event)

        self.service.parts.publish = published

    # Events -------------------------------------------------------------------------------------------------------

    def run(self, what: Coroutine[Any, Any, T] | Awaitable[T]) -> T:
        return self.loop.run_until_complete(what)

    def passes(self, seconds: float) -> None:
        """Let time pass, with everything that becomes due."""
        self.run(asyncio.sleep(seconds))

    def add(self, name: str = "Ada", *, tell: bool = True, **given: Any) -> Agent:
        """Add an agent. With `tell`, the daemon sees its file."""
        agent_id = ids.make_id(self.context.now())
        made = Agent(agent_id, name, "openclaw", Path("/nowhere") / name, added_at=self.context.now(), **given)
        return self.save(made, tell=tell)

    def save(self, agent: Agent, *, tell: bool = True) -> Agent:
        saved = agent_files.save_agent(self.context, agent)
        if tell:
            self.files_changed()
        return saved

    def remove(self, agent: Agent) -> None:
        agent_files.delete_agent_file(self.context, agent.id)
        self.files_changed()

    def files_changed(self) -> None:
        for tell in list(self.world.files.values()):
            self.loop.call_soon(tell)
        self.passes(0)

    def change(self, agent: Agent, kind: str = CHANGED) -> None:
        """Change a file of a workspace, and process the event."""
        self.world.places[agent.id].version += 1
        self.signal(agent.id, kind)

    def signal(self, agent_id: str, kind: str) -> None:
        if agent_id in self.world.followed:
            self.loop.call_soon(self.world.tell, WatchSignal(agent_id, kind))
            self.passes(0)

    def ask(self, method: str, **parameters: Any) -> asyncio.Task[JsonObject]:
        """Send a request; the answer may take a while."""
        handler = self.service.answers.handlers()[method]
        return self.loop.create_task(cast(Coroutine[Any, Any, JsonObject], handler(parameters)))

    def answer(self, method: str, **parameters: Any) -> JsonObject:
        return self.run(self.ask(method, **parameters))

    def state(self, agent: Agent) -> str:
        watched = self.service.fleet.get(agent.id)
        assert watched is not None and watched.status is not None
        return watched.status.state

    def add_remote(self, name: str, **given: Any) -> Remote:
        """Add a remote, and let the daemon see its file."""
        made = Remote(name, **given)
        self.world.remotes.append(made)
        folder = self.context.home.remotes_folder
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.toml").write_text("")
        self.files_changed()
        return made

    def place(self, agent: Agent) -> Place:
        return self.world.places[agent.id]

    def stop(self, why: str = STOPPED) -> str:
        """Stop it and return why it says that it ended."""
        assert self.ended is not None
        self.service.stop(why)
        return self.run(self.ended)

    def close(self) -> None:
        """End everything, and check that nothing is left running."""
        if self.ended is not None and not self.ended.done():
            self.stop()
        self.passes(0.1)
        left = self.give_up()
        self.loop.close()
        asyncio.set_event_loop(None)
        self._folder.cleanup()
        assert not left, f"left running: {left}"
        assert not self.world.violations, self.world.violations
        assert not self.log.mistakes, self.log.mistakes

    def give_up(self) -> list[asyncio.Task[Any]]:
        """Cancel all that is left, as the end of a loop does, and return what that was."""
        left = [task for task in asyncio.all_tasks(self.loop) if not task.done()]
        for task in left:
            task.cancel()
        if left:
            self.run(asyncio.wait(left))
        return left

    @property
    def timers(self) -> set[str]:
        """Return the names of the timers that are set."""
        return set(self.service.parts.timers._timers)
