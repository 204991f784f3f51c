"""What changed between two moments of an agent, or between a moment and the workspace as it stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from lifeboat_alf import codec, layout
from lifeboat_alf.codec import JsonObject
from lifeboat_alf.metas import is_file
from lifeboat_alf.state import BodyAbsent, Changes, EntryChange, RecordChange, State
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.context import Context
from lifeboat_daemon.exchange import workspace_as_sequence
from lifeboat_daemon.restore.diffs import unified
from lifeboat_daemon.restore.opening import number_at
from lifeboat_daemon.words import path_text
from lifeboat_endpoint.vault import Vault

WORKSPACE = "workspace"
_WORDS = {"meta": "touched"}
_SEALED = frozenset({layout.CREDENTIALS})
"""Documents whose lines say nothing to people and are not shown."""


def between(context: Context, agent: Agent, first: str | None = None, second: str | None = None) -> JsonObject:
    """The differences from `first` to `second`, each a sequence, a time, or `workspace`.

    Without `first`: from the newest sequence; without `second`: to the workspace. The result:
    {"agent", "from", "to": {"sequence", "time"} or {"workspace"}, "files": [{"path", "operation", "diff"?, "cut"?}],
    "records": [{"id", "operation", "content", "previous"}], "documents": [{"path", "operation", "diff"?}]}.
    Raises NothingToRestore, UnknownSequence.
    """
    if second in (None, WORKSPACE):
        with workspace_as_sequence(context, agent) as (vault, head, live):
            base = head if first is None else number_at(vault, first)
            return _document(agent, vault, base, live, {WORKSPACE: str(agent.workspace)})
    with context.vault(agent.id) as vault:
        base, new = number_at(vault, first), number_at(vault, second)
        return _document(agent, vault, base, new, _moment(vault, new))


def _moment(vault: Vault, number: int) -> JsonObject:
    return {"sequence": number, "time": vault.sequence(number).time}


def _document(agent: Agent, vault: Vault, base: int, new: int, to: JsonObject) -> JsonObject:
    if base == new:
        empty: JsonObject = {"files": [], "records": [], "documents": []}
        return {"agent": agent.id, "from": _moment(vault, base), "to": to, **empty}
    changes = vault.changes(base, new)
    return {"agent": agent.id, "from": _moment(vault, base), "to": to, **describe(changes, vault.state(base))}


def describe(changes: Changes, before: State) -> JsonObject:
    """Changes with what they changed: texts line by line, memories with their words before and after."""
    files = [_entry(change) for change in changes.entries if change.path.startswith((layout.RAW, layout.ARTIFACTS))]
    others = [change for change in changes.entries if not change.path.startswith((layout.RAW, layout.ARTIFACTS))]
    documents = [_entry(change) for change in others if change.path != layout.MANIFEST]
    return {"files": files, "records": list(_records(changes.records, before)), "documents": documents}


def _entry(change: EntryChange) -> JsonObject:
    document: JsonObject = {"path": change.path, "operation": _operation(change)}
    if change.path in _SEALED or not _are_files(change):
        return document
    diff = unified(change.path, _bytes(change.base_body), _bytes(change.body if change.entry else None))
    if diff is not None and document["operation"] != "meta":
        document |= {"diff": diff.text, "cut": diff.cut}
    return document


def _operation(change: EntryChange) -> str:
    if change.entry is None:
        return "removed"
    if change.base is None:
        return "created"
    return "meta" if change.body is None and change.entry.leaf == change.base.leaf else "changed"


def _are_files(change: EntryChange) -> bool:
    return all(entry is None or is_file(entry.meta) for entry in (change.entry, change.base))


def _bytes(read: Any) -> bytes | None:
    """A body, None where there is none (any more)."""
    if read is None:
        return None
    try:
        body: bytes = read()
    except BodyAbsent:
        return None
    return body


def _records(changed: Iterable[RecordChange], before: State) -> Iterator[JsonObject]:
    for change in changed:
        fields = _fields(change.record.line)
        superseded = fields.get("supersedes")
        old = before.record(str(superseded)) if superseded else before.record(change.record.id)
        previous = _fields(old.line).get("content") if old is not None else None
        operation = _record_operation(change, fields, previous)
        content = None if operation == "deleted" else fields.get("content")
        yield {"id": change.record.id, "operation": operation, "content": content, "previous": previous}


def _record_operation(change: RecordChange, fields: JsonObject, previous: str | None) -> str:
    """As people see it: a successor is an update, a tombstone a deletion."""
    if change.operation == "delete" or fields.get("status") == "deleted":
        return "deleted"
    return "created" if previous is None else "updated"


def _fields(line: bytes) -> JsonObject:
    try:
        found = codec.decode(line)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def lines(document: JsonObject, *, names_only: bool = False) -> Iterator[str]:
    """For people: files by their names in the workspace with their changed lines, then memories in two lines each.

    The documents that follow from files (identity, principals) are not told: their files have been.
    """
    for file in document["files"]:
        yield f"{_WORDS.get(file['operation'], file['operation'])} {path_text(file['path'])}"
        if not names_only and "diff" in file:
            yield from _hunks(file["diff"])
            if file["cut"]:
                yield "(the rest is left out)"
    for record in document["records"]:
        text = record["previous"] if record["operation"] == "deleted" else record["content"]
        yield f"{record['operation']} memory {record['id']}"
        yield f"  {_one_line(text)}"
    if not (document["files"] or document["records"]):
        yield "Only details changed." if document["documents"] else "Nothing changed."


def _hunks(diff: str) -> list[str]:
    """A diff without the two lines that name the file once more."""
    return diff.split("\n")[2:]


def _one_line(text: str | None, width: int = 76) -> str:
    flat = " ".join((text or "").split())
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"
