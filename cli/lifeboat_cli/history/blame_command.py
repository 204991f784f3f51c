"""`lifeboat blame`: which sequence wrote each line of a file."""

from __future__ import annotations

import click

from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT, MOMENT, TEXT
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_core.agents import agent as agents
from lifeboat_core.documents.timeline_documents import describe_kind
from lifeboat_core.texts.human_text import count_text, time_text


@click.command(
    short_help="Show which sequence wrote each line of a file.",
    epilog=format_examples(
        "lifeboat blame Juniper MEMORY.md",
        "lifeboat blame Juniper MEMORY.md --at 12",
    ),
)
@click.argument("agent", type=AGENT)
@click.argument("file", type=TEXT)
@click.option("--at", type=MOMENT, help="Show the file at this sequence or time (default: the newest sequence).")
@pager_option
@session_command
def blame(session: CommandSession, agent: str, file: str, at: str | None) -> None:
    """Show for each line of a captured file the first kept sequence that contains it, and the time of that sequence.

    FILE is the name of the file in the workspace. A sequence that was deleted because of its age is not shown: its
    lines belong to the next kept sequence.
    """
    from lifeboat_core.history import line_origins

    found = agents.find_agent(session.context, agent)
    document = line_origins.list_line_origins(session.context, found, file, at)
    lines = document["lines"]

    def text() -> None:
        wide = len(str(max((line["sequence"] for line in lines), default=0)))
        place = len(str(len(lines)))
        with session.output.pager():
            for line in lines:
                made = describe_kind(line["kind"])
                origin = f"{line['sequence']:>{wide}} {time_text(line['time'])}{f' ({made})' if made else ''}"
                session.output.verbatim(f"{origin}  {line['line']:>{place}}  {line['text']}")
        if inexact := sum(not line["exact"] for line in lines):
            counted = count_text(inexact, "line")
            session.output.note(f"{counted} may be older: an earlier version of the file could not be read")

    session.output.document(document, text)
