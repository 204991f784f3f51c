"""Print the status for people."""

from __future__ import annotations

from lifeboat_alf.common import times
from lifeboat_cli.status.status_view import StatusView
from lifeboat_cli.terminal.command_session import CommandSession
from lifeboat_core.agents import offers
from lifeboat_core.health.agent_status import FOR_PEOPLE, OK, AgentStatus, Status
from lifeboat_core.health.safety_level import SafetyLevel
from lifeboat_core.purge.outstanding_purges import describe_outstanding_purges
from lifeboat_core.texts.human_text import NO_BREAK, age_text, count_text, time_text

STYLES = {
    SafetyLevel.SAFE: "bold green",
    SafetyLevel.INCOMPLETE: "bold yellow",
    SafetyLevel.PROBLEM: "bold red",
    SafetyLevel.NONE: "bold",
}
"""The style of the first line."""
_MOST_OFFERS = 3


def print_status_view(session: CommandSession, seen: StatusView) -> None:
    """Print the verdict, the agents with what matters about each, the key and the service. General problems go to
    standard error."""
    for problem in list_problems(seen):
        session.output.warn(problem)
    print_agent_statuses(session, seen)


def list_problems(seen: StatusView) -> list[str]:
    """Return the problems that concern no single agent."""
    return [*seen.status.problems, *([] if seen.silent is None else [seen.silent])]


def print_agent_statuses(session: CommandSession, seen: StatusView) -> None:
    """Print the status without the general problems."""
    output, found = session.output, seen.status
    output.line(found.verdict, style=STYLES[found.safety.level])
    if found.agents:
        _show_table(session, found.agents)
    else:
        output.line("To find agents: lifeboat agents discover")
    for offer in seen.offers[:_MOST_OFFERS]:
        output.line(offers.describe_offer(offer))
    if len(seen.offers) > _MOST_OFFERS:
        output.line(
            f"{count_text(len(seen.offers) - _MOST_OFFERS, 'more agent')} found. To list all: lifeboat agents discover"
        )
    if seen.purges:
        output.line(describe_outstanding_purges(seen.purges))
    if found.agents:
        _show_gaps(session, found)
        _show_key(session, seen)
        _show_service(session, seen)


def _show_table(session: CommandSession, shown: list[AgentStatus]) -> None:
    output = session.output
    rows = [
        (
            one.name,
            FOR_PEOPLE.get(one.state, one.state),
            describe_age(session, one.last_verified_at) if one.vault_opened else "unknown",
            describe_age(session, one.last_captured_at) if one.vault_opened else "unknown",
            _sequence_text(one),
        )
        for one in shown
    ]
    output.table(("agent", "state", "last verified", "last captured", "sequence"), rows)
    for one in shown:
        for reason in one.reasons:
            output.line(f"{one.name}: {reason}")
        if one.fix:
            output.verbatim(f"To fix it: {one.fix}")
    _show_remotes(session, shown)


def _sequence_text(one: AgentStatus) -> str:
    if one.sequence is None:
        return "none" if one.vault_opened else "unknown"
    return str(one.sequence)


def _show_gaps(session: CommandSession, found: Status) -> None:
    """Print what is missing for `safe`, unless an agent's reason gave the same command already."""
    said = {agent.fix for agent in found.agents}
    for gap in found.safety.gaps:
        if gap.fix not in said:
            session.output.line(f"Not safe yet: {gap.text}", style="yellow")
            session.output.verbatim(f"To fix it: {gap.fix}")


def _show_remotes(session: CommandSession, shown: list[AgentStatus]) -> None:
    """Print each agent at each remote, if there is one."""
    rows = [
        (
            one.name,
            f"{remote.name} (optional)" if remote.optional else remote.name,
            FOR_PEOPLE.get(remote.state, remote.state),
            "" if remote.sequence is None else str(remote.sequence),
            describe_age(session, remote.verified_at),
        )
        for one in shown
        for remote in one.remotes
    ]
    if rows:
        session.output.table(("agent", "remote", "state", "sequence", "last verified"), rows)
    limits = {remote.name: remote.limits for one in shown for remote in one.remotes}
    for name, sentences in limits.items():
        for sentence in sentences:
            session.output.line(f"{name}: {sentence}")


def _show_key(session: CommandSession, seen: StatusView) -> None:
    key = seen.status.key
    if key.state == OK or not seen.status.agents:  # Otherwise it is a reason of every agent.
        session.output.line(key.note or f"key: {key.state}")


def _show_service(session: CommandSession, seen: StatusView) -> None:
    """Print a line if the service does not run. While it runs, its results show it."""
    if seen.daemon.get("running"):
        since = seen.daemon.get("started_at")
        session.output.line(f"daemon: running{(f' since {time_text(since)}' if since else '')}")
    elif seen.silent is None:
        session.output.line(
            "daemon: not running, so changes are not captured automatically; to start the daemon: lifeboat daemon start"
        )


def describe_age(session: CommandSession, moment: str | None) -> str:
    """Return `3 minutes ago`, without line breaks, or `never`."""
    if moment is None:
        return "never"
    return f"{age_text((session.context.clock.now() - times.parse_time(moment)).total_seconds())} ago".replace(
        " ", NO_BREAK
    )
