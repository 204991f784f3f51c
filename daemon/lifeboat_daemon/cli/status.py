"""`lifeboat status`: how every agent stands, beginning with the age of the last verified copy."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version

import click

from lifeboat_alf import times
from lifeboat_daemon import agent as agents
from lifeboat_daemon.cli.examples import examples
from lifeboat_daemon.cli.key_texts import NEVER_PROVEN
from lifeboat_daemon.cli.session import Session, session_command
from lifeboat_daemon.status import AgentStatus, Status, of_agent, verdict
from lifeboat_daemon.status import status as status_of
from lifeboat_daemon.words import NO_BREAK, age_text, argument


@click.command(epilog=examples("lifeboat status", "lifeboat status Juniper --check"))
@click.argument("agent", required=False)
@click.option("--check", is_flag=True, help="Exit with 1 when something needs you.")
@session_command
def status(session: Session, agent: str | None = None, check: bool = False) -> int:
    """How the agents stand. Without AGENT, all of them."""
    found = status_of(session.context)
    shown = found.agents
    if agent:
        chosen = agents.find(session.context, agent)
        shown = [of_agent(session.context, chosen, found.key)]
        found = replace(found, verdict=verdict(shown[0].state, shown, session.context.clock.now()))
    document = found.to_json()
    document["agents"] = [one.to_json() for one in shown]
    document["daemon"] = {"running": False, "pid": None, "version": version("agent-lifeboat")}
    session.output.document(document, lambda: _print(session, found, shown))
    return 1 if check and found.needs_the_user else 0


def _print(session: Session, found: Status, shown: list[AgentStatus]) -> None:
    output = session.output
    output.line(found.verdict, style="bold")
    for problem in found.problems:
        output.warn(problem)
    if not shown:
        output.line("Find agents: lifeboat agents discover")
        return
    rows = [
        (one.name, one.state, _age(session, one.last_verified_at), _age(session, one.last_captured_at), one.sequence)
        for one in shown
    ]
    output.table(("agent", "state", "last verified", "last captured", "sequence"), rows)
    for one in shown:
        for reason in one.reasons:
            output.line(f"{one.name}: {reason}")
        if one.fix:
            output.verbatim(f"What helps: {one.fix}")
    never = next((one for one in shown if one.last_verified_at is None), None)
    if never is not None and not any(one.fix for one in shown):
        output.verbatim(f"Try the copy out: lifeboat verify {argument(never.name)}")
    if not any(found.key.note in one.reasons for one in shown):
        output.line(found.key.note or f"key: {found.key.state}")
    if found.key.key_id is not None and found.key.proven_at is None:
        output.line(NEVER_PROVEN)


def _age(session: Session, moment: str | None) -> str:
    if moment is None:
        return "never"
    return f"{age_text((session.context.clock.now() - times.parse(moment)).total_seconds())} ago".replace(" ", NO_BREAK)
