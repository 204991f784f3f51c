"""Begin and end of the daemon's process: no core dumps, one daemon per home, signals, exit status."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.errors import ServiceError
from lifeboat_core.home.context import Context
from lifeboat_core.processes.installed_release import read_release
from lifeboat_core.processes.own_interpreter import make_python_command
from lifeboat_daemon.service.daemon_lock import LockHolder, hold_daemon_lock
from lifeboat_daemon.service.daemon_service import STOPPED, UPGRADED, DaemonService
from lifeboat_daemon.service.event_log import EventLog, open_log
from lifeboat_daemon.units import systemd_notify
from lifeboat_keys.hardening import disable_core_dumps

WAIT, FOREGROUND = "--wait", "--foreground"


def main(arguments: Sequence[str], *, worker_command: Sequence[str] | None = None) -> int:
    """Run the daemon until it is stopped and return the exit status. `--wait`: wait until another daemon of this home
    ends. `--foreground`: also log to standard error."""
    disable_core_dumps()
    try:
        context = Context.open()
        log = open_log(context.home, foreground=FOREGROUND in arguments)
        with log:
            why = run_daemon(context, log, wait=WAIT in arguments, worker_command=worker_command)
    except LifeboatError as error:
        print(f"{error.title}. {error.message}", file=sys.stderr)  # noqa: T201
        return error.exit_status
    if why == UPGRADED:
        return _begin_anew(arguments)
    return 0


def _begin_anew(arguments: Sequence[str]) -> int:
    """Replace this process by the daemon of the installed release. If that fails, the service manager starts it
    again."""
    try:
        os.execv(sys.executable, make_python_command("-m", "lifeboat_daemon.service", *arguments))
    except OSError as error:
        print(f"The installed release of the daemon cannot be started. {error.strerror}", file=sys.stderr)  # noqa: T201
        return 1


def run_daemon(
    context: Context, log: EventLog, *, wait: bool = False, worker_command: Sequence[str] | None = None
) -> str:
    """Serve a home until the daemon is stopped and return why it ended. Raises ServiceError.ALREADY_RUNNING, and any
    error that prevents the start."""
    own = read_release()

    said: set[int] = set()

    def waiting(other: LockHolder) -> None:
        """Report progress while the lock is taken. systemd is notified on every call; people get one message."""
        systemd_notify.notify_ready(f"waiting for process {other.pid}, which serves this home")
        systemd_notify.notify_watchdog()
        if other.pid not in said:
            log.event("waiting", pid=other.pid)
        said.add(other.pid)

    with hold_daemon_lock(context, own, wait=wait, waiting=waiting) as single:
        reach_crash_point(CrashPoint.DAEMON_LOCKED)
        try:
            service = DaemonService(context, log, release=own, worker_command=worker_command)
            service.is_alone = single.is_ours
            return asyncio.run(_serve(service))
        except LifeboatError:
            raise
        except Exception as error:
            log.exception("unexpected", error)
            raise ServiceError(f"an internal error ended the daemon: {type(error).__name__}") from None


async def _serve(service: DaemonService) -> str:
    loop = asyncio.get_running_loop()
    if os.name == "posix":
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, service.stop, STOPPED)
        loop.add_signal_handler(signal.SIGHUP, service.reload)
    return await service.run()
