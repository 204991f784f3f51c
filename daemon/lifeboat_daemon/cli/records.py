"""`lifeboat records`: single memories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from lifeboat_daemon import agent as agents
from lifeboat_daemon import records as memories
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.cli.examples import examples
from lifeboat_daemon.cli.naming import AGENT
from lifeboat_daemon.cli.session import Session, session_command
from lifeboat_daemon.context import Context
from lifeboat_daemon.words import count_text, path_text, time_text
from lifeboat_endpoint.vault import SequenceRow

Change = Callable[[Context, Agent, tuple[str, ...]], SequenceRow | None]


@click.group()
def records() -> None:
    """Single memories: show, forget, bring back, pin."""


@records.command(epilog=examples("lifeboat search Juniper insurance", "lifeboat records show Juniper ID"))
@click.argument("agent", type=AGENT)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@session_command
def show(session: Session, agent: str, ids: tuple[str, ...]) -> None:
    """The memories that ids name; any id of a chain will do."""
    found = memories.show(session.context, agents.find(session.context, agent), ids)

    def text() -> None:
        for record in found:
            source = record.get("source", {})
            session.output.line(f"{record['id']}  {record['memory_type']}  {record['status']}", style="bold")
            made = time_text(record["temporal"]["created_at"])
            session.output.line(f"from {path_text(source.get('origin_file', 'nowhere'))}, {made}")
            session.output.verbatim(record["content"].rstrip("\n"))

    session.output.document({"records": found}, text)


def _change(session: Session, agent: str, ids: tuple[str, ...], change: Change, word: str) -> None:
    row = change(session.context, agents.find(session.context, agent), ids)
    document: dict[str, Any] = {"sequence": None if row is None else row.number, "changed": row is not None}
    counted = count_text(len(ids), "memory", "memories")
    said = f"{counted} {word} (sequence {row.number})." if row is not None else "Nothing to change."
    session.output.document(document, lambda: session.output.line(said))


@records.command(epilog=examples("lifeboat search Juniper insurance", "lifeboat records forget Juniper ID"))
@click.argument("agent", type=AGENT)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@session_command
def forget(session: Session, agent: str, ids: tuple[str, ...]) -> None:
    """Drop memories, also while their file still holds the text. Reversible; history keeps them."""
    _change(session, agent, ids, memories.forget, "forgotten")


@records.command()
@click.argument("agent", type=AGENT)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@session_command
def restore(session: Session, agent: str, ids: tuple[str, ...]) -> None:
    """Bring forgotten or deleted memories back."""
    _change(session, agent, ids, memories.restore, "brought back")


@records.command()
@click.argument("agent", type=AGENT)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@session_command
def pin(session: Session, agent: str, ids: tuple[str, ...]) -> None:
    """Memories that must not go without your word."""
    _change(session, agent, ids, memories.pin, "pinned")


@records.command()
@click.argument("agent", type=AGENT)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@session_command
def unpin(session: Session, agent: str, ids: tuple[str, ...]) -> None:
    """Take pins away."""
    _change(session, agent, ids, memories.unpin, "no longer pinned")
