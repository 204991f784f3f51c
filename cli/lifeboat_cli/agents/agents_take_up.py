"""`lifeboat agents add --as`: a workspace goes on as the agent of a second copy that it is."""

from __future__ import annotations

from pathlib import Path

from lifeboat_cli.commands.sync import print_capture
from lifeboat_cli.terminal.session import Session
from lifeboat_core.agents import agents
from lifeboat_core.capture.outcome import is_whole
from lifeboat_core.errors import LooksLike
from lifeboat_core.texts.words import argument
from lifeboat_daemon.control.poke import poke


def refuse_lookalike(session: Session, folder: Path, runtime: str | None) -> None:
    """Two agents would come of one, when a home was lost and its workspace is protected anew. Raises LooksLike."""
    from lifeboat_core.remotes import registry

    if not registry.usable(session.context) or agents.was_here(session.context, folder):
        return
    from lifeboat_core.remotes import taking_up

    with session.output.progress("Comparing with second copies"):
        found = taking_up.likenesses(session.context, folder, runtime)
    if found:
        known, place = found[0].agent.name or found[0].agent.id, argument(str(folder))
        raise LooksLike(
            f"{folder} looks like {found[0]}; --new protects it as another agent",
            fix=f"lifeboat agents add {place} --as {argument(known)} --from {argument(found[0].remote)}",
        )


def take_up(
    session: Session, folder: Path, remote: str, agent: str, take_over: str | None, *, accept_unsigned: bool
) -> int:
    """Protect the folder as the agent that it is. Return the exit status: 1 where something was not captured."""
    from lifeboat_core.remotes import taking_up

    with session.output.progress(f"Fetching the history of {agent}") as tell:
        done = taking_up.take_up(
            session.context,
            folder,
            remote,
            agent,
            take_over=take_over,
            accept_unsigned=accept_unsigned,
            tell=tell,
        )
    poke(session.context)
    document = {
        "id": done.agent.id,
        "name": done.agent.name,
        "runtime": done.agent.runtime,
        "workspace": str(done.agent.workspace),
        "remote": done.remote,
        "base": done.base,
        "capture": done.capture,
        "missed": done.missed,
        "warnings": done.warnings,
    }

    def text() -> None:
        session.output.line(f"{done.agent.name} is protected again, with the history of {done.remote}.", style="bold")
        print_capture(session.output, done.capture)
        for warning in done.warnings:
            session.output.warn(warning)
        for name, why in done.missed.items():
            session.output.warn(f"{name} does not follow yet: {why}")
        session.output.line("Send it to the second copies: lifeboat sync")

    session.output.document(document, text)
    return 0 if is_whole(done.capture) else 1
