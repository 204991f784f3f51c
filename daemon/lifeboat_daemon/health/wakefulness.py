"""How long this machine was awake since an agent's last verified copy: what `standing.judge` needs to know of time."""

from __future__ import annotations

from lifeboat_daemon.agent import Agent
from lifeboat_daemon.context import Context
from lifeboat_daemon.health.standing import Awake, Facts, unverified_since
from lifeboat_daemon.schedule.awake import awake_seconds, woke_at


def awake(context: Context, agent: Agent, facts: Facts) -> Awake:
    """The time since an agent's last verified copy in which the machine was awake. Light: the daemon asks it too."""
    since = unverified_since(facts, agent, context.clock.now())
    return Awake(
        seconds=None if since is None else awake_seconds(context, since),
        woke_at=woke_at(context),
        overdue_after=float(context.setting("overdue.after", agent)),
    )
