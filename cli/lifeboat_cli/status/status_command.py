"""`lifeboat status`: how every agent stands, beginning with the age of the last verified copy."""

from __future__ import annotations

import click

from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples


@click.command(
    short_help="Show whether every agent is safe.",
    epilog=format_examples("lifeboat status", "lifeboat status Juniper --check", "lifeboat status --watch"),
)
@click.argument("agent", required=False)
@click.option("--check", is_flag=True, help="Exit with 1 if an agent or the setup needs your attention.")
@click.option("--watch", is_flag=True, help="Print each change of the status until Ctrl-C.")
@session_command
def status(session: CommandSession, agent: str | None = None, check: bool = False, watch: bool = False) -> int:
    """Show for each agent whether all its changes are captured and pushed (default: all agents)."""
    from lifeboat_cli.status import status_text, status_view, status_watch

    if watch:
        if check or session.output.as_json:
            raise click.UsageError("--watch cannot be combined with --check or --json")
        return status_watch.watch_status(session, agent)
    seen = status_view.view_status(session, agent)
    session.output.document(seen.to_json(), lambda: status_text.print_status_view(session, seen))
    return 1 if check and seen.status.needs_the_user else 0
