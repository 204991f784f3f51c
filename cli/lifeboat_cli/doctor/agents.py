"""Every agent: its workspace, what its last capture could not take, what is held, and how old its copy is."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import Finding, Level
from lifeboat_core.agents import lost_agents
from lifeboat_core.health.status import ERROR, HELD, OVERDUE, WAITING, AgentStatus, status
from lifeboat_core.home.context import Context

TITLE = "The agents"
_WARN = frozenset({OVERDUE, WAITING})


def check(context: Context) -> Iterator[Finding]:
    lost = lost_agents.problems(context)
    for problem in lost:
        yield Finding(Level.ERROR, "agents", problem)
    found = status(context).agents
    if not found and not lost:
        yield Finding(Level.WARNING, "agents", "none is protected", "lifeboat agents discover")
    for agent in found:
        yield _finding(agent)


def _finding(agent: AgentStatus) -> Finding:
    result = "; ".join(agent.reasons) or f"captured up to sequence {agent.sequence}"
    if agent.state in (ERROR, HELD):
        level = Level.ERROR
    else:
        level = Level.WARNING if agent.state in _WARN else Level.OK
    fix = None if agent.needs_doctor else agent.fix
    return Finding(level, agent.name, f"{agent.state}: {result}", fix)
