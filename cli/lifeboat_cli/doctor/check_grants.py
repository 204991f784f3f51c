"""Check the grants of agents that may read their own past, and the library that serves them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.grants.agent_grant import Grant, read_grant
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import quote_argument, time_text
from lifeboat_keys.installers import extra_command

TITLE = "Access of agents to their own past"
LIBRARY = "mcp"


def check(context: Context) -> Iterator[DoctorFinding]:
    """Yield a finding for each agent with a grant."""
    for agent in list_agents(context):
        with context.vault(agent.id) as vault:
            grant = read_grant(vault)
        if grant is not None:
            yield _finding(context, agent, grant)


def _finding(context: Context, agent: Agent, grant: Grant) -> DoctorFinding:
    name = quote_argument(agent.name)
    if grant.is_expired(context.now()):
        said = f"the grant expired at {time_text(str(grant.expires_at))}, so lifeboat mcp refuses every call"
        return DoctorFinding(DoctorLevel.WARNING, agent.name, said, f"lifeboat agents grant {name}")
    if find_spec(LIBRARY) is None:
        said = "the agent has a grant, but the library mcp, which lifeboat mcp needs, is not installed"
        return DoctorFinding(DoctorLevel.WARNING, agent.name, said, extra_command("mcp"))
    return DoctorFinding(DoctorLevel.OK, agent.name, "the agent may read its own past and make proposals")
