"""Find files of the agents that their runtimes no longer use. They are reported, never changed."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.errors import AdapterError
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import quote_argument

TITLE = "Files left behind by runtimes"


def check(context: Context) -> Iterator[DoctorFinding]:
    for agent in list_agents(context):
        if agent.workspace.is_dir():
            found = list(_findings(context, agent))
            yield from found or [
                DoctorFinding(DoctorLevel.OK, agent.name, "the runtime of the agent left no files behind")
            ]


def _findings(context: Context, agent: Agent) -> Iterator[DoctorFinding]:
    try:
        installation = context.installation(agent)
        databases = context.adapter(agent.runtime).databases
        for offer in databases.offers(installation) if databases is not None else ():
            command = offer.command.replace(" AGENT", f" {quote_argument(agent.name)}")
            yield DoctorFinding(DoctorLevel.WARNING, agent.name, offer.what, command)
    except AdapterError:
        return  # The checks of the runtimes and of their memories report it.
