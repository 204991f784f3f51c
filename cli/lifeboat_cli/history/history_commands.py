"""`lifeboat timeline`, `label`, `diff`, `search`: kept sequences, their differences, and full-text search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.size_texts import size_text
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT, COUNT, MOMENT, SIZE, TEXT
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.agents import agent as agents
from lifeboat_core.documents.timeline_documents import describe_kind
from lifeboat_core.texts.human_text import NO_BREAK, count_text, group_changes, quote_argument, time_text

if TYPE_CHECKING:
    from lifeboat_core.memories.memory_search import MemoryFilters

_BY_KIND = {"import": "contents of an archive", "rotate": "credentials encrypted for a new key"}
"""What a sequence of a kind changed, if its counts do not show it."""
_LIMIT = 20
"""The default number of search results."""
_COLUMNS = ("sequence", "time", "changes", "size", "verified in", "label, pins")
_FIT = TableFit(shorten=("verified in", "label, pins", "changes"), drop=("size",), least={"changes": 36})


@click.command(
    epilog=format_examples(
        "lifeboat timeline Juniper -n 10",
        "lifeboat timeline Juniper --since 2026-11-20 --until 2026-11-21T18:00",
    )
)
@click.argument("agent", type=AGENT)
@click.option("-n", "--limit", type=COUNT, help="Show at most this many of the newest sequences.")
@click.option(
    "--since",
    metavar="TIME",
    help="Show only sequences from this time on, for example 2026-11-20 or 7d (seven days ago).",
)
@click.option(
    "--until",
    metavar="TIME",
    help="Show only sequences up to this time, for example 2026-11-20 or 7d (seven days ago).",
)
@click.option("--days", type=click.IntRange(1, 3660), help="With --json: also the changes per day, for this many days.")
@pager_option
@session_command
def timeline(
    session: CommandSession, agent: str, limit: int | None, since: str | None, until: str | None, days: int | None
) -> None:
    """List the stored sequences of an agent, newest first."""
    from lifeboat_core.history import sequence_timeline as history

    found = agents.find_agent(session.context, agent)
    document = history.make_timeline(session.context, found, history.TimelineRequest(since, until, limit, days))

    def text() -> None:
        with session.output.pager():
            session.output.table(_COLUMNS, map(_row, document["entries"]), _FIT)
        for one in document["set_aside"]:
            session.output.line(
                "A replaced history of this agent is kept on this machine until "
                f"{time_text(one['until'])}. To see what it would restore:"
            )
            session.output.verbatim(f"  lifeboat restore {quote_argument(found.name)} --from {one['from']} --dry-run")

    session.output.document(document, text)


def _row(entry: JsonObject) -> tuple[str, ...]:
    """Return a row of the table."""
    return (
        str(entry["sequence"]),
        time_text(entry["created_at"]).replace(" ", NO_BREAK),
        _describe_entry(entry),
        size_text(entry["bytes"]).replace(" ", NO_BREAK),
        ", ".join(entry["verified"]),
        ", ".join(filter(None, (entry["label"], *entry["pins"]))),
    )


def _describe_entry(entry: JsonObject) -> str:
    """Describe the changes of a sequence, after its kind if it is no capture."""
    kind, counts = entry["kind"], entry["changes"]
    groups = group_changes(counts.get("records", {}), counts.get("raw", {}))
    changes = _BY_KIND.get(kind) or "; ".join(groups) or "no memory or file changed"
    made = describe_kind(kind)
    return f"{made}: {changes}" if made else changes


@click.command(
    short_help="Name a sequence. Lifeboat never deletes a named sequence.",
    epilog=format_examples(
        'lifeboat label Juniper 12 "before the move"',
        "lifeboat label Juniper 12",
        "lifeboat label Juniper 12 --remove",
    ),
)
@click.argument("agent", type=AGENT)
@click.argument("sequence", type=MOMENT)
@click.argument("text", required=False)
@click.option("--remove", is_flag=True, help="Remove the name of the sequence.")
@session_command
def label(session: CommandSession, agent: str, sequence: str, text: str | None, remove: bool) -> None:
    """Give a sequence a name, so that Lifeboat never deletes the sequence. Without TEXT: show the name.

    Names are stored on this machine only. A remote does not receive them, and deletes old sequences by its own
    rules.
    """
    from lifeboat_core.history import sequence_timeline

    if remove and text is not None:
        raise click.UsageError("Give TEXT or --remove, not both.")
    found = agents.find_agent(session.context, agent)
    if remove or text is not None:
        entry = sequence_timeline.set_label(session.context, found, sequence, text)
    else:
        entry = sequence_timeline.load_labelled_sequence(session.context, found, sequence)
    named = f"Sequence {entry['sequence']} of {found.name}"
    said = f"{named} has no name." if entry["label"] is None else f"{named} has the name {entry['label']}."
    session.output.document({"agent": found.id, "entry": entry}, lambda: session.output.line(said))


@click.command(
    short_help="Compare two sequences.",
    epilog=format_examples(
        "lifeboat diff Juniper",
        "lifeboat diff Juniper 3",
        "lifeboat diff Juniper 3 7 --names-only",
        "lifeboat diff Juniper 2026-11-20T18:00 workspace",
        "lifeboat diff Juniper 3 7 --path MEMORY.md",
    ),
)
@click.argument("agent", type=AGENT)
@click.argument("first", required=False, type=MOMENT, metavar="[FROM]")
@click.argument("second", required=False, type=MOMENT, metavar="[TO]")
@click.option("--names-only", is_flag=True, help="Leave out the changed lines.")
@click.option(
    "--path",
    "paths",
    metavar="GLOB",
    multiple=True,
    help="Show only these files and their memories, with every changed line.",
)
@click.option(
    "--limit", type=SIZE, default="4MB", show_default=True, help="Leave out changes of files larger than this."
)
@pager_option
@session_command
def diff(
    session: CommandSession,
    agent: str,
    first: str | None,
    second: str | None,
    names_only: bool,
    paths: tuple[str, ...],
    limit: int,
) -> None:
    """Compare two states of an agent. FROM and TO are sequence numbers, times, or `workspace` for the current files
    (default for TO).
    """
    from lifeboat_core.history import differences

    found = agents.find_agent(session.context, agent)
    narrow = differences.DifferenceFilter(paths, limit, names_only)
    document = differences.compare_sequences(session.context, found, first, second, narrow)

    def text() -> None:
        with session.output.pager():
            for line in differences.format_differences(document, names_only=names_only):
                session.output.verbatim(line)

    session.output.document(document, text)


@click.command(
    short_help="Search the current memories of an agent, or its whole history.",
    epilog=format_examples(
        "lifeboat search Juniper insurance",
        "lifeboat search Juniper blue folder --type semantic",
        "lifeboat search Juniper insurance --history",
        "lifeboat search Juniper insurance --for-agent",
    ),
)
@click.argument("agent", type=AGENT)
@click.argument("words", type=TEXT, nargs=-1, required=True)
@click.option("--type", "memory_type", type=TEXT, help="Search only memories of this type.")
@click.option("--namespace", type=TEXT, help="Search only memories in this namespace.")
@click.option("--tag", type=TEXT, help="Search only memories with this tag.")
@click.option(
    "--identity-version", type=int, help="Search only memories created under this version of the agent's identity."
)
@click.option(
    "--history", "in_history", is_flag=True, help="Also search deleted memories and the lines of all stored files."
)
@click.option("--for-agent", is_flag=True, help="Print the matches as quoted data that another agent can read safely.")
@click.option(
    "-n", "--limit", type=COUNT, help="Show at most this many matches (default: 20; with --for-agent: 10, at most 100)."
)
@pager_option
@session_command
def search(
    session: CommandSession,
    agent: str,
    words: tuple[str, ...],
    memory_type: str | None,
    namespace: str | None,
    tag: str | None,
    identity_version: int | None,
    in_history: bool,
    for_agent: bool,
    limit: int | None,
) -> None:
    """Search the current memories of an agent.

    With --history, also search all earlier and deleted memories and the files; a search word then also matches
    inside a longer word. Each match shows the sequences that contain it. Purged text is never found. Use
    --for-agent to pass memories to another agent. A memory may contain instructions by another person who talked to
    the agent, so this option prints each match as quoted data, without invisible characters and with at most 360
    characters.
    """
    from lifeboat_core.memories import memory_search as index

    if in_history and for_agent:
        raise click.UsageError("--for-agent searches current memories only: leave out --history")
    found = agents.find_agent(session.context, agent)
    filters = index.MemoryFilters(memory_type, namespace, tag, identity_version)
    if in_history:
        _search_history(session, found, " ".join(words), filters, limit or _LIMIT)
        return
    if for_agent:
        _recall(session, found, " ".join(words), filters, limit)
        return
    hits = index.search_memories(session.context, found, " ".join(words), filters, limit=limit or _LIMIT)

    def text() -> None:
        with session.output.pager():
            for hit in hits:
                session.output.line(f"{hit.origin_file or 'no file'}  {hit.id}", style="bold")
                session.output.line(f"  {hit.snippet}")
        session.output.note(f"{count_text(len(hits), 'memory')} found")

    session.output.document({"agent": found.id, "hits": [hit.to_json() for hit in hits]}, text)


def _recall(
    session: CommandSession, found: agents.Agent, words: str, filters: MemoryFilters, limit: int | None
) -> None:
    from lifeboat_cli.history import recall_for_agent

    if limit is not None and limit > recall_for_agent.MOST_HITS:
        raise click.UsageError(f"--for-agent shows at most {recall_for_agent.MOST_HITS} memories.")
    answer = recall_for_agent.recall_memories(
        session.context, found, words, filters, limit=limit or recall_for_agent.HITS
    )

    def text() -> None:
        for line in answer.lines():
            session.output.verbatim(line)

    session.output.document(answer.to_json(), text)


def _search_history(
    session: CommandSession, found: agents.Agent, words: str, filters: MemoryFilters, limit: int
) -> None:
    from lifeboat_cli.history import history_search

    document = history_search.search_history(session.context, found, words, filters, limit=limit)

    def text() -> None:
        with session.output.pager():
            for hit in document["hits"]:
                place = hit["id"] if hit["path"] is None else f"line {hit['line']}"
                until = "now" if hit["present"] else f"sequence {hit['last']}"
                origin = hit["origin_file"] or "no file"
                session.output.line(f"{origin}  {place}  from sequence {hit['first']} until {until}", style="bold")
                session.output.line(f"  {hit['snippet']}")
        session.output.note(f"{len(document['hits'])} of {count_text(document['total'], 'match', 'matches')} shown")
        if document["unread"]:
            unread = count_text(document["unread"], "old version of a file", "old versions of files")
            session.output.note(f"{unread} were too large to be searched")

    session.output.document(document, text)
