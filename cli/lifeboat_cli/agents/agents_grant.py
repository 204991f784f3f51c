"""`lifeboat agents grant` and `revoke`: let an agent read its own past, and end that."""

from __future__ import annotations

import shlex

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT, DURATION
from lifeboat_core.agents.agent import Agent, find_agent
from lifeboat_core.texts.human_text import quote_argument, time_text


@click.command(
    short_help="Let an agent read its own past and make proposals.",
    epilog=format_examples("lifeboat agents grant Juniper", "lifeboat agents grant Juniper --expires 30d --undo-own"),
)
@click.argument("agent", type=AGENT)
@click.option(
    "--expires", type=DURATION, help="End the grant after this time (30m, 2h, 7d). Without it: until revoked."
)
@click.option(
    "--undo-own",
    is_flag=True,
    help="Also let the agent undo its own edits of the last 15 minutes without asking you.",
)
@session_command
def grant(session: CommandSession, agent: str, expires: int | None, undo_own: bool) -> None:
    """Let an agent read its own history and memories, and make proposals, through `lifeboat mcp`.

    The agent gets no access to other agents, keys, credentials, remotes, purges or settings. A proposal changes nothing
    until you accept it: `lifeboat proposals`. A second grant replaces the first one, and ends each
    `lifeboat mcp` that runs under the first one. To end a grant: `lifeboat agents revoke`.
    """
    from lifeboat_core.agents.session_hook_setup import make_hook_order
    from lifeboat_core.grants.agent_grant import give_grant

    found = find_agent(session.context, agent)
    given = give_grant(session.context, found, seconds=expires, undo_own=undo_own)
    order = make_hook_order(session.context, found)
    command = [*order.program, "mcp", "--agent", found.id]
    environment = {} if order.home is None else {"LIFEBOAT_HOME": str(order.home)}
    document = {
        **_document(found),
        "grant": given.to_json(session.context.now()),
        "server": {"command": command[0], "args": command[1:], "env": environment},
    }

    def text() -> None:
        end = "until you revoke it" if given.expires_at is None else f"until {time_text(given.expires_at)}"
        session.output.line(f"{found.name} may read its own past and make proposals, {end}.")
        session.output.line("The runtime of the agent has to start this MCP server (standard input and output):")
        words = [f"{name}={value}" for name, value in environment.items()]
        session.output.verbatim(f"  {shlex.join([*(['env', *words] if words else []), *command])}")
        session.output.verbatim(
            f"To install the skill that explains it: lifeboat agents hook {quote_argument(found.name)}"
        )

    session.output.document(document, text)


@click.command(
    short_help="End an agent's access to its own past.", epilog=format_examples("lifeboat agents revoke Juniper")
)
@click.argument("agent", type=AGENT)
@session_command
def revoke(session: CommandSession, agent: str) -> None:
    """End the grant of an agent. The next call of a running server is refused. Its open proposals stay."""
    from lifeboat_core.grants.agent_grant import revoke_grant

    found = find_agent(session.context, agent)
    had = revoke_grant(session.context, found)
    said = f"{found.name} no longer has access to its own past." if had else f"{found.name} had no grant."
    session.output.document({**_document(found), "revoked": had}, lambda: session.output.line(said))


def _document(agent: Agent) -> JsonObject:
    return {"id": agent.id, "name": agent.name, "runtime": agent.runtime, "workspace": str(agent.workspace)}
