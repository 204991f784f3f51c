"""Check every agent: its workspace, what its last capture left out, held removals, and the age of its copy."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents import lost_agents
from lifeboat_core.health.status_gathering import ERROR, HELD, OVERDUE, WAITING, AgentStatus, gather_status
from lifeboat_core.home.context import Context

TITLE = "Agents"
_WARN = frozenset({OVERDUE, WAITING})


def check(context: Context) -> Iterator[DoctorFinding]:
    lost = lost_agents.describe_lost_agents(context)
    for problem in lost:
        yield DoctorFinding(DoctorLevel.ERROR, "agents", problem)
    found = gather_status(context).agents
    if not found and not lost:
        yield DoctorFinding(DoctorLevel.WARNING, "agents", "no agent is protected", "lifeboat agents discover")
    for agent in found:
        yield _finding(agent)


def _finding(agent: AgentStatus) -> DoctorFinding:
    captured = "nothing is captured yet" if agent.sequence is None else f"captured up to sequence {agent.sequence}"
    result = "; ".join(agent.reasons) or captured
    if agent.state in (ERROR, HELD):
        level = DoctorLevel.ERROR
    else:
        level = DoctorLevel.WARNING if agent.state in _WARN else DoctorLevel.OK
    fix = agent.vault_fix and agent.fix if agent.needs_doctor else agent.fix
    return DoctorFinding(level, agent.name, f"{agent.state}: {result}", fix)
