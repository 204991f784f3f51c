"""Notify a running daemon of what a command changed. Without it, the daemon would find out a little later."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context

_PATIENCE = 2.0
"""Seconds. The command has done its work, so it waits no longer for a daemon that does not answer."""


def wake_daemon(context: Context, agent: Agent | None = None) -> None:
    """Ask the daemon of this home, if one runs, to reload settings and agents and to check the status of an agent.
    Never raises."""
    from lifeboat_daemon.control import control_methods
    from lifeboat_daemon.control.daemon_client import connect_if_running

    with contextlib.suppress(LifeboatError, OSError):
        client = connect_if_running(context.home, context.files, _PATIENCE)
        if client is not None:
            with client:
                client.ask(replace(control_methods.RELOAD, patience=_PATIENCE), agent="" if agent is None else agent.id)
