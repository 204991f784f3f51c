"""A real daemon in a process of its own, for tests: started, queried, killed at a named step, stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_core.errors import ServiceError
from lifeboat_core.home.context import Context
from lifeboat_daemon.control.daemon_client import DaemonClient
from support import preloaded
from support.keys import keyring_fakes
from support.killing import ending_at
from support.paths import TESTS
from support.patience import patience
from support.preloaded import Call
from support.waiting import until


class Daemon:
    """The daemon of a context's home. `daemon_dies` and `worker_dies` name a step, and the count at which that process
    ends as by kill -9. `lists_modules` is a file for the names of the modules that the daemon loads. `keyring_store` is
    the keyring of workers. `tick` is the pause in seconds between checks of what causes no event, including the key and
    unwatched folders. `before` is a command that runs the daemon."""

    def __init__(
        self,
        context: Context,
        *,
        daemon_dies: tuple[CrashPoint, int] | None = None,
        worker_dies: tuple[CrashPoint, int] | None = None,
        lists_modules: Path | None = None,
        skew: Skew | None = None,
        keyring: Keyring | None = None,
        tick: float | None = None,
        before: Sequence[str] = (),
    ) -> None:
        self.context = context
        self._keyring = keyring
        self._tick = tick
        self._before = list(before)
        self._listing = None if lists_modules is None else str(lists_modules)
        self._skew = None if skew is None else str(skew.path)
        self._dies = daemon_dies
        self._worker_dies = worker_dies
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str, answering: bool = True) -> Daemon:
        """Start it, and wait until it answers."""
        dies, worker_dies = _plain(self._dies), _plain(self._worker_dies)
        given = (dies, worker_dies, self._listing, self._skew, list(options))
        keyring = None if self._keyring is None else self._keyring.plain
        by_exec = bool(self._before) or self._listing is not None
        settings: JsonObject = {"keyring": keyring, "tick": self._tick, "forks_workers": not by_exec}
        program = Call("support.daemon.serving", "be_daemon", given, settings)
        environment = {**os.environ, **self.context.environment, "PYTHONPATH": str(TESTS)}
        output = self.context.home.folder.parent / "daemon.out"
        with output.open("ab") as out:
            surroundings: JsonObject = {"env": environment, "stdin": subprocess.DEVNULL, "stdout": out, "stderr": out}
            if by_exec:
                command = [*self._before, *program.command]
                self.process = subprocess.Popen(command, start_new_session=True, **surroundings)
            else:
                self.process = preloaded.Popen(program, start_new_session=True, **surroundings)
        if answering:
            until(self.answers, lambda: f"the daemon to answer: {output.read_text()[-2000:]}")
        return self

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def answers(self) -> bool:
        """Return whether it answers."""
        assert self.process is None or self.process.poll() is None, "the daemon has ended"
        with contextlib.suppress(ServiceError), self.client():
            return True
        return False

    def client(self) -> DaemonClient:
        return DaemonClient.connect(self.context.home, SystemFiles(), timeout=patience())

    def ask(self, method: str, **parameters: object) -> JsonObject:
        with self.client() as client:
            return client.call(method, **parameters)

    def agent(self) -> JsonObject:
        """Return the status of the first agent."""
        found: JsonObject = self.ask("status")["agents"][0]
        return found

    def is_settled(self) -> bool:
        """Return whether all agents are loaded and watched, and no job runs or waits."""
        found = self.ask("daemon")
        watches = [one["watches"] for one in found["agents"]]
        return bool(watches) and not found["jobs"] and all(watches)

    def stop(self) -> int:
        """Stop it as a service manager does, and return its exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(patience())

    def kill(self) -> None:
        """Kill it and its workers as a power failure would."""
        if self.process is not None:
            children = _children(self.process.pid)
            self.process.kill()
            self.process.wait(patience())
            for child in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)

    def wait(self) -> int:
        """Wait until it ends by itself, and return its exit status."""
        assert self.process is not None
        return self.process.wait(patience())


@contextlib.contextmanager
def serving(context: Context, *options: str) -> Iterator[Daemon]:
    """Run a daemon, which is always ended afterwards."""
    daemon = Daemon(context)
    try:
        yield daemon.start(*options)
    finally:
        daemon.kill()


@contextlib.contextmanager
def settled(context: Context, **how: Any) -> Iterator[Daemon]:
    """Run a daemon (see `Daemon` for `how`) whose first check has ended. It is always ended afterwards."""
    daemon = Daemon(context, **how)
    try:
        daemon.start()
        until(daemon.is_settled, "the first look to end")
        yield daemon
    finally:
        daemon.kill()


def _children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def _plain(dies: tuple[CrashPoint, int] | None) -> tuple[str, int] | None:
    return None if dies is None else (dies[0].value, dies[1])


# In the daemon's own process ----------------------------------------------------------------------------------------


def be_daemon(
    dies: tuple[str, int] | None,
    worker_dies: tuple[str, int] | None,
    listing: str | None,
    skew: str | None,
    options: list[str],
    *,
    keyring: tuple[str, str, float] | None = None,
    tick: float | None = None,
    forks_workers: bool = False,
) -> None:
    """Run a daemon that may end at a step, list its modules after a job, have wrong clocks, or discover more often.
    Called in a process of its own."""
    from lifeboat_daemon.service.daemon_process import main
    from lifeboat_daemon.work import worker_pool

    if forks_workers:
        preloaded.fork_preloader()
    if dies is not None:
        crash_points.hook = ending_at(CrashPoint(dies[0]), dies[1])
    if listing is not None:
        crash_points.hook = lambda step: _list_modules(listing) if step is CrashPoint.DAEMON_ANSWERED else None
    worker = None
    if worker_dies is not None:
        worker = Call("support.daemon.serving", "be_worker", (worker_dies,))
    if skew is not None:
        from lifeboat_daemon.service import daemon_service

        daemon_service.TICK = 0.2
        Skew(Path(skew)).apply()
        worker = Call("support.daemon.serving", "be_worker", (None, skew))
    if keyring is not None:
        worker = Call("support.daemon.serving", "be_worker", (None,), {"keyring": keyring})
    if tick is not None:
        _look_around_every(tick)
    command = None if worker is None else worker.command
    if not forks_workers:
        sys.exit(main(options, worker_command=command))
    calls = (
        {worker_pool._COMMAND: Call("lifeboat_daemon.work.worker_loop", "main")}
        if worker is None
        else {worker.command: worker}
    )
    with preloaded.forking_of(calls):
        sys.exit(main(options, worker_command=command))


def _look_around_every(seconds: float) -> None:
    from lifeboat_daemon.service import daemon_service, key_checks
    from lifeboat_daemon.watch.agent_watcher import AgentWatcher

    daemon_service.TICK = key_checks.SOONEST = key_checks.LATEST = seconds
    defaults = AgentWatcher.__init__.__kwdefaults__
    assert defaults is not None
    defaults["poll_every"] = seconds


def _list_modules(listing: str) -> None:
    Path(listing).write_text("\n".join(sorted(sys.modules)))


def be_worker(
    dies: tuple[str, int] | None, skew: str | None = None, *, keyring: tuple[str, str, float] | None = None
) -> None:
    """Run a worker that ends at a step, has wrong clocks, or another keyring. Called in a process of its own."""
    from lifeboat_daemon.work.worker_loop import main

    if dies is not None:
        crash_points.hook = ending_at(CrashPoint(dies[0]), dies[1])
    if skew is not None:
        Skew(Path(skew)).apply()
    if keyring is not None:
        Keyring(Path(keyring[0]), Path(keyring[1]), keyring[2]).apply()
    main()


class Keyring:
    """An OS keyring that behaves as a file says on each access (see `keyring_fakes`), with a time limit of
    `seconds`."""

    def __init__(self, items: Path, behaviour: Path, seconds: float) -> None:
        self.items = items
        self.behaviour = behaviour
        self.seconds = seconds

    @property
    def plain(self) -> tuple[str, str, float]:
        return str(self.items), str(self.behaviour), self.seconds

    def becomes(self, behaviour: str) -> None:
        """Set the behaviour from the next access on."""
        aside = self.behaviour.with_name(f"{self.behaviour.name}.tmp")
        aside.write_text(behaviour)
        aside.replace(self.behaviour)

    def apply(self) -> None:
        """Install this keyring in this process."""
        from lifeboat_keys.stores import keyring_store

        keyring_store.PROGRAM = keyring_fakes.program(self.behaviour, self.items)  # type: ignore[assignment]
        keyring_store.child_processes = SimpleNamespace(run_child=self._run)  # type: ignore[assignment]

    def _run(self, command: Sequence[str], **options: Any) -> Any:
        """Wait `seconds` for a slow keyring, and long enough for any other one."""
        from lifeboat_keys import child_processes

        seconds = self.seconds if self.behaviour.read_text() == "slow" else patience()
        return child_processes.run_child(command, **{**options, "seconds": seconds})


class Skew:
    """Wrong clocks in every process that has this file: `jumped` seconds of the wall clock, `slept` seconds in which
    the machine slept."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def set(self, *, jumped: float = 0.0, slept: float = 0.0) -> None:
        """Set the difference to the real clocks from now on."""
        aside = self.path.with_name(f"{self.path.name}.tmp")
        aside.write_text(f"{jumped} {slept}")
        aside.replace(self.path)

    def _read(self) -> tuple[float, float]:
        if not self.path.exists():
            return 0.0, 0.0
        jumped, slept = self.path.read_text().split()
        return float(jumped), float(slept)

    def now(self) -> datetime:
        jumped, slept = self._read()
        return datetime.now(UTC) + timedelta(seconds=jumped + slept)

    def since_boot(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME) + self._read()[1]

    def apply(self) -> None:
        """Install these clocks in this process."""
        SystemClock.now = lambda _: self.now()  # type: ignore[method-assign]
        SystemClock.since_boot = lambda _: self.since_boot()  # type: ignore[method-assign]
