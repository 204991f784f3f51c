"""`lifeboat log`: what was done with the agents, and when."""

from __future__ import annotations

import click

from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT, COUNT
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.agents import agent as agents
from lifeboat_core.texts.human_text import NO_BREAK, time_text

_COLUMNS = ("time", "agent", "what", "details")
_FIT = TableFit(shorten=("agent", "details"))


@click.command(
    short_help="Show what was done with the agents, and when.",
    epilog=format_examples(
        "lifeboat log",
        "lifeboat log Juniper -n 10",
        "lifeboat log --kind restore --kind undo",
        "lifeboat log --follow",
    ),
)
@click.argument("agent", required=False, type=AGENT)
@click.option(
    "-n", "--limit", type=COUNT, default=50, show_default=True, help="Show at most this many of the newest entries."
)
@click.option("--kind", "kinds", multiple=True, help="Show only entries of this kind (repeatable).")
@click.option(
    "--follow",
    is_flag=True,
    help="Then keep running, and print new entries until Ctrl-C (with --json: one document per line).",
)
@pager_option
@session_command
def log(session: CommandSession, agent: str | None, limit: int, kinds: tuple[str, ...], follow: bool) -> None:
    """Show the log of all agents, newest entry first.

    The log contains captures, restores, imports, undone restores, changes of the key, purges, deletions of old
    sequences, and held removals.
    """
    from lifeboat_core.history import activity_log

    if follow:
        _follow(session, agent, kinds)
        return

    found = agents.list_agents(session.context) if agent is None else [agents.find_agent(session.context, agent)]
    told = activity_log.list_activity(session.context, found, everything=agent is None, limit=limit, kinds=kinds)
    rows = [(time_text(each.time).replace(" ", NO_BREAK), each.name, each.kind, each.text) for each in told]

    def text() -> None:
        if not rows:
            session.output.line("The log contains no entry of this kind." if kinds else "The log is empty.")
            return
        with session.output.pager():
            session.output.table(_COLUMNS, rows, _FIT)

    session.output.document({"entries": [each.to_json() for each in told]}, text)


def _follow(session: CommandSession, agent: str | None, kinds: tuple[str, ...]) -> None:
    from lifeboat_daemon.control.activity_following import EVERY, follow_activity

    if agent is not None:
        agents.find_agent(session.context, agent)

    def polls() -> None:
        session.output.note(
            f"The daemon is not running, so this command checks the log for new entries every {EVERY:.0f} seconds."
        )

    for each in follow_activity(session.context, agent, polls=polls):
        if kinds and each.kind not in kinds:
            continue
        if session.output.as_json:
            session.output.json_line(each.to_json())
        else:
            session.output.verbatim(f"{time_text(each.time)}  {each.name}  {each.kind}  {each.text}")
