"""`lifeboat mcp`: serve an agent its own past over the Model Context Protocol."""

from __future__ import annotations

import sys

import click

from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT
from lifeboat_core.agents.agent import find_agent


@click.command(
    short_help="Let an agent read its own past (Model Context Protocol).",
    epilog=format_examples("lifeboat agents grant Juniper", "lifeboat mcp --agent Juniper"),
)
@click.option("--agent", type=AGENT, required=True, help="Serve this agent, and no other.")
@session_command
def mcp(session: CommandSession, agent: str) -> None:
    """Serve one agent its own past on standard input and output.

    The runtime of the agent starts this command. It needs a grant: `lifeboat agents grant`. Each call checks the
    grant. Proposals of the agent change nothing until you accept them: `lifeboat proposals`.
    """
    from lifeboat_cli.mcp.stdio_server import serve_agent
    from lifeboat_core.grants.agent_grant import check_grant
    from lifeboat_core.grants.proposal_requests import begin_session

    found = find_agent(session.context, agent)
    with session.context.vault(found.id) as vault:
        now = session.context.now()
        begun = begin_session(found, check_grant(vault, found.name, now), vault, now)
    if sys.stdin is not None and sys.stdin.isatty():
        session.output.note("Waiting for an MCP client on standard input. Usually a runtime starts this command.")
    serve_agent(session.context, begun)
