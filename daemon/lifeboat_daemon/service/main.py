"""How the daemon's process begins and ends: core dumps off, one of its kind, signals, exit status."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_core.errors import ServiceError
from lifeboat_core.home.context import Context
from lifeboat_core.processes.interpreter import python
from lifeboat_core.processes.release import release
from lifeboat_daemon.service.logs import Log, open_log
from lifeboat_daemon.service.service import STOPPED, UPGRADED, Service
from lifeboat_daemon.service.single import Holder, service_lock
from lifeboat_daemon.units import notify
from lifeboat_keys.hardening import no_core_dumps

WAIT, FOREGROUND = "--wait", "--foreground"


def main(arguments: Sequence[str], *, worker_command: Sequence[str] | None = None) -> int:
    """Run until told to stop; the exit status. `--wait`: stay until another daemon of this home ends. `--foreground`:
    the log also goes to standard error."""
    no_core_dumps()
    try:
        context = Context.open()
        log = open_log(context.home, foreground=FOREGROUND in arguments)
        with log:
            why = run(context, log, wait=WAIT in arguments, worker_command=worker_command)
    except LifeboatError as error:
        print(f"{error.title}. {error.message}", file=sys.stderr)  # noqa: T201
        return error.exit_status
    if why == UPGRADED:
        return _begin_anew(arguments)
    return 0


def _begin_anew(arguments: Sequence[str]) -> int:
    """Be the daemon of the release that is installed now. Where that cannot be started, whoever started this one tries
    again."""
    try:
        os.execv(sys.executable, python("-m", "lifeboat_daemon.service", *arguments))
    except OSError as error:
        print(f"The release that was installed cannot be started. {error.strerror}", file=sys.stderr)  # noqa: T201
        return 1


def run(context: Context, log: Log, *, wait: bool = False, worker_command: Sequence[str] | None = None) -> str:
    """Serve a home until told to stop; why it ended. Raises AlreadyRunning, and what keeps it from beginning."""
    own = release()

    said: set[int] = set()

    def waiting(other: Holder) -> None:
        """Called again and again: the system is told each time that this process lives, people are told once."""
        notify.ready(f"waiting for process {other.pid}, which serves this home")
        notify.alive()
        if other.pid not in said:
            log.event("waiting", pid=other.pid)
        said.add(other.pid)

    with service_lock(context, own, wait=wait, waiting=waiting) as single:
        reached(Step.DAEMON_LOCKED)
        try:
            service = Service(context, log, release=own, worker_command=worker_command)
            service.is_alone = single.is_ours
            return asyncio.run(_serve(service))
        except LifeboatError:
            raise
        except Exception as error:
            log.exception("unexpected", error)
            raise ServiceError(f"the service ended by mistake: {type(error).__name__}") from None


async def _serve(service: Service) -> str:
    loop = asyncio.get_running_loop()
    if os.name == "posix":
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, service.stop, STOPPED)
        loop.add_signal_handler(signal.SIGHUP, service.reload)
    return await service.run()
