"""`lifeboat sync`: capture now."""

from __future__ import annotations

from typing import Any

import click

from lifeboat_daemon import agent as agents
from lifeboat_daemon.cli.output import Output
from lifeboat_daemon.cli.session import Session, session_command


@click.command()
@click.argument("names", metavar="[AGENT]...", nargs=-1)
@session_command
def sync(session: Session, names: tuple[str, ...]) -> int:
    """Capture what changed, of every agent or of those named."""
    from lifeboat_daemon.capture import capture

    chosen = [agents.find(session.context, name) for name in names] or agents.everyone(session.context)
    documents = []
    for agent in chosen:
        if not names and (not agent.watched or agent.is_paused(session.context.now())):
            session.output.note(f"{agent.name} rests")
            continue
        with session.output.progress(f"Capturing {agent.name}"):
            documents.append(capture(session.context, agent).to_json())
    session.output.document({"agents": documents}, lambda: _print(session.output, documents))
    return 1 if any(document["state"] == "error" for document in documents) else 0


def _print(output: Output, documents: list[dict[str, Any]]) -> None:
    if not documents:
        output.line("No agent is protected yet: lifeboat agents discover")
    for document in documents:
        output.line(sentence(document))
        for warning in document.get("warnings", []):
            output.warn(warning)


def sentence(document: dict[str, Any]) -> str:
    """One capture in one line."""
    name, records, raw = document["name"], document["records"], document["raw"]
    if not document["changed"]:
        return f"{name}: nothing changed since sequence {document['sequence']}"
    parts = [f"{count} memories {word}" for word, count in records.items() if count]
    parts += [f"{count} files {word}" for word, count in raw.items() if count]
    return f"{name}: sequence {document['sequence']}: {', '.join(parts) or 'details changed'}"
