"""`lifeboat agents adopt`, and the list of the agents on a remote."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.size_texts import size_text
from lifeboat_cli.commands.sync_command import print_capture
from lifeboat_cli.terminal.command_session import (
    CommandSession,
    ask_confirmation,
    explain_interruption,
    session_command,
)
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT, REMOTE
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.agents.agent import Agent, find_agent
from lifeboat_core.capture.sync_json import is_whole
from lifeboat_core.documents.remote_documents import Away, There
from lifeboat_core.texts.human_text import NO_BREAK, count_text, quote_argument, time_text
from lifeboat_daemon.control.poke_daemon import wake_daemon

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context
    from lifeboat_core.remotes.agent_adoption import Adoption, AdoptionResult
    from lifeboat_core.remotes.contract import RemoteConfig
    from lifeboat_vault.remote.remote_contract import RemoteAgent


_CUT_OFF = "The adoption was interrupted. No data is lost. To continue, run the same command again."


@click.command(
    short_help="Make this machine the writer of an agent.",
    epilog=format_examples("lifeboat agents adopt Juniper", "lifeboat agents adopt Juniper --take-over laptop-2 --yes"),
)
@click.argument("agent", type=AGENT)
@click.option("--from", "remote", type=REMOTE, metavar="REMOTE", help="Continue from the history on this remote.")
@click.option(
    "--take-over",
    metavar="MACHINE",
    help="Name of the machine to take over from. Needed if that machine wrote to the remote recently.",
)
@click.option(
    "--replace",
    type=REMOTE,
    metavar="REMOTE",
    help="Replace a different history of the agent on this remote. The replaced history is kept on this machine for "
    "90 days.",
)
@click.option("--accept-unsigned", is_flag=True, help="Accept a history that is not signed with your key.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show what would change and which machine would stop being the writer; change nothing.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@session_command
def adopt(
    session: CommandSession,
    agent: str,
    remote: str | None,
    take_over: str | None,
    replace: str | None,
    accept_unsigned: bool,
    dry_run: bool,
    yes: bool,
) -> int:
    """Make this machine the writer of an agent.

    The current workspace becomes the next sequence after the newest sequence on the remotes. A file that is missing
    in the workspace counts as removed in that sequence, and stays in the history. To get the state that another
    machine wrote, first restore it: lifeboat restore AGENT --from REMOTE. Exit 1 if a part of the workspace could
    not be captured.
    """
    from lifeboat_core.remotes import agent_adoption, remote_registry, writer_epochs

    gives_way = None if replace is None else remote_registry.find_remote(session.context, replace)
    found = find_agent(session.context, agent)
    with ExitStack() as stack:
        with session.output.progress(f"Comparing {found.name} with the remotes") as tell:
            looking = agent_adoption.prepare_adoption(
                session.context,
                found,
                remote,
                accept_unsigned=accept_unsigned,
                tell=tell,
            )
            adoption = stack.enter_context(looking)
        if dry_run:
            document = _adoption_document(session.context, adoption)
            session.output.document(document, lambda: _show(session, adoption))
            return 0
        writer_epochs.check_takeover_consent(session.context, found.name, adoption.head, take_over)
        if not session.output.as_json:
            _show(session, adoption)
        if not yes:
            ask_confirmation(
                session,
                f"Make this machine the writer of {found.name}?",
                otherwise=f"this machine would become the writer of {found.name}",
            )
        with session.output.progress(f"Adopting {found.name}") as tell, explain_interruption(session, _CUT_OFF):
            done = agent_adoption.adopt_agent(session.context, adoption, take_over=take_over, tell=tell)
    if gives_way is not None:
        _give_way(session, found, gives_way, done, accept_unsigned=accept_unsigned)
    wake_daemon(session.context)
    session.output.document(done.to_json(), lambda: _print(session, done))
    return 0 if is_whole(done.capture) else 1


def _give_way(
    session: CommandSession, agent: Agent, remote: RemoteConfig, done: AdoptionResult, *, accept_unsigned: bool
) -> None:
    """Replace another history by the adopted one. The replaced history is kept on this machine."""
    from lifeboat_core.remotes import agent_adoption

    with session.output.progress(f"Replacing the history on {remote.name}") as tell:
        kept = agent_adoption.replace_history(
            session.context, agent, remote, accept_unsigned=accept_unsigned, tell=tell
        )
    if kept is not None:
        done.missed.pop(remote.name, None)
        done.adoption.warnings.append(
            f"{remote.name} had a different history of this agent; a copy of that history "
            "is kept on this machine for 90 days"
        )


def _adoption_document(context: Context, adoption: Adoption) -> JsonObject:
    """Return what an adoption would do. `take_over` is the machine that the user has to name, or None."""
    from lifeboat_core.remotes import writer_epochs

    head = adoption.head
    return {
        "id": adoption.agent.id,
        "name": adoption.agent.name,
        "dry_run": True,
        "remote": adoption.remote.name,
        "base": head.number,
        "time": head.time,
        "machine": head.machine or head.writer,
        "written_at": head.written_at,
        "take_over": writer_epochs.find_machine_to_name(context, head),
        "own_history": adoption.own_history,
        "changes": adoption.changes,
        "warnings": adoption.warnings,
    }


def _show(session: CommandSession, adoption: Adoption) -> None:
    """Print what the workspace of this machine changes on top of the remote's newest sequence."""
    from lifeboat_core.history import differences

    head = adoption.head
    by = f", written by {head.machine or head.writer}" if head.machine or head.writer else ""
    session.output.line(
        f"The newest sequence on {adoption.remote.name} is {head.number}, captured {time_text(head.time)}{by}."
    )
    if adoption.own_history:
        session.output.line("This machine has the complete history of the agent and continues it.")
    for line in differences.format_differences(adoption.changes):
        session.output.verbatim(line)
    held = adoption.changes.get("held")
    if held:
        session.output.warn(
            f"{held['reason']}; the removals are not pushed until you accept them with `lifeboat agents accept`"
        )


def _print(session: CommandSession, done: AdoptionResult) -> None:
    output, adoption = session.output, done.adoption
    output.line(f"This machine is now the writer of {adoption.agent.name}.", style="bold")
    print_capture(output, done.capture)
    if done.aside is not None:
        output.line("The previous history of this machine is kept for 90 days. To see what it would restore:")
        output.verbatim(f"  lifeboat restore {quote_argument(adoption.agent.name)} --from aside --dry-run")
    for warning in adoption.warnings:
        output.warn(warning)
    for name, why in done.missed.items():
        output.warn(f"remote {name} has not accepted this machine as the new writer yet: {why}")
    output.line("To push the new state to the remotes: lifeboat sync")


def print_remote_agents(session: CommandSession, name: str) -> None:
    """Print the agents on a remote."""
    import contextlib

    from lifeboat_core.agents.agent import list_agents
    from lifeboat_core.remotes import remote_registry
    from lifeboat_core.remotes.remote_kinds import open_remote

    config = remote_registry.find_remote(session.context, name)
    with contextlib.closing(open_remote(session.context, config)) as remote:
        there = remote.agents()
    here = {one.id: one.name for one in list_agents(session.context)}
    documents = [_describe_remote_agent(session.context, one, here.get(one.id)) for one in there]
    rows = [_row(document) for document in documents]

    def text() -> None:
        if not rows:
            session.output.line(f"No agent is stored on {config.name} yet.")
            return
        columns = ("agent", "runtime", "sequence", "of", "written by", "size", "here", "id")
        fit = TableFit(shorten=("written by", "runtime"), drop=("size", "of", "runtime"), least={"id": 13})
        session.output.table(columns, rows, fit)
        session.output.note(f"{count_text(len(rows), 'agent')} on {config.name}")
        for one in there:
            if one.held is not None:
                before = one.held.get("previous")
                told = "" if before is None else f"; the sequence before the removal is {before}"
                said = f"{one.held.get('reason')}{told}"
                session.output.warn(f"the newest sequence of {one.name or one.id} is held: {said}")

    session.output.document(There(config.name, tuple(documents)), text)


def _describe_remote_agent(context: Context, agent: RemoteAgent, here: str | None) -> Away:
    """Return one agent of a remote. `here` is its name on this machine, or None. Folders are proposed for runtimes
    only: no agent runs in a file format."""
    from lifeboat_core.restore import usual_folders
    from lifeboat_formats.interchange.format_registry import list_formats

    formats = set(list_formats()) - {agent.runtime}
    head, folders = agent.head, usual_folders.find_usual_folders(context, agent.name)
    return Away(
        id=agent.id,
        name=agent.name,
        runtime=agent.runtime,
        epoch=agent.epoch,
        sequence=None if head is None else head.number,
        time=None if head is None else head.time,
        machine="" if head is None else head.machine or head.writer,
        written_at=None if head is None else head.written_at,
        bytes=agent.bytes,
        held=agent.held,
        here=here,
        folders={runtime: str(folder) for runtime, folder in folders.items() if runtime not in formats},
    )


def _row(document: Away) -> tuple[object, ...]:
    when = "" if document.time is None else time_text(document.time).replace(" ", NO_BREAK)
    number = "" if document.sequence is None else document.sequence
    size = size_text(document.bytes).replace(" ", NO_BREAK) if document.bytes else ""
    named = (document.name, document.runtime, number, when, document.machine, size)
    return (*named, document.here or "no", document.id[:13])
