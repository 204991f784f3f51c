"""`lifeboat log`: what was done with the agents, and when."""

from __future__ import annotations

import click

from lifeboat_daemon import agent as agents
from lifeboat_daemon.cli.examples import examples
from lifeboat_daemon.cli.naming import AGENT, COUNT
from lifeboat_daemon.cli.session import Session, session_command
from lifeboat_daemon.words import NO_BREAK, time_text


@click.command(
    short_help="What was done with the agents, and when.",
    epilog=examples("lifeboat log", "lifeboat log Juniper --limit 10"),
)
@click.argument("agent", required=False, type=AGENT)
@click.option("--limit", type=COUNT, default=50, show_default=True, help="At most so many, the newest.")
@session_command
def log(session: Session, agent: str | None, limit: int) -> None:
    """What was done, newest first: captures, restores, imports, undo, keys, thinning, what was held."""
    from lifeboat_daemon import activity

    found = agents.everyone(session.context) if agent is None else [agents.find(session.context, agent)]
    told = activity.log(session.context, found, everything=agent is None, limit=limit)
    rows = [(time_text(each.time).replace(" ", NO_BREAK), each.name, each.kind, each.text) for each in told]

    def text() -> None:
        if not rows:
            session.output.line("Nothing was done yet.")
            return
        session.output.table(("time", "agent", "what", "details"), rows)

    session.output.document({"entries": [each.to_json() for each in told]}, text)
