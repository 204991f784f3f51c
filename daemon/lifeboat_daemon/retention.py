"""How long sequences and versions of large files stay: the user's settings, on a time that can be believed."""

from __future__ import annotations

from lifeboat_daemon import clock_trust, leftovers, room
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.context import Context
from lifeboat_daemon.locks import agent_lock
from lifeboat_endpoint.vault import Retention, ThinReport
from lifeboat_endpoint.vault.retention import to_drop

HOUR, DAY = 3600, 86400
SHORT_OF_ROOM = Retention(all_hours=1, hourly_days=1, daily_days=30)
"""The longest that history may be while there is no room."""


def retention(context: Context, agent: Agent) -> Retention:
    """The vault's retention from the settings in force for an agent."""
    seconds = {name: context.setting(f"retention.{name}", agent) for name in ("all", "hourly", "daily")}
    return Retention(
        all_hours=-(-seconds["all"] // HOUR),
        hourly_days=-(-seconds["hourly"] // DAY),
        daily_days=-(-seconds["daily"] // DAY),
    )


def shorter(policy: Retention) -> Retention:
    """What a policy keeps while there is no room."""
    return Retention(
        min(policy.all_hours, SHORT_OF_ROOM.all_hours),
        min(policy.hourly_days, SHORT_OF_ROOM.hourly_days),
        min(policy.daily_days, SHORT_OF_ROOM.daily_days),
    )


def thin(context: Context, agent: Agent, policy: Retention | None = None) -> ThinReport | None:
    """Let go what the settings (or a policy) let go; None, and nothing done, while the clock is not trusted.

    Raises Busy.
    """
    chosen = policy or retention(context, agent)
    with agent_lock(context, agent.id, "thin"), context.vault(agent.id) as vault:
        if not clock_trust.is_trusted(context, vault.head()):
            return None
        return vault.thin(chosen, context.clock.now())


def thin_if_due(context: Context, agent: Agent, policy: Retention | None = None) -> ThinReport | None:
    """`thin` when the settings let anything go now; None, and nothing written, otherwise. Raises Busy."""
    chosen = policy or retention(context, agent)
    with context.vault(agent.id) as vault:
        due = to_drop(vault.sequences(), chosen, context.clock.now(), vault.last_verified())
    return thin(context, agent, chosen) if due else None


def drop_old_versions(context: Context, agent: Agent, keep: int | None = None) -> int:
    """Of large files, forget the bytes of all but the newest `artifacts.versions` (or `keep`); how many. Raises Busy.

    Needs no clock: only without a trusted one a pin that has run out still counts.
    """
    wanted = keep or int(context.setting("artifacts.versions", agent))
    with context.vault(agent.id) as vault:
        now = context.clock.now() if clock_trust.is_trusted(context, vault.head()) else None
        if not vault.old_versions(wanted, now):
            return 0
        with agent_lock(context, agent.id, "drop versions"):
            return vault.drop_old_versions(wanted, now).objects_dropped


def look_after(context: Context, agent: Agent) -> list[str]:
    """After a capture: let go what the settings let go, and more of it while there is no room. What a person should
    know of it. Raises Busy."""
    leftovers.remove_temporary_files(context)
    thin_if_due(context, agent)
    drop_old_versions(context, agent)
    reason = _shortage(context, agent)
    if reason is None:
        return []
    said = [f"{reason}: large files are not taken"]
    dropped = drop_old_versions(context, agent, keep=1)
    if dropped:
        said.append(f"{dropped} older versions of large files are only described from now on")
    return said + (_thinned_harder(context, agent) if _shortage(context, agent) else [])


def _shortage(context: Context, agent: Agent) -> str | None:
    with context.vault(agent.id) as vault:
        return room.measure(context, agent, vault).shortage()


def _thinned_harder(context: Context, agent: Agent) -> list[str]:
    with context.vault(agent.id) as vault:
        trusted = clock_trust.is_trusted(context, vault.head())
    if not trusted:
        return ["history is not thinned, because the clock is not trusted"]
    report = thin_if_due(context, agent, shorter(retention(context, agent)))
    gone = len(report.dropped) if report is not None else 0
    return [f"{gone} old sequences went, sooner than the settings say"] if gone else []
