"""`lifeboat proposals`: list, show, accept and reject what agents propose."""

from __future__ import annotations

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.terminal.command_session import CommandSession, ask_confirmation, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.lazy_group import DefaultCommandGroup
from lifeboat_cli.terminal.option_types import AGENT
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.agents.agent import Agent, find_agent, list_agents
from lifeboat_core.grants import proposals as book
from lifeboat_core.grants.proposals import Proposal
from lifeboat_core.texts.human_text import NO_BREAK, count_text, quote_argument, time_text
from lifeboat_core.texts.proposal_text import describe_request
from lifeboat_core.texts.safe_text import name_text

_COLUMNS = ("agent", "number", "made", "state", "what", "reason given by the agent")
NUMBER = click.IntRange(min=1)


@click.group("proposals", cls=DefaultCommandGroup, default="list")
def proposals() -> None:
    """List, show, accept or reject what agents propose."""


@proposals.command("list", epilog=format_examples("lifeboat proposals list", "lifeboat proposals list Juniper --all"))
@click.argument("agent", required=False, type=AGENT)
@click.option("--all", "everything", is_flag=True, help="Also list accepted, rejected and expired proposals.")
@pager_option
@session_command
def list_proposals(session: CommandSession, agent: str | None, everything: bool) -> None:
    """List the open proposals of all agents, or of one. An open proposal expires after seven days."""
    from lifeboat_core.grants import proposal_run

    found = list_agents(session.context) if agent is None else [find_agent(session.context, agent)]
    pairs = [
        (one, each)
        for one in found
        for each in proposal_run.list_proposals(session.context, one, everything=everything)
    ]
    rows = [_row(one, each) for one, each in pairs]

    def text() -> None:
        if not rows:
            session.output.line("There are no proposals." if everything else "There are no open proposals.")
            return
        with session.output.pager():
            session.output.table(_COLUMNS, rows, TableFit(shorten=("agent", "what", _COLUMNS[-1])))
        session.output.note("To see what a proposal would change: lifeboat proposals show AGENT NUMBER")

    session.output.document({"proposals": [_document(one, each) for one, each in pairs]}, text)


def _document(agent: Agent, one: Proposal) -> JsonObject:
    return {"agent": agent.id, "name": agent.name, **one.to_json()}


def _row(agent: Agent, one: Proposal) -> tuple[str, ...]:
    made = time_text(one.made_at).replace(" ", NO_BREAK)
    state = f"{one.state}, not finished" if one.is_unfinished else one.state
    return agent.name, str(one.number), made, state, describe_request(one.request), one.request.reason


@proposals.command(epilog=format_examples("lifeboat proposals show Juniper 1"))
@click.argument("agent", type=AGENT)
@click.argument("number", type=NUMBER)
@pager_option
@session_command
def show(session: CommandSession, agent: str, number: int) -> None:
    """Show a proposal and what accepting it would change."""
    from lifeboat_core.grants import proposal_run

    found = find_agent(session.context, agent)
    one = proposal_run.find_proposal(session.context, found, number)
    preview = None
    if one.state == book.OPEN:
        try:
            preview = proposal_run.preview_proposal(session.context, found, one.request)
        except LifeboatError as error:  # for example a memory that was purged meanwhile
            session.output.warn(f"it cannot be carried out now: {error.message}")

    def text() -> None:
        with session.output.pager():
            _print_proposal(session, one, preview)

    session.output.document({**_document(found, one), "preview": preview}, text)


def _print_proposal(session: CommandSession, one: Proposal, preview: JsonObject | None) -> None:
    session.output.line(f"Proposal {one.number} ({one.state}): {describe_request(one.request)}", style="bold")
    session.output.line(
        f"made {time_text(one.made_at)} by a client that calls itself {name_text(one.client or 'nothing')}"
    )
    if one.request.reason:
        session.output.line(f"reason given by the agent: {name_text(one.request.reason)}")
    if one.is_unfinished:
        session.output.warn("it was accepted, but not finished: this still goes on, or was interrupted")
    if one.problem:
        session.output.warn(f"it could not be carried out: {one.problem}")
    if preview is not None:
        _print_preview(session, preview)


def _print_preview(session: CommandSession, preview: JsonObject) -> None:
    """Print what would change. A sign before each line of an agent's text shows that it is not Lifeboat's."""
    if "memory" in preview:
        for title, sign, text in (("now", "-", preview["now"]), ("then", "+", preview["then"])):
            session.output.line(f"The memory {title}:{' (deleted)' if text is None else ''}")
            for line in (text or "").splitlines():
                session.output.block(f"  {sign} {line}")
        return
    session.output.line(f"{preview['operation']} {name_text(preview['path'])}")
    for line in str(preview.get("diff", "")).split("\n")[2:]:
        session.output.block(line)
    if preview.get("cut"):
        session.output.line("(the rest of the changes is omitted)")


@proposals.command(epilog=format_examples("lifeboat proposals accept Juniper 1"))
@click.argument("agent", type=AGENT)
@click.argument("number", type=NUMBER)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@session_command
def accept(session: CommandSession, agent: str, number: int, yes: bool) -> None:
    """Carry out a proposal.

    The agent chose the words of a proposal. Check what it would change before you accept it. The workspace is captured
    first, and `lifeboat undo` reverses a restore.
    """
    from lifeboat_core.grants import proposal_run

    found = find_agent(session.context, agent)
    one = proposal_run.find_proposal(session.context, found, number)
    if one.state == book.OPEN and not yes:
        if not session.output.as_json:
            _print_proposal(session, one, proposal_run.preview_proposal(session.context, found, one.request))
        ask_confirmation(session, "Do this?", otherwise=f"{describe_request(one.request)} would be done")
    with session.output.progress("Carrying out the proposal") as tell:
        done = proposal_run.accept_proposal(session.context, found, number, tell=tell)
    said = f"Proposal {number} of {found.name} was carried out (sequence {done.made_sequence})."
    session.output.document(_document(found, done), lambda: session.output.line(said))


@proposals.command(
    epilog=format_examples("lifeboat proposals reject Juniper 2", "lifeboat proposals reject Juniper --all")
)
@click.argument("agent", type=AGENT)
@click.argument("number", type=NUMBER, required=False)
@click.option("--all", "everything", is_flag=True, help="Reject all open proposals of the agent.")
@session_command
def reject(session: CommandSession, agent: str, number: int | None, everything: bool) -> None:
    """Reject a proposal, or all open proposals of an agent. Nothing changes."""
    from lifeboat_core.grants import proposal_run

    if (number is None) != everything:
        raise click.UsageError("give the number of a proposal, or --all")
    found = find_agent(session.context, agent)
    wanted = (
        [each.number for each in proposal_run.list_proposals(session.context, found)] if number is None else [number]
    )
    done = [proposal_run.reject_proposal(session.context, found, each) for each in wanted]
    session.output.document(
        {"proposals": [_document(found, one) for one in done]},
        lambda: session.output.line(
            f"{count_text(len(done), 'proposal')} of {quote_argument(found.name)} rejected. Nothing was changed."
        ),
    )
