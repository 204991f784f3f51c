"""`lifeboat remote list` and `show`: what this machine knows of its remotes, without a request to any of them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import REMOTE
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.agents import agent as agents
from lifeboat_core.documents.remote_documents import AgentThere, SecondCopies, SecondCopy
from lifeboat_core.health import state_words
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.texts.human_text import age_text, count_text, quote_argument, time_text


@click.command(
    "list",
    short_help="List the remotes.",
    epilog=format_examples("lifeboat remote list"),
)
@pager_option
@session_command
def list_remotes(session: CommandSession) -> None:
    """List the remotes. For each remote, the list shows the worst state and the oldest verification of its agents. No
    remote is contacted.
    """
    found = [_describe_standing(session.context, one) for one in remote_registry.list_remotes(session.context)]

    def text() -> None:
        if not found:
            session.output.line("No remote is configured, so your agents are stored on this disk only.", style="bold")
            session.output.verbatim("lifeboat remote add NAME URL")
            return
        rows = [_format_row(session.context, one) for one in found]
        fit = TableFit(shorten=("address", "remote"), least={"state": 12})
        with session.output.pager():
            session.output.table(("remote", "address", "state", "verified"), rows, fit)
        for one in found:
            if one.problem:
                session.output.warn(one.problem)
        if any(one.agents for one in found):
            session.output.line("To show each agent on a remote: lifeboat remote show NAME")

    session.output.document(SecondCopies(tuple(found)), text)


@click.command(
    "show",
    short_help="Show the settings of a remote and the state of each agent on it.",
    epilog=format_examples("lifeboat remote show home"),
)
@click.argument("remote", type=REMOTE)
@session_command
def show_remote(session: CommandSession, remote: str) -> None:
    """Show the settings of a remote and the state of each agent on it.

    The remote is not contacted. To contact and check it: `lifeboat doctor --remote NAME`.
    """
    from lifeboat_core.remotes import remote_kinds

    config = next(
        (one for one in remote_registry.list_remotes(session.context) if one.name.casefold() == remote.casefold()), None
    ) or remote_registry.find_remote(session.context, remote)
    found = _describe_standing(session.context, config)

    def text() -> None:
        session.output.line(found.name, style="bold")
        for label, value in _list_facts(found):
            session.output.verbatim(f"  {label:<10} {value}")
        if found.readable:
            session.output.line(found.readable)
            for sentence in remote_kinds.find_kind(config.url).describe_store(config):
                session.output.line(sentence)
        if found.problem:
            session.output.warn(found.problem)
        if found.agents:
            rows = [
                (one.name, one.state, _number(one.sequence), _age(session.context, one.verified_at), one.message or "")
                for one in found.agents
            ]
            session.output.table(
                ("agent", "state", "sequence", "verified", "reason"), rows, TableFit(shorten=("agent",), wrap="reason")
            )

    session.output.document(found, text)


def describe_config(config: RemoteConfig) -> JsonObject:
    """Return the fields of a remote that every document about it has."""
    return {
        "name": config.name,
        "url": config.url,
        "id": config.id or None,
        "pin": config.pin or None,
        "optional": config.optional,
        "sealed": config.sealed,
        "added_at": config.added_at or None,
        "writers": config.writers,
        "keeps_versions": config.keeps_versions,
    }


def _describe_standing(context: Context, config: RemoteConfig) -> SecondCopy:
    """Return a remote with what the local vaults know of it. `verified_at` is the oldest of its agents', or None if one
    of them was never verified there."""
    from lifeboat_core.remotes import remote_kinds

    problem = remote_kinds.find_problem(config)
    kind = None if problem else remote_kinds.find_kind(config.url)
    known = [] if problem else [_describe_agent(context, agent, config) for agent in agents.list_agents(context)]
    verified = [one.verified_at or "" for one in known]
    oldest = min(verified, default=None) or None
    return SecondCopy(
        **describe_config(config),
        kind=None if kind is None else kind.name,
        readable="" if kind is None else kind.readable_by(config),
        needs_token=kind is not None and kind.needs_token,
        has_token=remote_registry.load_stored_token(context, config.name) is not None,
        problem=problem,
        verified_at=oldest,
        agents=tuple(known),
    )


def _describe_agent(context: Context, agent: agents.Agent, config: RemoteConfig) -> AgentThere:
    from lifeboat_core.remotes import acknowledged_states

    try:
        with context.vault(agent.id) as vault:
            found = acknowledged_states.load_acknowledged(vault).get(config.id, acknowledged_states.AcknowledgedState())
    except LifeboatError as error:
        return AgentThere(agent.id, agent.name, "error", message=error.message)
    return AgentThere(
        agent.id, agent.name, found.state, found.number, found.at, found.verified_at, found.message or None
    )


def _format_row(context: Context, one: SecondCopy) -> tuple[str, ...]:
    name = f"{one.name} (optional)" if one.optional else one.name
    if one.problem:
        return (name, one.url or "", state_words.ERROR, "")
    if not one.agents:
        return (name, one.url or "", "no agents", "")
    return (name, one.url or "", _worst_state(one), _age(context, one.verified_at))


def _worst_state(one: SecondCopy) -> str:
    """Return the worst state of the agents, with how many have it unless all have."""
    states = [each.state for each in one.agents]
    worst = state_words.find_worst_state(states)
    count = states.count(worst)
    return worst if count == len(states) else f"{worst} ({count} of {len(states)})"


def _list_facts(one: SecondCopy) -> Iterator[tuple[str, str]]:
    yield "address", one.url or ""
    yield "kind", one.kind or "unknown"
    yield "id", one.id or "unknown"
    if one.pin:
        yield "pin", one.pin
    if one.needs_token:
        fix = f"missing; to store it: lifeboat remote token {quote_argument(one.name)} --token-stdin"
        yield "token", "stored" if one.has_token else fix
    yield "optional", "yes" if one.optional else "no"
    yield "encrypted", "on this machine" if one.sealed else "by the endpoint" if one.needs_token else "no"
    if one.added_at:
        yield "added", time_text(one.added_at)
    yield "agents", count_text(len(one.agents), "agent")


def _number(sequence: int | None) -> str:
    return "" if sequence is None else str(sequence)


def _age(context: Context, moment: str | None) -> str:
    if moment is None:
        return "never"
    return f"{age_text((context.clock.now() - times.parse_time(moment)).total_seconds())} ago"
