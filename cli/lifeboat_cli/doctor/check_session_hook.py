"""Check whether the runtime reports the end of sessions for agents that are captured then."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.errors import AdapterError, HookUnavailable
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents import session_hook_setup
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import quote_argument

TITLE = "Detection of ended sessions"


def check(context: Context) -> Iterator[DoctorFinding]:
    for agent in list_agents(context):
        if agent.watched and context.setting("cadence", agent) == "after_session" and agent.workspace.is_dir():
            yield _finding(context, agent)


def _finding(context: Context, agent: Agent) -> DoctorFinding:
    try:
        wrong = session_hook_setup.find_hook_problem(context, agent)
    except HookUnavailable as error:
        return DoctorFinding(DoctorLevel.OK, agent.name, error.message)
    except AdapterError as error:
        return DoctorFinding(DoctorLevel.WARNING, agent.name, error.message, error.fix)
    if wrong:
        idle = context.config().get("session.idle", agent.settings).written
        said = f"{wrong}; Lifeboat treats a session as ended after {idle} without changes"
        return DoctorFinding(
            DoctorLevel.WARNING, agent.name, said, f"lifeboat agents hook {quote_argument(agent.name)}"
        )
    return DoctorFinding(DoctorLevel.OK, agent.name, "the runtime reports the end of each session to Lifeboat")
