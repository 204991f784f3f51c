"""How long this machine was awake since an agent's last verified copy: what `standing.judge` needs to know of time."""

from __future__ import annotations

from lifeboat_daemon.agent import Agent
from lifeboat_daemon.context import Context
from lifeboat_daemon.health.standing import Awake, Facts


def awake(context: Context, agent: Agent, facts: Facts) -> Awake:
    """The time since an agent's last verified copy in which the machine was awake. Light: the daemon asks it too."""
    return Awake(overdue_after=float(context.setting("overdue.after", agent)))
