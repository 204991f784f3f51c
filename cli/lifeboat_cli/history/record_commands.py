"""`lifeboat records`: list, show, undo, forget, restore and pin single memories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT, COUNT, MOMENT, TEXT
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context
from lifeboat_core.memories import edit_records as memories
from lifeboat_core.texts.human_text import NO_BREAK, count_text, path_text, time_text, when_text
from lifeboat_vault.vault import SequenceRow

if TYPE_CHECKING:
    from lifeboat_core.memories.memory_undo import MemoryUndoReport

_COLUMNS = ("since", "type", "status", "file", "id", "memory")
_UUID = 36
_FIT = TableFit(shorten=("type", "file"), drop=("since", "status"), least={"id": _UUID, "memory": 24})
Change = Callable[[Context, Agent, tuple[str, ...]], SequenceRow | None]


@click.group()
def records() -> None:
    """List, show, undo, forget, restore or pin memories."""


@records.command(
    "list",
    epilog=format_examples(
        "lifeboat records list Juniper -n 20",
        "lifeboat records list Juniper --type preference --words tea",
        "lifeboat records list Juniper --status deleted",
    ),
)
@click.argument("agent", type=AGENT)
@click.option("--type", "memory_type", type=TEXT, help="List only memories of this type.")
@click.option(
    "--status",
    type=TEXT,
    help="List only memories with this status: active, archived or deleted (default: all but deleted).",
)
@click.option("--namespace", type=TEXT, help="List only memories in this namespace.")
@click.option("--tag", type=TEXT, help="List only memories with this tag.")
@click.option(
    "--identity-version", type=int, help="List only memories created under this version of the agent's identity."
)
@click.option(
    "--words",
    type=TEXT,
    default="",
    help="List only memories that contain these words (the last word may be incomplete).",
)
@click.option("-n", "--limit", type=COUNT, help="List at most this many of the newest memories.")
@click.option(
    "--after",
    type=TEXT,
    metavar="ID",
    help="List only memories after the memory with this id, which was the last one on the previous page.",
)
@pager_option
@session_command
def list_records(
    session: CommandSession,
    agent: str,
    memory_type: str | None,
    status: str | None,
    namespace: str | None,
    tag: str | None,
    identity_version: int | None,
    words: str,
    limit: int | None,
    after: str | None,
) -> None:
    """List the memories of an agent, newest first."""
    from lifeboat_cli.history import record_listing
    from lifeboat_core.memories.memory_search import MemoryFilters

    found = agents.find_agent(session.context, agent)
    filters = MemoryFilters(memory_type, namespace, tag, identity_version)
    page = record_listing.list_records_page(
        session.context, found, record_listing.RecordPageRequest(filters, status, words, limit, after)
    )

    def text() -> None:
        with session.output.pager():
            session.output.table(_COLUMNS, map(_row, page["records"]), _FIT)
        session.output.note(f"{page['shown']} of {count_text(page['total'], 'memory')}")
        if page["next"] is not None:
            session.output.note(f"To show the next page, run the same command with --after {page['next']}")

    session.output.document(page, text)


def _row(record: JsonObject) -> tuple[str, ...]:
    return (
        when_text(record["created_at"]).replace(" ", NO_BREAK),
        record["memory_type"],
        record["status"] + (", pinned" if record["pinned"] else ""),
        record["origin_file"],
        record["id"],
        record["snippet"],
    )


@records.command(epilog=format_examples("lifeboat search Juniper insurance", "lifeboat records show Juniper ID"))
@click.argument("agent", type=AGENT)
@click.argument("ids", type=TEXT, metavar="ID...", nargs=-1, required=True)
@session_command
def show(session: CommandSession, agent: str, ids: tuple[str, ...]) -> None:
    """Show memories with their properties and text. The id of an earlier version of a memory is also accepted."""
    found = memories.show_records(session.context, agents.find_agent(session.context, agent), ids)

    def text() -> None:
        for record in found:
            about = record["about"]
            session.output.line(f"{record['id']}  {record['memory_type']}  {record['status']}", style="bold")
            made = time_text(record["temporal"]["created_at"])
            session.output.line(f"from {path_text(about['provenance']['origin_file'] or 'no file')}, {made}")
            for sentence in _about(about):
                session.output.line(sentence)
            session.output.block(about["text"].rstrip("\n") or record["content"])

    session.output.document({"records": found}, text)


def _about(about: JsonObject) -> Iterator[str]:
    """Return the properties of a memory beside its text, as sentences."""
    if about["first_sequence"] is not None:
        until = "now" if about["present"] else f"sequence {about['last_sequence']}"
        yield f"this version: sequence {about['first_sequence']} to {until}"
    if len(about["chain"]) > 1:
        yield f"earlier versions: {', '.join(one['id'] for one in about['chain'] if not one['current'])}"
    for link in about["links"]:
        yield f"{link['relation']}: {link['target'] or link['id']} ({link['state']}) {link['snippet']}".rstrip()


def _change(session: CommandSession, agent: str, ids: tuple[str, ...], change: Change, word: str) -> None:
    row = change(session.context, agents.find_agent(session.context, agent), ids)
    document: JsonObject = {"sequence": None if row is None else row.number, "changed": row is not None}
    counted = count_text(len(ids), "memory")
    said = f"{counted} {word} (sequence {row.number})." if row is not None else "No memory was changed."
    session.output.document(document, lambda: session.output.line(said))


@records.command(epilog=format_examples("lifeboat search Juniper insurance", "lifeboat records forget Juniper ID"))
@click.argument("agent", type=AGENT)
@click.argument("ids", type=TEXT, metavar="ID...", nargs=-1, required=True)
@session_command
def forget(session: CommandSession, agent: str, ids: tuple[str, ...]) -> None:
    """Hide memories from search and lists.

    The file of a memory still contains the text, and the history keeps the memory. To show it again: `lifeboat
    records restore`.
    """
    _change(session, agent, ids, memories.forget_records, "forgotten")


@records.command()
@click.argument("agent", type=AGENT)
@click.argument("ids", type=TEXT, metavar="ID...", nargs=-1, required=True)
@session_command
def restore(session: CommandSession, agent: str, ids: tuple[str, ...]) -> None:
    """Show forgotten memories again, or restore deleted memories."""
    _change(session, agent, ids, memories.restore_records, "restored")


@records.command()
@click.argument("agent", type=AGENT)
@click.argument("ids", type=TEXT, metavar="ID...", nargs=-1, required=True)
@session_command
def pin(session: CommandSession, agent: str, ids: tuple[str, ...]) -> None:
    """Pin memories. If a pinned memory disappears from its file, Lifeboat archives it instead of deleting it."""
    _change(session, agent, ids, memories.pin_records, "pinned")


@records.command()
@click.argument("agent", type=AGENT)
@click.argument("ids", type=TEXT, metavar="ID...", nargs=-1, required=True)
@session_command
def unpin(session: CommandSession, agent: str, ids: tuple[str, ...]) -> None:
    """Remove pins."""
    _change(session, agent, ids, memories.unpin_records, "unpinned")


@records.command(
    epilog=format_examples(
        "lifeboat records undo Juniper ID --dry-run",
        "lifeboat records undo Juniper ID",
        "lifeboat records undo Juniper ID --at 12",
    )
)
@click.argument("agent", type=AGENT)
@click.argument("record_id", type=TEXT, metavar="ID")
@click.option("--at", type=MOMENT, help="Use the text of this sequence or time (default: the text before the change).")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@session_command
def undo(session: CommandSession, agent: str, record_id: str, at: str | None, dry_run: bool) -> None:
    """Undo the last change of a memory in its live file.

    Only the text of this memory is written. A memory that was removed is inserted again, and one that was new is
    removed. Lifeboat captures the workspace first and keeps that sequence for seven days. Nothing is written if the
    memory changed since the last capture.
    """
    from lifeboat_core.memories import memory_undo

    found = agents.find_agent(session.context, agent)
    write_undo(session, memory_undo.undo_record(session.context, found, record_id, at, dry_run=dry_run))


def write_undo(session: CommandSession, report: MemoryUndoReport) -> None:
    """Write the result of an undo, with both texts."""

    def text() -> None:
        for sentence in _describe_undo(report):
            session.output.line(sentence)
        for sign, said in (("-", report.plan.present), ("+", report.plan.former)):
            for line in (said or "").splitlines():
                session.output.verbatim(f"{sign} {line}")
        for warning in report.warnings:
            session.output.warn(warning)

    session.output.document(report.to_json(), text)


def _describe_undo(report: MemoryUndoReport) -> Iterator[str]:
    plan = report.plan
    verbs = {"replace": "gets", "insert": "is inserted with", "remove": "is removed, as in"}
    text = "" if plan.operation == "remove" else "its text of "
    would = "Dry run: the" if report.dry_run else "The"
    place = f"{would} memory {plan.record_id} in {path_text(plan.path)}"
    yield f"{place} {verbs[plan.operation]} {text}sequence {plan.sequence}."
    if report.captured is not None:
        yield f"The result is sequence {report.captured}, the state before it sequence {report.safety}."
