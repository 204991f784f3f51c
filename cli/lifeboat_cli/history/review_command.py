"""`lifeboat review`: what agents did to their memories since the last look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.size_texts import size_text
from lifeboat_cli.history.record_commands import write_undo
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT, COUNT, MOMENT, TEXT
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.texts.human_text import count_text, quote_argument, time_text
from lifeboat_core.texts.safe_text import name_text

_LIMIT = 200
_MOST_LINES = 12
"""Lines of a text that are shown for each side of a change."""
_MARK_TEXTS = {
    "secret": "contains a secret, which was cut",
    "instruction": "contains text that reads like an instruction",
    "duplicate": "has nearly the same words as another memory",
    "contradiction": "another memory states something else",
    "rewrite": "the file was rewritten by more than 40 %",
    "cleanup": "several memories of the file were removed at once",
}


@click.command(
    short_help="Show what agents changed in their memories since you last looked.",
    epilog=format_examples(
        "lifeboat review",
        "lifeboat review Juniper --since 2026-11-20",
        "lifeboat review Juniper --approve ID",
        "lifeboat review Juniper --undo ID",
        "lifeboat review Juniper --approve-all",
        "lifeboat review --count",
    ),
)
@click.argument("agent", required=False, type=AGENT)
@click.option("--since", type=MOMENT, help="Show all changes since this sequence or time, also approved ones.")
@click.option("-n", "--limit", type=COUNT, default=_LIMIT, show_default=True, help="Show at most this many changes.")
@click.option("--count", is_flag=True, help="Print only the number of changes that wait.")
@click.option(
    "--approve", "approved", type=TEXT, metavar="ID", multiple=True, help="Approve the change of this memory."
)
@click.option("--approve-all", is_flag=True, help="Approve all changes.")
@click.option("--until", type=MOMENT, help="Approve only changes up to this sequence (default: the newest).")
@click.option("--undo", "undone", type=TEXT, metavar="ID", help="Write the text before the change into the live file.")
@pager_option
@session_command
def review(
    session: CommandSession,
    agent: str | None,
    since: str | None,
    limit: int,
    count: bool,
    approved: tuple[str, ...],
    approve_all: bool,
    until: str | None,
    undone: str | None,
) -> None:
    """Show the memories that changed since you last looked: text before and after, time, file, and marks.

    A mark is a hint that a change deserves a look. Approved changes are not shown again, and nothing else happens to
    them. `--undo` works like `lifeboat records undo`. To name a sequence: `lifeboat label`.
    """
    found = agents.list_agents(session.context) if agent is None else [agents.find_agent(session.context, agent)]
    if sum((bool(approved), approve_all, undone is not None, count)) > 1:
        raise click.UsageError("Give only one of --approve, --approve-all, --undo and --count.")
    if until is not None and not (approved or approve_all):
        raise click.UsageError("--until needs --approve or --approve-all.")
    if (approved or undone is not None or until is not None) and agent is None:
        raise click.UsageError("--approve, --undo and --until need the name of an agent.")
    if approved or approve_all:
        _approve(session, found, approved, until)
    elif undone is not None:
        _undo(session, found[0], undone)
    else:
        _show(session, found, since, 0 if count else limit)


def _approve(session: CommandSession, found: Sequence[Agent], ids: tuple[str, ...], until: str | None) -> None:
    from lifeboat_core.review import review_inbox

    if ids:
        review_inbox.approve_changes(session.context, found[0], ids, until)
        said = f"{count_text(len(ids), 'change')} approved."
    else:
        for one in found:
            review_inbox.approve_all(session.context, one, until)
        said = f"All changes of {count_text(len(found), 'agent')} approved."
    document: JsonObject = {"agents": [one.id for one in found], "approved": list(ids), "everything": not ids}
    session.output.document(document, lambda: session.output.line(said))


def _undo(session: CommandSession, agent: Agent, record_id: str) -> None:
    from lifeboat_core.review import review_inbox

    write_undo(session, review_inbox.undo_change(session.context, agent, record_id))


def _show(session: CommandSession, found: Sequence[Agent], since: str | None, limit: int) -> None:
    """Show at most `limit` changes; 0: only their number."""
    from lifeboat_core.review import review_inbox

    inboxes = [
        review_inbox.open_inbox(session.context, one, since, limit=limit, with_marks=bool(limit)) for one in found
    ]
    found_changes = (change for one in inboxes for change in one.changes_json())
    changes = sorted(found_changes, key=lambda change: str(change["time"]), reverse=True)[:limit]
    total = sum(one.total for one in inboxes)
    document: JsonObject = {
        "changes": changes,
        "total": total,
        "truncated": len(changes) < total,
        "agents": [one.agent_json() for one in inboxes],
    }

    def text() -> None:
        if not limit:
            session.output.line(str(total))
            return
        with session.output.pager():
            for change in changes:
                _print_change(session, change)
        if not total:
            session.output.line("No change waits for a review." if since is None else "No memory changed in this time.")
            return
        session.output.note(f"{len(changes):,} of {count_text(total, 'change')} shown")
        if changes:
            first = next(one for one in inboxes if one.agent.id == changes[0]["agent"])
            name = quote_argument(first.agent.name)
            approve = f"lifeboat review {name} --approve-all --until {first.until}"
            also = ", and what is not shown" if len(changes) < total else ""
            session.output.note(f"To approve what you have seen{also}: {approve}")

    session.output.document(document, text)


def _print_change(session: CommandSession, change: JsonObject) -> None:
    place = name_text(change["origin_file"] or "no file")
    head = f"{name_text(change['name'])}  {change['operation']} in {place}, {time_text(change['time'])}"
    session.output.line(f"{head}, sequence {change['sequence']}, {size_text(change['bytes'])}", style="bold")
    session.output.verbatim(f"  {change['id']}")
    if change["session"] is not None:
        session.output.line(f"  session {name_text(change['session'])}")
    for mark in change["marks"]:
        session.output.line(f"  ! {_MARK_TEXTS[mark['kind']]}{_about(mark)}", style="yellow")
    for sign, text in (("-", change["before"]), ("+", change["after"])):
        for line in _some_lines(text or ""):
            session.output.verbatim(f"  {sign} {line}")


def _about(mark: JsonObject) -> str:
    quoted = f': "{mark["quote"]}"' if mark["quote"] else ""
    return quoted + (f" (memory {mark['other']})" if mark["other"] else "")


def _some_lines(text: str) -> Iterator[str]:
    lines = text.rstrip().split("\n") if text.strip() else []
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield f"({count_text(len(lines) - _MOST_LINES, 'more line')})"
