"""Secrets in clear around the agents: files that a runtime's migrations and changes left behind. None is touched."""

from __future__ import annotations

import shlex
import stat
from collections.abc import Iterator

from lifeboat_adapters.credentials import Leftover
from lifeboat_adapters.errors import AdapterError
from lifeboat_cli.doctor import Finding, Level
from lifeboat_core.agents.agent import Agent, everyone
from lifeboat_core.home.context import Context

TITLE = "Secrets in clear around the agents"


def check(context: Context) -> Iterator[Finding]:
    for agent in everyone(context):
        if agent.workspace.is_dir():
            found = list(_findings(context, agent))
            yield from found or [Finding(Level.OK, agent.name, "no file with secrets in clear was left behind")]


def _findings(context: Context, agent: Agent) -> Iterator[Finding]:
    try:
        installation = context.installation(agent)
    except AdapterError:
        return  # the check of the runtimes says it
    for leftover in context.adapter(agent.runtime).leftovers(installation):
        try:
            mode = stat.S_IMODE(leftover.path.stat().st_mode)
        except FileNotFoundError:
            continue
        yield _finding(agent, leftover, mode)


def _finding(agent: Agent, leftover: Leftover, mode: int) -> Finding:
    """One that the runtime needs, or writes again, is only wrong when others can read it."""
    is_open = bool(mode & (stat.S_IRWXG | stat.S_IRWXO))
    result = f"{leftover.path} (mode {mode:04o}) may hold secrets in clear: {leftover.what}"
    if leftover.advice:
        result = f"{result}; {leftover.advice}"
    path = shlex.quote(str(leftover.path))
    if not leftover.made_again:
        return Finding(Level.WARNING, agent.name, result, f"rm {path}")
    if is_open:
        return Finding(Level.WARNING, agent.name, f"{result}; others can read it", f"chmod 600 {path}")
    return Finding(Level.OK, agent.name, f"{result}; for its owner alone")
