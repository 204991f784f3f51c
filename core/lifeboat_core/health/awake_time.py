"""How long this machine was awake since an agent's last verified copy, for `agent_status.judge_agent`."""

from __future__ import annotations

from lifeboat_core.agents.agent import Agent
from lifeboat_core.health.agent_status import AwakeTime, StatusFacts, find_agent_unverified_since
from lifeboat_core.health.sleep_ledger import SleepLedger, count_awake_seconds, find_wake_time, load_sleep_ledger
from lifeboat_core.home.context import Context
from lifeboat_core.settings.config_file import Config


def measure_awake_time(
    context: Context,
    agent: Agent,
    facts: StatusFacts,
    *,
    config: Config | None = None,
    ledger: SleepLedger | None = None,
) -> AwakeTime:
    """Return how long the machine was awake since an agent's last verified copy.

    Light: the daemon calls it too, with the configuration and the sleep ledger that it has read once for all agents.
    """
    ledger = ledger or load_sleep_ledger(context)
    config = config or context.config()
    since = find_agent_unverified_since(facts, agent, context.clock.now())
    return AwakeTime(
        seconds=None if since is None else count_awake_seconds(context, since, ledger),
        woke_at=find_wake_time(context, ledger),
        overdue_after=float(config.get("overdue.after", agent.settings).value),
    )
