"""Agents that are captured when a session ends: whether their runtime tells when one did."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.errors import AdapterError, NoHook
from lifeboat_cli.doctor import Finding, Level
from lifeboat_core.agents import session_hooks
from lifeboat_core.agents.agent import Agent, everyone
from lifeboat_core.home.context import Context
from lifeboat_core.texts.words import argument

TITLE = "Ends of sessions"


def check(context: Context) -> Iterator[Finding]:
    for agent in everyone(context):
        if agent.watched and context.setting("cadence", agent) == "after_session" and agent.workspace.is_dir():
            yield _finding(context, agent)


def _finding(context: Context, agent: Agent) -> Finding:
    try:
        wrong = session_hooks.problem(context, agent)
    except NoHook as error:
        return Finding(Level.OK, agent.name, error.message)
    except AdapterError as error:
        return Finding(Level.WARNING, agent.name, error.message, error.fix)
    if wrong:
        idle = context.config().get("session.idle", agent.settings).written
        said = f"{wrong}: one counts as ended when nothing changed for {idle}"
        return Finding(Level.WARNING, agent.name, said, f"lifeboat agents hook {argument(agent.name)}")
    return Finding(Level.OK, agent.name, "its runtime tells when a session ends")
