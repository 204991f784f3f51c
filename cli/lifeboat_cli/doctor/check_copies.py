"""Check that a copy exists off this disk."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.health import remote_health, status_gathering
from lifeboat_core.health.remote_health import RemoteFacts
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import join_names, quote_argument

TITLE = "Copies on other machines"


def check(context: Context) -> Iterator[DoctorFinding]:
    for agent in list_agents(context):
        yield _finding(agent, status_gathering.gather_facts(context, agent).remotes)


def _finding(agent: Agent, remotes: tuple[RemoteFacts, ...]) -> DoctorFinding:
    """Return the finding. A copy that was never read back does not count, nor does an optional one."""
    if not remotes:
        return DoctorFinding(
            DoctorLevel.WARNING,
            agent.name,
            "the only copy of the agent is on this disk",
            "lifeboat remote add NAME URL",
        )
    verified = [one for one in remotes if one.verified_at is not None]
    relied_on = [one.name for one in remote_health.select_required(verified)]
    if relied_on:
        return DoctorFinding(
            DoctorLevel.OK, agent.name, f"the copy of the agent is verified on {join_names(relied_on)}"
        )
    if verified:
        only = (
            "the only verified copy outside this disk is on an optional remote: "
            f"{join_names([one.name for one in verified])}"
        )
        return DoctorFinding(DoctorLevel.WARNING, agent.name, only, "lifeboat remote add NAME URL")
    return DoctorFinding(
        DoctorLevel.WARNING,
        agent.name,
        "no copy on a remote was ever verified",
        f"lifeboat sync {quote_argument(agent.name)}",
    )
