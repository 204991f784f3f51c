"""The tools that read: timeline, diff, changes, search and memories of one agent, always from kept sequences.

Live files are not read, because they may contain text that captures leave out. Names of remotes and files outside of
the workspace are not shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.history import recall_for_agent
from lifeboat_cli.mcp.quotation import QuotedItem, quote_items
from lifeboat_cli.mcp.server_access import ServerAccess
from lifeboat_core.errors import NothingToRestore
from lifeboat_core.grants.memory_versions import list_versions
from lifeboat_core.grants.proposal_requests import workspace_name
from lifeboat_core.history import differences
from lifeboat_core.history.differences import DifferenceFilter
from lifeboat_core.history.sequence_timeline import TimelineRequest, make_timeline
from lifeboat_core.memories import edit_records
from lifeboat_core.memories.memory_search import MemoryFilters
from lifeboat_core.restore.plan_opening import parse_local_time
from lifeboat_core.texts.human_text import count_text, group_changes
from lifeboat_vault.vault import SequenceRow

_DIFF_BYTES = 256 * 1024
_MOST_ENTRIES = 50
_MOST_VERSIONS = 20

Words = Annotated[str, Meta(min_length=1, max_length=400)]
Moment = Annotated[str, Meta(min_length=1, max_length=40)]
Count = Annotated[int, Meta(ge=1, le=_MOST_ENTRIES)]
Sequence = Annotated[int, Meta(ge=0, le=2**53)]


class TimelineArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """List your kept sequences (captured states), newest first. Times: 2026-11-20T18:00."""

    since: Moment | None = None
    until: Moment | None = None
    limit: Count = 20


def show_timeline(access: ServerAccess, asked: TimelineArguments) -> str:
    document = make_timeline(access.context, access.agent, TimelineRequest(asked.since, asked.until, asked.limit))
    shown = [_entry(entry) for entry in document["entries"]]
    sentence = f"{count_text(len(shown), 'sequence')} of {document['total']} shown, newest first."
    return quote_items(sentence, shown, access.hide)


def _entry(entry: JsonObject) -> QuotedItem:
    changes = entry["changes"]
    said = ", ".join(group_changes(changes.get("records") or {}, changes.get("raw") or {}))
    wanted = {"number": entry["sequence"], "time": entry["created_at"], "kind": entry["kind"], "changes": said}
    return QuotedItem("sequence", wanted, entry["label"] or "")


class DiffArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Show what changed between two of your kept sequences (without `to`: until the newest)."""

    first: Annotated[Sequence, Meta(description="earlier sequence")]
    to: Sequence | None = None
    path: Annotated[Words | None, Meta(description="only this file (glob)")] = None


def show_diff(access: ServerAccess, asked: DiffArguments) -> str:
    return _changes(access, asked.first, asked.to, asked.path)


class ChangesArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Show what changed in your memories and files since a time (2026-11-20T18:00) until the newest sequence."""

    time: Moment


def show_changes_since(access: ServerAccess, asked: ChangesArguments) -> str:
    row = access.vault.at(parse_local_time(asked.time).isoformat())
    if row is None:
        row = next(iter(access.vault.sequences()), None)
    if row is None:
        raise NothingToRestore("the agent has not been captured yet", fix="lifeboat sync")
    return _changes(access, row.number, None, None)


def _changes(access: ServerAccess, first: int, second: int | None, path: str | None) -> str:
    last = _newest(access).number if second is None else second
    narrow = DifferenceFilter(() if path is None else (path,), limit=_DIFF_BYTES)
    document = differences.compare_sequences(access.context, access.agent, str(first), str(last), narrow)
    items = [*_records(document), *_files(document, access.agent.runtime)]
    rest = " The comparison is incomplete; ask for one file." if document["truncated"] else ""
    ends = f"from sequence {document['from']['sequence']} to {document['to']['sequence']}"
    return quote_items(f"{count_text(len(items), 'change')} {ends}.{rest}", items, access.hide)


def _records(document: JsonObject) -> Iterator[QuotedItem]:
    for record in document["records"]:
        before, now = record.get("previous"), record.get("content")
        text = "\n".join(
            f"{mark} {line}" for mark, said in (("-", before), ("+", now)) for line in (said or "").splitlines()
        )
        yield QuotedItem("memory", {"id": record["id"], "operation": record["operation"]}, text)


def _files(document: JsonObject, runtime: str) -> Iterator[QuotedItem]:
    for file in document["files"]:
        name = workspace_name(file["path"], runtime)
        if name is not None:
            diff = "\n".join(str(file.get("diff", "")).split("\n")[2:])
            yield QuotedItem("file", {"path": name, "operation": file["operation"]}, diff)


def _newest(access: ServerAccess) -> SequenceRow:
    head = access.vault.head()
    if head is None:
        raise NothingToRestore("the agent has not been captured yet", fix="lifeboat sync")
    return head


class SearchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Search your current memories for all of these words."""

    words: Words
    type: Annotated[Words | None, Meta(description="only this type of memory, for example preference")] = None
    limit: Count = 10


def search_own_memories(access: ServerAccess, asked: SearchArguments) -> str:
    filters = MemoryFilters(asked.type, None, None, None)
    found = recall_for_agent.recall_memories(access.context, access.agent, asked.words, filters, limit=asked.limit)
    items = [_recalled(access, one) for one in found.found]
    more = " There are more." if found.more else ""
    return quote_items(f"{count_text(len(items), 'memory')} found.{more}", items, access.hide)


def _recalled(access: ServerAccess, one: recall_for_agent.RecalledMemory) -> QuotedItem:
    said = {"id": one.id, "kind": one.kind, "from": _origin(access, one.origin_file), "created_at": one.created_at}
    return QuotedItem("memory", {**said, "truncated": one.cut or None}, one.text)


class MemoryArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Show one of your memories: its text, where it came from, and its earlier versions."""

    id: Annotated[str, Meta(min_length=36, max_length=36)]


def show_memory(access: ServerAccess, asked: MemoryArguments) -> str:
    record = edit_records.show_records(access.context, access.agent, [asked.id])[0]
    about = record["about"]
    provenance = about["provenance"]
    said = {
        "id": record["id"],
        "kind": record.get("memory_type", "semantic"),
        "status": record.get("status", "active"),
        "from": _origin(access, provenance["origin_file"] or ""),
        "session": provenance["session_id"],
        "first_sequence": about["first_sequence"],
        "last_sequence": about["last_sequence"],
    }
    items = [QuotedItem("memory", said, about["text"]), *_versions(access, about["chain"])]
    return quote_items("One memory, then its versions, oldest first.", items, access.hide)


def _versions(access: ServerAccess, chain: list[JsonObject]) -> Iterator[QuotedItem]:
    """Yield the newest texts that a memory had, oldest first. A purged version has none."""
    for version in list_versions(access.vault, chain)[-_MOST_VERSIONS:]:
        said = {"id": version.id, "sequence": version.sequence, "time": version.time}
        yield QuotedItem("version", {**said, "purged": version.is_purged or None}, version.text)


def _origin(access: ServerAccess, path: str) -> str:
    """Return the file of a memory, "" for one outside of the workspace."""
    parts = path.replace("\\", "/").split("/")
    if path.startswith(("/", "~")) or ".." in parts or ":" in parts[0]:
        return ""
    is_outside = access.vault.state().entry(f"{archive_layout.home_prefix(access.agent.runtime)}{path}") is not None
    return "" if is_outside else path
