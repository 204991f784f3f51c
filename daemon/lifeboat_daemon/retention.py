"""How long sequences stay: the user's settings, on a time that can be believed."""

from __future__ import annotations

from lifeboat_daemon import clock_trust
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.context import Context
from lifeboat_daemon.locks import agent_lock
from lifeboat_endpoint.vault import Retention, ThinReport
from lifeboat_endpoint.vault.retention import to_drop

HOUR, DAY = 3600, 86400


def retention(context: Context, agent: Agent) -> Retention:
    """The vault's retention from the settings in force for an agent."""
    seconds = {name: context.setting(f"retention.{name}", agent) for name in ("all", "hourly", "daily")}
    return Retention(
        all_hours=-(-seconds["all"] // HOUR),
        hourly_days=-(-seconds["hourly"] // DAY),
        daily_days=-(-seconds["daily"] // DAY),
    )


def thin(context: Context, agent: Agent) -> ThinReport | None:
    """Let go what the settings let go; None, and nothing done, while the clock is not trusted. Raises Busy."""
    with agent_lock(context, agent.id, "thin"), context.vault(agent.id) as vault:
        if not clock_trust.is_trusted(context, vault.head()):
            return None
        return vault.thin(retention(context, agent), context.clock.now())


def thin_if_due(context: Context, agent: Agent) -> ThinReport | None:
    """`thin` when the settings let anything go now; None, and nothing written, otherwise. Raises Busy."""
    with context.vault(agent.id) as vault:
        due = to_drop(vault.sequences(), retention(context, agent), context.clock.now(), vault.last_verified())
    return thin(context, agent) if due else None
