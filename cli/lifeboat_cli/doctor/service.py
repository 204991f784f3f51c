"""The service: installed, running, and what this release would install."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import Finding, Level
from lifeboat_core.agents.agent import everyone
from lifeboat_core.home.context import Context
from lifeboat_core.texts.words import age_text
from lifeboat_daemon import units
from lifeboat_daemon.service import lifecycle
from lifeboat_daemon.service.lifecycle import Standing
from lifeboat_daemon.units.unit import UnitState

TITLE = "The service"
_INSTALL = "lifeboat service install"
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


def check(context: Context) -> Iterator[Finding]:
    state = units.unit_state(context)
    standing = lifecycle.look(context)
    yield _daemon(context, standing)
    if state.installed:
        yield from _unit(context, state)
    elif state.problem is None:
        yield Finding(Level.WARNING, "service", "not installed: nothing starts the daemon when you log in", _INSTALL)
    else:
        yield Finding(Level.OK, "service", f"not installed; {state.problem}")
    around = context.environment
    if state.installed and around.get("LIFEBOAT_PASSPHRASE") and not around.get("LIFEBOAT_PASSPHRASE_FILE"):
        result = "it does not know LIFEBOAT_PASSPHRASE, which is never written into a unit"
        yield Finding(Level.WARNING, "service", result, "put it into a private file and set LIFEBOAT_PASSPHRASE_FILE")


def _daemon(context: Context, standing: Standing) -> Finding:
    if not standing.running:
        level = Level.WARNING if everyone(context) else Level.OK
        return Finding(level, "daemon", "not running: nothing is captured by itself", "lifeboat daemon start")
    if standing.problem is not None:
        result = f"process {standing.pid}: {standing.problem.title}: {standing.problem.message}"
        return Finding(Level.ERROR, "daemon", result, standing.problem.fix or "lifeboat daemon restart")
    since = "" if standing.uptime is None else f" for {age_text(standing.uptime)}"
    ticks = standing.told.ticks if standing.told else 0
    return Finding(Level.OK, "daemon", f"process {standing.pid} runs{since}; it looked around {ticks} times")


def _unit(context: Context, state: UnitState) -> Iterator[Finding]:
    subject = f"service ({state.manager})"
    if not state.ours:
        result = f"it serves another home: {state.home or 'the usual one'}"
        yield Finding(Level.WARNING, subject, result, "lifeboat service uninstall --force")
        return
    if not state.program_found:
        result = f"{state.program} is not there any more: it cannot start"
        yield Finding(Level.ERROR, subject, result, _INSTALL)
    elif not state.current:
        yield Finding(Level.WARNING, subject, "this release would install it otherwise", _INSTALL)
    elif state.problem:
        yield Finding(Level.WARNING, subject, state.problem, "lifeboat daemon start")
    elif state.enabled is False:
        yield Finding(Level.WARNING, subject, "it does not start when you log in", _INSTALL)
    elif state.running is False:
        yield Finding(Level.WARNING, subject, "it is installed and does not run", "lifeboat daemon start")
    else:
        yield Finding(Level.OK, subject, "installed as this release installs it")
    if state.lingering is False and not any(context.environment.get(name) for name in _SCREENS):
        yield Finding(Level.WARNING, subject, "it ends when you log out", "loginctl enable-linger")
