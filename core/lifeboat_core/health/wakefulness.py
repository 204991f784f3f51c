"""How long this machine was awake since an agent's last verified copy: what `standing.judge` needs to know of time."""

from __future__ import annotations

from lifeboat_core.agents.agent import Agent
from lifeboat_core.health.awake import Ledger, awake_seconds, read, woke_at
from lifeboat_core.health.standing import Awake, Facts, unverified_since
from lifeboat_core.home.context import Context
from lifeboat_core.settings.config import Config


def awake(
    context: Context, agent: Agent, facts: Facts, *, config: Config | None = None, ledger: Ledger | None = None
) -> Awake:
    """The time since an agent's last verified copy in which the machine was awake. Light: the daemon asks it too, with
    the configuration and the ledger of sleep that it has read for all agents."""
    ledger = ledger or read(context)
    config = config or context.config()
    since = unverified_since(facts, agent, context.clock.now())
    return Awake(
        seconds=None if since is None else awake_seconds(context, since, ledger),
        woke_at=woke_at(context, ledger),
        overdue_after=float(config.get("overdue.after", agent.settings).value),
    )
