"""`lifeboat sync`: capture now."""

from __future__ import annotations

from typing import Any

import click

from lifeboat_alf.errors import LifeboatError
from lifeboat_daemon import agent as agents
from lifeboat_daemon import retention
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.capture.report import ROOT_MISSING, CaptureReport
from lifeboat_daemon.capture.run import capture
from lifeboat_daemon.cli.output import Output
from lifeboat_daemon.cli.session import Session, session_command

_LISTS = {
    "unread": "could not be read, its last version stays",
    "unstable": "changed while it was read, its last version stays",
    "waiting": "may hold secrets and does not parse, its last version stays",
    "left_out": "is not kept",
    "looks_like_secret": "holds what looks like a secret",
}


@click.command()
@click.argument("names", metavar="[AGENT]...", nargs=-1)
@session_command
def sync(session: Session, names: tuple[str, ...]) -> int:
    """Capture what changed, of every agent or of those named; then let go what retention lets go."""
    chosen = [agents.find(session.context, name) for name in names] or agents.everyone(session.context)
    documents = []
    for agent in chosen:
        if not names and (not agent.watched or agent.is_paused(session.context.now())):
            session.output.note(f"{agent.name} rests")
            continue
        with session.output.progress(f"Capturing {agent.name}"):
            documents.append(_capture(session, agent))
    session.output.document({"agents": documents}, lambda: _print(session.output, documents))
    return 1 if any(document["state"] == "error" for document in documents) else 0


def _capture(session: Session, agent: Agent) -> dict[str, Any]:
    """One agent's capture; what fails for one does not keep the others from theirs."""
    try:
        report = capture(session.context, agent)
        report.warnings += retention.look_after(session.context, agent)
        return report_document(agent, report)
    except LifeboatError as error:
        report = CaptureReport(agent.id, warnings=[f"{error.title}: {error.message}"])
        return {**report_document(agent, report), "state": "error", "fix": error.fix}


def report_document(agent: Agent, report: CaptureReport) -> dict[str, Any]:
    """A capture as `sync --json` tells it."""
    state = "error" if report.outcome == ROOT_MISSING else "held" if report.held else "ok"
    return {"name": agent.name, "state": state, **report.to_json(), "remotes": []}


def _print(output: Output, documents: list[dict[str, Any]]) -> None:
    if not documents:
        output.line("No agent is captured here yet: lifeboat agents discover")
    for document in documents:
        output.line(sentence(document))
        for warning in document["warnings"]:
            output.warn(warning)
        for name, meaning in _LISTS.items():
            for path, reason in document[name].items():
                output.warn(f"{path} {meaning}: {reason}")
        if document["held"]:
            output.warn(f"held: {document['held'].get('reason', '')}; lifeboat agents accept {document['name']}")


def sentence(document: dict[str, Any]) -> str:
    """One capture in one line."""
    name, records, raw = document["name"], document["records"], document["raw"]
    if document["state"] == "error":
        return f"{name}: not captured; sequence {document['sequence']} stays"
    if not document["changed"]:
        return f"{name}: nothing changed since sequence {document['sequence']}"
    parts = [f"{count} memories {word}" for word, count in records.items() if count]
    parts += [f"{count} files {word}" for word, count in raw.items() if count]
    return f"{name}: sequence {document['sequence']}: {', '.join(parts) or 'details changed'}"
