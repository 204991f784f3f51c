"""The runtimes around the agents: their configuration can be read, their databases are there."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.errors import AdapterError
from lifeboat_cli.doctor import Finding, Level
from lifeboat_core.agents.agent import Agent, everyone
from lifeboat_core.home.context import Context

TITLE = "The runtimes"


def check(context: Context) -> Iterator[Finding]:
    for agent in everyone(context):
        if agent.workspace.is_dir():
            yield _finding(context, agent)


def _finding(context: Context, agent: Agent) -> Finding:
    try:
        installation = context.installation(agent)
    except AdapterError as error:
        return Finding(Level.ERROR, agent.name, error.message, error.fix)
    if installation.state_dir is None:
        return Finding(Level.OK, agent.name, f"a workspace of {agent.runtime} that stands alone")
    program = "its program is found" if installation.program else "its program is not on PATH: no re-index on restore"
    level = Level.OK if installation.program else Level.WARNING
    return Finding(level, agent.name, f"{agent.runtime}, layout {installation.layout}; {program}")
