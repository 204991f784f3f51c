"""Check the service: installed, running, and as this release would install it."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import list_agents
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import age_text, count_text
from lifeboat_daemon import units
from lifeboat_daemon.service import daemon_lifecycle
from lifeboat_daemon.service.daemon_lifecycle import DaemonState
from lifeboat_daemon.units.service_unit import UnitState

TITLE = "Service"
_INSTALL = "lifeboat service install"
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


def check(context: Context) -> Iterator[DoctorFinding]:
    state = units.inspect_unit(context)
    standing = daemon_lifecycle.inspect_daemon(context)
    yield _daemon(context, standing)
    if state.installed:
        yield from _unit(context, state)
    elif state.problem is None:
        yield DoctorFinding(
            DoctorLevel.WARNING,
            "service",
            "the service is not installed, so the daemon does not start when you log in",
            _INSTALL,
        )
    else:
        yield DoctorFinding(DoctorLevel.OK, "service", f"the service is not installed; {state.problem}")
    around = context.environment
    if state.installed and around.get("LIFEBOAT_PASSPHRASE") and not around.get("LIFEBOAT_PASSPHRASE_FILE"):
        result = (
            "the service cannot read LIFEBOAT_PASSPHRASE, because Lifeboat never writes the passphrase into a "
            "service file"
        )
        yield DoctorFinding(
            DoctorLevel.WARNING,
            "service",
            result,
            ("write the passphrase to a private file and set LIFEBOAT_PASSPHRASE_FILE to the path of that file"),
        )


def _daemon(context: Context, standing: DaemonState) -> DoctorFinding:
    if not standing.running:
        level = DoctorLevel.WARNING if list_agents(context) else DoctorLevel.OK
        return DoctorFinding(
            level,
            "daemon",
            "the daemon is not running, so changes are not captured automatically",
            "lifeboat daemon start",
        )
    if standing.problem is not None:
        result = f"process {standing.pid}: {standing.problem.title}: {standing.problem.message}"
        return DoctorFinding(DoctorLevel.ERROR, "daemon", result, standing.problem.fix or "lifeboat daemon restart")
    since = "" if standing.uptime is None else f" for {age_text(standing.uptime)}"
    ticks = standing.told.ticks if standing.told else 0
    return DoctorFinding(
        DoctorLevel.OK,
        "daemon",
        f"the daemon (process {standing.pid}) is running{since} and has made {count_text(ticks, 'scan')}",
    )


def _unit(context: Context, state: UnitState) -> Iterator[DoctorFinding]:
    subject = f"service ({state.manager})"
    if not state.ours:
        result = f"the installed service starts the daemon of another home: {state.home or 'the default one'}"
        yield DoctorFinding(DoctorLevel.WARNING, subject, result, "lifeboat service uninstall --force")
        return
    if not state.program_found:
        result = f"the program of the service, {state.program}, does not exist, so the service cannot start"
        yield DoctorFinding(DoctorLevel.ERROR, subject, result, _INSTALL)
    elif not state.current:
        yield DoctorFinding(DoctorLevel.WARNING, subject, "the installed service is out of date", _INSTALL)
    elif state.problem:
        yield DoctorFinding(DoctorLevel.WARNING, subject, state.problem, "lifeboat daemon start")
    elif state.enabled is False:
        yield DoctorFinding(DoctorLevel.WARNING, subject, "the service does not start when you log in", _INSTALL)
    elif state.running is False:
        yield DoctorFinding(
            DoctorLevel.WARNING, subject, "the service is installed but not running", "lifeboat daemon start"
        )
    else:
        yield DoctorFinding(DoctorLevel.OK, subject, "the service is installed and up to date")
    if state.lingering is False and not any(context.environment.get(name) for name in _SCREENS):
        yield DoctorFinding(DoctorLevel.WARNING, subject, "the daemon ends when you log out", "loginctl enable-linger")
