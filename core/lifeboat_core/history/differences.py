"""What changed between two sequences of an agent, or between a sequence and the workspace as it is now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory.memory_records import is_deleted, origin_file
from lifeboat_alf.states.agent_state import BodyAbsent, EntryChange, Record, RecordChange, State, StateChanges
from lifeboat_alf.states.entry_metas import is_file
from lifeboat_core.agents.agent import Agent
from lifeboat_core.exchange import read_workspace_as_sequence
from lifeboat_core.home.context import Context
from lifeboat_core.restore.plan_diffs import MOST_LINES, make_unified_diff
from lifeboat_core.restore.plan_opening import find_sequence_at
from lifeboat_core.restore.restore_options import is_selected_by
from lifeboat_core.texts.human_text import file_name, path_text
from lifeboat_vault.errors import VaultDamaged
from lifeboat_vault.vault import Vault

WORKSPACE = "workspace"
_WORDS = {"meta": "touched"}
_SEALED = frozenset({archive_layout.CREDENTIALS})
"""Documents whose lines mean nothing to people and are not shown."""


LARGEST = 4 * 1024 * 1024
"""Bytes of the JSON of a comparison by default."""
_ALL_LINES = 1_000_000
_ENDS = 1000
"""Bytes of a comparison without its items."""
_LAID_OUT = 200
"""Bytes that one item takes more in readable JSON, at most."""
_TEXTS = ("diff", "cut", "content", "previous")


@dataclass(frozen=True, slots=True)
class DifferenceFilter:
    """What of a comparison is shown. `paths`: globs; only files that match one of them, and their memories, with every
    changed line. `limit`: bytes of JSON; what does not fit is left out and counted. `names_only`: without changed
    lines."""

    paths: tuple[str, ...] = ()
    limit: int = LARGEST
    names_only: bool = False

    def wants(self, name: str) -> bool:
        return not self.paths or is_selected_by(name, self.paths)

    @property
    def most_lines(self) -> int:
        return _ALL_LINES if self.paths else MOST_LINES


EVERYTHING = DifferenceFilter()


def compare_sequences(
    context: Context,
    agent: Agent,
    first: str | None = None,
    second: str | None = None,
    narrow: DifferenceFilter = EVERYTHING,
) -> JsonObject:
    """Return the differences from `first` to `second`, each a sequence, a time, or `workspace`.

    Without `first`: from the newest sequence; without `second`: to the workspace. The result: {"agent", "from", "to":
    {"sequence", "time"} or {"workspace"}, "files": [{"path", "operation", "diff"?, "cut"?}], "records": [{"id",
    "operation", "content", "previous"}], "documents": [{"path", "operation", "diff"?}], "truncated", "total": {"files",
    "records", "documents"}}. What does not fit is `omitted`. Raises NothingToRestore, UnknownSequence.
    """
    if second in (None, WORKSPACE):
        with read_workspace_as_sequence(context, agent) as (vault, head, live):
            base = head if first is None else find_sequence_at(vault, first)
            return _document(agent, vault, base, live, {WORKSPACE: str(agent.workspace)}, narrow)
    with context.vault(agent.id) as vault:
        base, new = find_sequence_at(vault, first), find_sequence_at(vault, second)
        return _document(agent, vault, base, new, _moment(vault, new), narrow)


def _moment(vault: Vault, number: int) -> JsonObject:
    return {"sequence": number, "time": vault.sequence(number).time}


def _document(agent: Agent, vault: Vault, base: int, new: int, to: JsonObject, narrow: DifferenceFilter) -> JsonObject:
    ends = {"agent": agent.id, "from": _moment(vault, base), "to": to}
    if base == new:
        return {**ends, **_told((), (), (), narrow)}
    return {**ends, **describe_changes(vault.changes(base, new), vault.state(base), narrow)}


def describe_changes(changes: StateChanges, before: State, narrow: DifferenceFilter = EVERYTHING) -> JsonObject:
    """Return changes with their content: texts line by line, memories with their words before and after."""
    files = [
        change for change in changes.entries if change.path.startswith((archive_layout.RAW, archive_layout.ARTIFACTS))
    ]
    others = [
        change
        for change in changes.entries
        if not change.path.startswith((archive_layout.RAW, archive_layout.ARTIFACTS))
    ]
    documents = [change for change in others if change.path != archive_layout.MANIFEST and not narrow.paths]
    wanted = [change for change in files if narrow.wants(file_name(change.path))]
    return _told(wanted, _records(changes, before, narrow), documents, narrow)


def _told(
    files: Iterable[EntryChange],
    records: Iterable[JsonObject],
    documents: Iterable[EntryChange],
    narrow: DifferenceFilter,
) -> JsonObject:
    room = _TextBudget(narrow.limit - _ENDS)
    lists = {
        "files": room.filled(_entry(change, narrow, room) for change in files),
        "records": room.filled(records),
        "documents": room.filled(_entry(change, narrow, room) for change in documents),
    }
    told = {name: items for name, (items, _) in lists.items()}
    return {**told, "truncated": room.is_short, "total": {name: total for name, (_, total) in lists.items()}}


class _TextBudget:
    """How many bytes may still be shown. Of an item that is too long only the name is shown, and in the end not even
    that."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.is_short = False

    def filled(self, items: Iterable[JsonObject]) -> tuple[list[JsonObject], int]:
        """Return the items that fit, and how many there were."""
        told: list[JsonObject] = []
        total = 0
        for item in items:
            total += 1
            told += self._fitted(item)
        return told, total

    def _fitted(self, item: JsonObject) -> Iterator[JsonObject]:
        if item.get("omitted"):
            self.is_short = True
        for form in (item, _without_texts(item)):
            size = len(json_codec.encode_json(form)) + _LAID_OUT
            if size <= self.left:
                self.left -= size
                yield form
                return
            self.is_short = True


def _without_texts(item: JsonObject) -> JsonObject:
    return {**{name: value for name, value in item.items() if name not in _TEXTS}, "omitted": True}


def _entry(change: EntryChange, narrow: DifferenceFilter, room: _TextBudget) -> JsonObject:
    document: JsonObject = {"path": change.path, "operation": _operation(change)}
    if narrow.names_only or change.path in _SEALED or document["operation"] == "meta" or not _are_files(change):
        return document
    if room.left < _LAID_OUT:  # do not read files in vain
        return document | {"omitted": True}
    try:
        bodies = _bytes(change.base_body), _bytes(change.body if change.entry else None)
    except VaultDamaged:
        return document | {"damaged": True}
    diff = make_unified_diff(change.path, *bodies, narrow.most_lines)
    return document if diff is None else document | {"diff": diff.text, "cut": diff.cut}


def _operation(change: EntryChange) -> str:
    if change.entry is None:
        return "removed"
    if change.base is None:
        return "created"
    return "meta" if change.body is None and change.entry.leaf == change.base.leaf else "changed"


def _are_files(change: EntryChange) -> bool:
    return all(entry is None or is_file(entry.meta) for entry in (change.entry, change.base))


def _bytes(read: Any) -> bytes | None:
    """Return a body, None if there is none (any more)."""
    if read is None:
        return None
    try:
        body: bytes = read()
    except BodyAbsent:
        return None
    return body


def _records(changes: StateChanges, before: State, narrow: DifferenceFilter) -> Iterator[JsonObject]:
    for change in changes.records:
        fields = _fields(change.record.line)
        if narrow.wants(origin_file(fields)):
            yield _record(change, fields, before)
    for record_id in changes.removed:
        taken = before.record(record_id)
        if taken is not None and narrow.wants(origin_file(_fields(taken.line))):
            yield _record_taken_back(taken, before)


def _record(change: RecordChange, fields: JsonObject, before: State) -> JsonObject:
    superseded = fields.get("supersedes")
    old = before.record(str(superseded)) if superseded else before.record(change.record.id)
    before_it = {} if old is None else _fields(old.line)
    previous = None if is_deleted(before_it) else before_it.get("content")
    operation = _record_operation(change, fields, previous)
    content = None if operation == "deleted" else fields.get("content")
    return {"id": change.record.id, "operation": operation, "content": content, "previous": previous}


def _record_taken_back(taken: Record, before: State) -> JsonObject:
    """Return a record on the way back to an earlier sequence: later records are absent, and what they superseded counts
    again."""
    fields = _fields(taken.line)
    old = before.record(str(fields.get("supersedes")))
    content = None if old is None else _fields(old.line).get("content")
    previous = None if is_deleted(fields) else fields.get("content")
    operation = "deleted" if content is None else "created" if previous is None else "updated"
    return {"id": taken.id, "operation": operation, "content": content, "previous": previous}


def _record_operation(change: RecordChange, fields: JsonObject, previous: str | None) -> str:
    """Return the operation as people see it: a successor is an update, a tombstone a deletion."""
    if change.operation == "delete" or fields.get("status") == "deleted":
        return "deleted"
    return "created" if previous is None else "updated"


def _fields(line: bytes) -> JsonObject:
    try:
        found = json_codec.decode_json(line)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def format_differences(document: JsonObject, *, names_only: bool = False) -> Iterator[str]:
    """Yield lines for people: files by their names in the workspace with their changed lines, then memories in two
    lines each.

    The documents that follow from files (identity, principals) are left out.
    """
    for file in document["files"]:
        yield f"{_WORDS.get(file['operation'], file['operation'])} {path_text(file['path'])}"
        if not names_only and "diff" in file:
            yield from _hunks(file["diff"])
            if file["cut"]:
                yield "(the rest of the changes is omitted)"
        elif file.get("damaged"):
            yield "(the content of this file is damaged; `lifeboat verify` repairs it if another copy exists)"
        elif file.get("omitted"):
            yield "(the changed lines are omitted)"
    for record in document["records"]:
        text = record.get("previous" if record["operation"] == "deleted" else "content")
        yield f"{record['operation']} memory {record['id']}"
        if not record.get("omitted"):
            yield f"  {_one_line(text)}"
    if document.get("truncated"):
        yield "The output is incomplete. Use --path and --limit to select what is shown."
    if not (document["files"] or document["records"]):
        yield "No file and no memory changed, only their metadata." if document["documents"] else "Nothing changed."


def _hunks(diff: str) -> list[str]:
    """Return a diff without its two lines with the file name."""
    return diff.split("\n")[2:]


def _one_line(text: str | None, width: int = 76) -> str:
    flat = " ".join((text or "").split())
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"
