"""Start, stop and inspect the daemon of a home, regardless of who started it: a system unit, a command or a user.

The lock says whether a daemon runs, its socket whether it answers. A daemon that a command starts has a separate
session and outlives the terminal.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import NotRunning, OtherRelease, ServiceError
from lifeboat_core.processes.own_interpreter import make_python_command
from lifeboat_daemon import units
from lifeboat_daemon.control import control_methods
from lifeboat_daemon.control.daemon_client import DaemonClient, connect_if_running
from lifeboat_daemon.service import event_log_reader
from lifeboat_daemon.service.daemon_lock import LockHolder, find_lock_holder
from lifeboat_daemon.service.event_log import format_event
from lifeboat_keys.child_processes import start_detached

if TYPE_CHECKING:
    from subprocess import Popen

    from lifeboat_core.home.context import Context

Say = Callable[[str], None]

COMMAND = make_python_command("-m", "lifeboat_daemon.service")
START_PATIENCE = 60.0
STOP_PATIENCE = 45.0
"""Seconds. The daemon allows running commits 30 of them."""
TERM_PATIENCE = 15.0
_LOOK = 0.05
_PATIENT = 3.0
"""Seconds after which a waiting user gets a message."""
_CLOCKS_DIFFER = 2.0
"""Seconds by which the start time of a process and the time in its note may differ."""


@dataclass(frozen=True, slots=True)
class DaemonState:
    """The state of the daemon of a home. `running`: a process holds its lock. `told` is its own description, or None if
    it does not answer; then `problem` says why. `rss` is in bytes, `uptime` in seconds."""

    running: bool
    pid: int | None = None
    release: str | None = None
    started_at: str | None = None
    uptime: int | None = None
    rss: int | None = None
    told: control_methods.DaemonStatus | None = None
    problem: LifeboatError | None = None

    def to_json(self) -> JsonObject:
        import msgspec

        told = msgspec.to_builtins(self.told) if self.told else {}
        return {
            "running": self.running,
            "answers": self.told is not None,
            "pid": self.pid,
            "release": self.release,
            "started_at": self.started_at,
            "uptime": self.uptime,
            "rss": self.rss,
            "address": told.get("address"),
            "agents": told.get("agents", []),
            "jobs": told.get("jobs", []),
            "ticks": told.get("ticks"),
            "problem": self.problem.message if self.problem else None,
        }


def inspect_daemon(context: Context) -> DaemonState:
    """Return the state of the daemon of this home. Never raises for a daemon that does not answer: the result says
    so."""
    held = find_lock_holder(context.home)
    if held is None:
        return DaemonState(False)
    try:
        with _client(context) as client:
            return _standing(context, held, client.ask(control_methods.DAEMON), None)
    except LifeboatError as error:
        return _standing(context, held, None, error)


def _client(context: Context) -> DaemonClient:
    return DaemonClient.connect(context.home, context.files)


def _standing(
    context: Context, held: LockHolder, told: control_methods.DaemonStatus | None, problem: LifeboatError | None
) -> DaemonState:
    since = held.started_at or None
    age = None if since is None else (context.clock.now() - times.parse_time(since)).total_seconds()
    return DaemonState(
        True,
        held.pid or (told.pid if told else None),
        held.release or (told.version if told else None),
        since,
        None if age is None else max(0, int(age)),
        _memory(held.pid),
        told,
        problem,
    )


def _memory(pid: int) -> int | None:
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss) if pid else None
    except psutil.Error:
        return None


# Starting -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DaemonStart:
    """How a daemon was started. `how`: already, unit, or process."""

    how: str
    standing: DaemonState


def start_daemon(context: Context, say: Say) -> DaemonStart:
    """Start a daemon and wait until it answers, unless one runs already. `say` receives what is waited for. Raises
    ServiceError with the last output of a daemon that ended, and the error of one that runs but does not answer."""
    before = inspect_daemon(context)
    if before.running and isinstance(before.problem, OtherRelease):
        raise before.problem
    if before.running:
        return DaemonStart("already", before if before.told else _answering(context, say))
    unit = units.inspect_unit(context)
    if unit.installed and unit.ours and unit.problem is None and unit.program_found:
        say(f"asking {unit.manager} to start the daemon")
        units.find_manager(context).start()
        return DaemonStart("unit", _answering(context, say))
    with _last_words(context) as words:
        child = start_detached(COMMAND, environment=context.environment, errors=words)
        return DaemonStart("process", _answering(context, say, child, words))


def _answering(
    context: Context,
    say: Say,
    child: Popen[bytes] | None = None,
    words: IO[bytes] | None = None,
) -> DaemonState:
    """Wait until the daemon answers. Raises ServiceError if `child` ended, ServiceError.DOES_NOT_ANSWER after the time
    limit. The lock is not tested meanwhile, because the test would hold it for a moment and block the daemon that
    starts."""
    deadline = time.monotonic() + START_PATIENCE
    patient = time.monotonic() + _PATIENT
    while time.monotonic() < deadline:
        if (client := _if_it_answers(context)) is not None:
            client.close()
            if (found := inspect_daemon(context)).told is not None:
                return found
        if child is not None and child.poll() is not None:
            raise ServiceError(_why_ended(context, child.returncode, words), fix="lifeboat doctor")
        if time.monotonic() > patient:
            patient = deadline
            say("the daemon is running but does not answer yet")
        time.sleep(_LOOK)
    raise ServiceError.DOES_NOT_ANSWER(
        f"the daemon did not answer within {START_PATIENCE:.0f} seconds{_last_lines(context)}"
    )


def _if_it_answers(context: Context) -> DaemonClient | None:
    try:
        return connect_if_running(context.home, context.files)
    except OtherRelease:
        raise
    except LifeboatError:
        return None


@contextlib.contextmanager
def _last_words(context: Context) -> Iterator[IO[bytes] | None]:
    """Return an unnamed file for the output of a daemon that has no log yet, or None on a full disk."""
    with contextlib.ExitStack() as stack:
        file: IO[bytes] | None = None
        with contextlib.suppress(OSError):
            file = stack.enter_context(tempfile.TemporaryFile(dir=context.home.logs_folder))
        yield file


def _why_ended(context: Context, status: int, words: IO[bytes] | None) -> str:
    said = ""
    if words is not None:
        words.seek(0)
        said = words.read()[-2000:].decode(errors="replace").strip()
    return f"the daemon ended immediately, with exit status {status}" + (f": {said}" if said else _last_lines(context))


def _last_lines(context: Context) -> str:
    """Return the end of the log, for people."""
    with contextlib.suppress(OSError):
        found = [format_event(event) for event in event_log_reader.read_last_events(context.home, 3)]
        return f"; its log ends with: {'; '.join(found)}" if found else ""
    return ""


# Stopping -------------------------------------------------------------------------------------------------------


def stop_daemon(context: Context, say: Say) -> DaemonState | None:
    """End the daemon at a safe point and wait for it. Return its former state, or None if none ran. Raises
    ServiceError.DOES_NOT_ANSWER when neither its socket nor a signal ends it."""
    before = inspect_daemon(context)
    if not before.running:
        return None
    if _ask_to_stop(context):
        say("waiting until the daemon has finished its current commit")
        if _is_gone(context, STOP_PATIENCE):
            return before
    if before.pid is None or not _is_ours(before):
        raise ServiceError.DOES_NOT_ANSWER(
            "the daemon does not stop, and Lifeboat cannot tell whether process "
            f"{before.pid or '(unknown)'} is the daemon",
            fix="lifeboat daemon status",
        )
    say(f"the daemon does not answer; Lifeboat ends process {before.pid}")
    with contextlib.suppress(ProcessLookupError):
        os.kill(before.pid, signal.SIGTERM)
    if not _is_gone(context, TERM_PATIENCE):
        raise ServiceError.DOES_NOT_ANSWER(
            f"process {before.pid} did not end within {TERM_PATIENCE:.0f} seconds", fix=f"kill -9 {before.pid}"
        )
    return before


def _ask_to_stop(context: Context) -> bool:
    """Return whether the daemon accepted the request. A daemon of another release gets a signal instead."""
    try:
        with _client(context) as client:
            client.ask(control_methods.STOP)
    except NotRunning:
        return find_lock_holder(context.home) is None
    except LifeboatError:
        return False
    return True


def _is_gone(context: Context, patience: float) -> bool:
    deadline = time.monotonic() + patience
    while find_lock_holder(context.home) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK)
    return True


def _is_ours(standing: DaemonState) -> bool:
    """Return whether a process is the daemon that wrote the note: it is a daemon and started before the note. If the
    process id was reused, the present process started later."""
    import psutil

    try:
        process = psutil.Process(standing.pid)
        began, command = process.create_time(), process.cmdline()
    except psutil.Error:
        return False
    if standing.started_at is None or began > times.parse_time(standing.started_at).timestamp() + _CLOCKS_DIFFER:
        return False
    return any("lifeboat" in part for part in command)


def reload_daemon(context: Context) -> str | None:
    """Ask the daemon to read settings and agents again. Return why they are not in force, or None. Raises
    NotRunning."""
    client = connect_if_running(context.home, context.files)
    if client is None:
        raise NotRunning("nothing had to be reloaded: the daemon reads the settings when it starts")
    with client:
        return client.ask(control_methods.RELOAD).problem
