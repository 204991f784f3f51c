"""Apply the retention of sequences and of versions of large files, by the user's settings and on a trusted time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from lifeboat_alf.common import times
from lifeboat_core.agents import crash_leftovers
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.history import vault_quota
from lifeboat_core.home.context import Context
from lifeboat_core.machine import clock_trust
from lifeboat_core.remotes import acknowledged_states, remote_registry
from lifeboat_core.remotes.acknowledged_states import AcknowledgedState
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_core.texts.human_text import count_text
from lifeboat_vault.retention.retention_policy import sequences_to_drop, shorten_retention
from lifeboat_vault.vault import Retention, ThinReport, Vault

UNSEEN = timedelta(days=90)
"""A remote without contact for this long needs no sequence any more: it gets a snapshot next time."""
NOTHING = -1
"""A number before every sequence."""

Keep = Callable[[int], bool]


def find_needed_sequences(context: Context, vault: Vault) -> Keep:
    """Return a function that says whether a sequence is needed, by its number. Raises OSError."""
    known = acknowledged_states.load_acknowledged(vault)
    each = [(config, known.get(config.id, AcknowledgedState())) for config in remote_registry.list_remotes(context)]
    return compute_needed(each, context.clock.now())


def compute_needed(remotes: Iterable[tuple[RemoteConfig, AcknowledgedState]], now: datetime) -> Keep:
    """Return the same from the decisions about and the knowledge of each remote. Pure."""
    counting = [known for config, known in remotes if _counts(config, known, now)]
    if not counting:
        return lambda _: False
    numbers = [known.number for known in counting]
    held = frozenset((*numbers, *(known.sent["number"] for known in counting if known.sent is not None)))
    newest = max(NOTHING if number is None else number for number in numbers)
    return lambda number: number in held or number > newest


def _counts(config: RemoteConfig, known: AcknowledgedState, now: datetime) -> bool:
    seen = [times.parse_time(each) for each in (known.at, known.verified_at, config.added_at) if each]
    return not seen or now - max(seen) < UNSEEN


HOUR, DAY = 3600, 86400


def load_retention(context: Context, agent: Agent) -> Retention:
    """Return the vault's retention according to the settings of an agent."""
    seconds = {name: context.setting(f"retention.{name}", agent) for name in ("all", "hourly", "daily")}
    return Retention(
        all_hours=-(-seconds["all"] // HOUR),
        hourly_days=-(-seconds["hourly"] // DAY),
        daily_days=-(-seconds["daily"] // DAY),
    )


def thin_agent(
    context: Context, agent: Agent, policy: Retention | None = None, *, whatever_remotes_need: bool = False
) -> ThinReport | None:
    """Thin what the settings (or a policy) allow, except what remotes still need; return None, and do nothing, while
    the clock is not trusted. Raises Busy."""
    chosen = policy or load_retention(context, agent)
    with agent_lock(context, agent.id, "thin"), context.vault(agent.id) as vault:
        if not clock_trust.is_clock_trusted(context, vault.head()):
            return None
        return vault.thin(chosen, context.clock.now(), keep=_keep(context, vault, whatever_remotes_need))


def thin_if_due(
    context: Context, agent: Agent, policy: Retention | None = None, *, whatever_remotes_need: bool = False
) -> ThinReport | None:
    """Call `thin_agent` if the settings allow thinning anything now; otherwise return None and write nothing. Raises
    Busy."""
    chosen = policy or load_retention(context, agent)
    with context.vault(agent.id) as vault:
        keep = _keep(context, vault, whatever_remotes_need)
        due = sequences_to_drop(vault.sequences(), chosen, context.clock.now(), vault.last_verified(), keep)
    return thin_agent(context, agent, chosen, whatever_remotes_need=whatever_remotes_need) if due else None


def _keep(context: Context, vault: Vault, whatever_remotes_need: bool) -> Keep:
    if whatever_remotes_need:
        return lambda _: False
    with convert_system_errors():
        return find_needed_sequences(context, vault)


def drop_old_versions(context: Context, agent: Agent, keep: int | None = None) -> int:
    """Drop the bytes of all but the newest `artifacts.versions` (or `keep`) versions of large files; return how many.
    Raises Busy.

    Needs no clock: without a trusted one, an expired pin still counts.
    """
    wanted = keep or int(context.setting("artifacts.versions", agent))
    with context.vault(agent.id) as vault:
        now = context.clock.now() if clock_trust.is_clock_trusted(context, vault.head()) else None
        if not vault.old_versions(wanted, now):
            return 0
        with agent_lock(context, agent.id, "drop versions"):
            return vault.drop_old_versions(wanted, now).objects_dropped


def apply_retention(context: Context, agent: Agent) -> list[str]:
    """Apply the retention after a capture, and drop more while space is short. Return what the user should know. Raises
    Busy."""
    crash_leftovers.remove_temporary_files(context)
    thin_if_due(context, agent)
    drop_old_versions(context, agent)
    reason = _shortage(context, agent)
    if reason is None:
        return []
    said = [f"large files are not captured: {reason}"]
    dropped = drop_old_versions(context, agent, keep=1)
    if dropped:
        said.append(f"the content of {dropped} older versions of large files was removed; their metadata is kept")
    return said + (_thinned_harder(context, agent) if _shortage(context, agent) else [])


def _shortage(context: Context, agent: Agent) -> str | None:
    with context.vault(agent.id) as vault:
        return vault_quota.measure_quota(context, agent, vault).shortage()


def _thinned_harder(context: Context, agent: Agent) -> list[str]:
    with context.vault(agent.id) as vault:
        trusted = clock_trust.is_clock_trusted(context, vault.head())
    if not trusted:
        return ["old sequences are not thinned, because the clock of this machine may be wrong"]
    gone = _dropped(thin_if_due(context, agent, shorten_retention(load_retention(context, agent))))
    if gone:
        return [f"thinned {count_text(len(gone), 'old sequence')} earlier than the settings specify, to free space"]
    return _thinned_before_it_was_sent(context, agent)


def _thinned_before_it_was_sent(context: Context, agent: Agent) -> list[str]:
    """Thin sequences that remotes still need, as the last resort: a vault must not grow without end because a remote is
    away."""
    report = thin_if_due(context, agent, shorten_retention(load_retention(context, agent)), whatever_remotes_need=True)
    gone = len(_dropped(report))
    sequences = count_text(gone, "sequence")
    return (
        [f"thinned {sequences} before every remote had received them, because the disk or the vault is full"]
        if gone
        else []
    )


def _dropped(report: ThinReport | None) -> list[int]:
    return [] if report is None else report.dropped
