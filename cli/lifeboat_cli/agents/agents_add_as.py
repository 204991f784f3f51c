"""`lifeboat agents add --as`: protect a workspace as an existing agent of a remote."""

from __future__ import annotations

from pathlib import Path

from lifeboat_cli.commands.sync_command import print_capture
from lifeboat_cli.terminal.command_session import CommandSession
from lifeboat_core.agents import manage_agents
from lifeboat_core.capture.sync_json import is_whole
from lifeboat_core.errors import AgentError
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_daemon.control.poke_daemon import wake_daemon


def refuse_lookalike(session: CommandSession, folder: Path, runtime: str | None) -> None:
    """Prevent that one agent becomes two after its home was lost and its workspace is protected again. Raises
    AgentError.LOOKS_LIKE."""
    from lifeboat_core.remotes import remote_registry

    if not remote_registry.list_usable_remotes(session.context) or manage_agents.is_known_workspace(
        session.context, folder
    ):
        return
    from lifeboat_core.remotes import reclaim_agent

    with session.output.progress("Comparing the workspace with the agents on the remotes"):
        found = reclaim_agent.find_likenesses(session.context, folder, runtime)
    if found:
        known, place = found[0].agent.name or found[0].agent.id, quote_argument(str(folder))
        raise AgentError.LOOKS_LIKE(
            f"{folder} looks like {found[0]}. To protect the folder as a new agent instead, repeat the command with "
            "--new",
            fix=f"lifeboat agents add {place} --as {quote_argument(known)} --from {quote_argument(found[0].remote)}",
        )


def add_as(
    session: CommandSession, folder: Path, remote: str, agent: str, take_over: str | None, *, accept_unsigned: bool
) -> int:
    """Protect the folder as the agent that it belongs to. Return the exit status: 1 if something was not captured."""
    from lifeboat_core.remotes import reclaim_agent

    with session.output.progress(f"Fetching the history of {agent}") as tell:
        done = reclaim_agent.reclaim_workspace(
            session.context,
            folder,
            remote,
            agent,
            take_over=take_over,
            accept_unsigned=accept_unsigned,
            tell=tell,
        )
    wake_daemon(session.context)
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
            session.output.warn(f"remote {name} has not accepted this machine as the new writer yet: {why}")
        session.output.line("To push the new state to the remotes: lifeboat sync")

    session.output.document(document, text)
    return 0 if is_whole(done.capture) else 1
