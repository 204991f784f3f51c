"""Check the agents' runtimes: their adapters fit, their configuration can be read and their databases exist."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.adapter_registry import find_refused_adapters
from lifeboat_adapters.errors import AdapterError
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.home.context import Context

TITLE = "Runtimes"


def check(context: Context) -> Iterator[DoctorFinding]:
    for runtime, refused in find_refused_adapters(context.home.profiles_folder).items():
        yield DoctorFinding(DoctorLevel.ERROR, runtime, refused.message, refused.fix)
    for agent in list_agents(context):
        if agent.workspace.is_dir():
            yield _finding(context, agent)


def _finding(context: Context, agent: Agent) -> DoctorFinding:
    try:
        installation = context.installation(agent)
    except AdapterError as error:
        return DoctorFinding(DoctorLevel.ERROR, agent.name, error.message, error.fix)
    if installation.state_dir is None:
        return DoctorFinding(
            DoctorLevel.OK,
            agent.name,
            f"the workspace belongs to {agent.runtime}, but no installation of {agent.runtime} was found",
        )
    program = (
        "the program of the runtime is installed"
        if installation.program
        else "the program of the runtime is not on PATH, so a restore cannot rebuild the search index"
    )
    level = DoctorLevel.OK if installation.program else DoctorLevel.WARNING
    return DoctorFinding(level, agent.name, f"{agent.runtime}, layout {installation.layout}; {program}")
