"""Decide which memory a row is and what its change means: the adapter reads the row, and the life cycle of the format
defines each change.

A row is known by its id. A new row is matched in this order: a row of the same id that was removed; one with the key of
a removed row or of a memory from elsewhere; one with the same text; else it is a new memory. Type, namespace and source
of a memory never change with its row. In a period that has ended, only what a reader sees (text, status, tags,
confidence, pin) makes a successor; the runtime's bookkeeping (times of use, importance) is updated with the next such
change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lifeboat_adapters.contract import DatabaseSupport, Installation, MemorySection
from lifeboat_adapters.database_reading import as_json
from lifeboat_adapters.memory_stores import MemoryStore
from lifeboat_alf.common import times
from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records, record_lifecycle
from lifeboat_alf.memory.record_lifecycle import RecordContext, RecordStep
from lifeboat_alf.states.agent_state import Record
from lifeboat_core.capture.memory_capture import MemoryLookup, MemoryOrigin, MemoryOutcome

Values = tuple[Any, ...]

SEEN = ("tags", "status", memory_records.PINNED)
FOLLOWING = (*SEEN, "confidence")
"""Fields of a memory that follow its row. Readers see the first ones."""


class MemoryRow(NamedTuple):
    """A row as it may be stored: its columns, and the memory in it."""

    values: JsonObject
    memory: MemorySection


@dataclass(frozen=True, slots=True)
class RowSource:
    """The memory store, and the adapter that reads its rows."""

    databases: DatabaseSupport
    installation: Installation
    store: MemoryStore

    def row(self, values: Values) -> MemoryRow:
        columns = dict(zip(self.store.columns, values, strict=True))
        return MemoryRow(columns, self.databases.memory_of(self.installation, columns))

    def before(self, record: JsonObject, root: str, row: MemoryRow) -> MemoryRow:
        """Return the row that a memory stands for, with the columns of the present row."""
        expected = self.databases.row_of(record, root)
        columns = {name: expected.get(name) for name in row.values}
        return MemoryRow(columns, self.databases.memory_of(self.installation, columns))


@dataclass(slots=True)
class DepartedRows:
    """Rows that are not there any more. `gone` has their memories by key, in order; `buried` returns those of former
    captures and of memories from elsewhere."""

    buried: Callable[[Any], list[str]]
    gone: defaultdict[Any, list[str]] = field(default_factory=lambda: defaultdict(list))
    records: set[str] = field(default_factory=set)


class RowMemories:
    """The decisions of one capture about rows. `taken` are memories that files or rows hold since this capture; the
    caller consumes `steps`; `rewritten` says that a memory got another text."""

    def __init__(
        self,
        source: RowSource,
        scribe: RecordContext,
        origin: MemoryOrigin,
        lookup: MemoryLookup,
        outcome: MemoryOutcome,
        taken: set[str],
    ) -> None:
        self._source = source
        self._scribe = scribe
        self._origin = origin
        self._lookup = lookup
        self._taken = taken
        self.outcome = outcome
        self.steps: list[RecordStep] = []
        self.rewritten = False

    # Rows that are there ----------------------------------------------------------------------------------------

    def known(self, record_id: str, row: MemoryRow) -> str:
        """Update the memory of a known row. Return the id it has from now on, "" for a row without text."""
        last = self._lookup.last(record_id)
        if not row.memory.text:
            self.lost(record_id)
            return ""
        if last is None:
            return self.new(row)
        self._taken.update((record_id, last.id))
        body = memory_records.parse_record(last.line)
        if not (memory_records.is_deleted(body) or memory_records.is_missing(body)):
            return self._edit(last, body, row)
        if not {record_id, last.id} & self._lookup.forgotten:
            return self._revive(last, body, row)
        # The user dropped the memory although its row exists: only a new text makes a new memory.
        return record_id if row.memory.text == self._ended(body).get("content") else self.new(row)

    def new(self, row: MemoryRow) -> str:
        """Create the memory of a new row; return its id."""
        if not row.memory.text:
            return ""
        fields = self._origin.fields(self._source.store.name, row.memory)
        step = record_lifecycle.create_record(
            self._scribe, row.memory.text, fields, _made_at(fields), row.memory.record_id
        )
        return self._add(step, "created", row.memory.text)

    def find(self, row: MemoryRow, past: DepartedRows) -> str | None:
        """Return the memory of a row that was not there before; None for a new one."""
        if self._lookup.head is None:
            return None
        key = row.values.get(self._source.store.key)
        named = [] if key is None else [*past.gone[key], *past.buried(key)]
        found = [*named, *self._lookup.with_content(row.memory.text)]
        return next((one for one in found if self._is_free(one, past)), None)

    def _is_free(self, record_id: str, past: DepartedRows) -> bool:
        """Return whether a memory belongs to no other row or file, so that a row may be it."""
        if {record_id, self._lookup.winner(record_id)} & (self._taken | self._lookup.forgotten):
            return False
        if record_id in past.records:
            return True
        return self._lookup.is_unlisted(record_id) or self._lookup.is_gone(record_id, self._scribe.ledger.now)

    def may_return(self, record_id: str) -> bool:
        """Return whether a row with the id of a removed one may be its memory again."""
        last = self._lookup.last(record_id)
        if last is None or {record_id, last.id} & self._taken:
            return False
        body = memory_records.parse_record(last.line)
        return memory_records.is_deleted(body) or memory_records.is_missing(body) or not self._lookup.is_listed(last.id)

    def _edit(self, last: Record, body: JsonObject, row: MemoryRow) -> str:
        before = self._source.before(body, self._root(last.id, body), row)
        if _same(before.values, row.values):
            return last.id
        fields = _following(body, before.memory, row.memory)
        is_other = row.memory.text != body.get("content")
        # A restore writes a row under its id, so a new id also makes a successor of a sealed memory.
        identity = self._source.store.id
        has_other_id = as_json(before.values.get(identity)) != as_json(row.values.get(identity))
        is_seen = is_other or has_other_id or any(fields[name] != body.get(name) for name in SEEN if name in fields)
        if self._scribe.ledger.is_sealed(last.partition) and not is_seen:
            return last.id
        if not is_other and all(value == body.get(name) for name, value in fields.items()):
            return last.id
        if is_other:
            self.rewritten = True
            self.outcome.drop(last.id, str(body.get("content", "")))
        step = record_lifecycle.edit_record(self._scribe, body, last.partition, row.memory.text, fields)
        return self._add(step, "updated", row.memory.text)

    def _revive(self, last: Record, body: JsonObject, row: MemoryRow) -> str:
        ended = self._ended(body)
        step = record_lifecycle.revive_record(self._scribe, body, last.partition, None if ended is body else ended)
        before = self._source.before(ended, self._root(last.id, body), row)
        if not _same(before.values, row.values):
            back = memory_records.parse_record(step.line)
            self.rewritten = row.memory.text != ended.get("content")
            fields = _following(back, before.memory, row.memory)
            edited = record_lifecycle.edit_record(self._scribe, back, step.partition, row.memory.text, fields)
            step = edited._replace(operation=step.operation)
        return self._add(step, "created", row.memory.text)

    def _ended(self, body: JsonObject) -> JsonObject:
        """Return what a memory said before it was deleted."""
        if body.get("content") != memory_records.TOMBSTONE or "supersedes" not in body:
            return body
        dead = self._lookup.record(str(body["supersedes"]))
        return body if dead is None else memory_records.parse_record(dead.line)

    def _root(self, record_id: str, body: JsonObject) -> str:
        """Return the first id of a chain."""
        known = {record_id}
        while (former := body.get("supersedes")) and former not in known:
            record = self._lookup.record(former)
            record_id = former
            known.add(former)
            if record is None:
                break
            body = memory_records.parse_record(record.line)
        return record_id

    def is_taken(self, record_id: str) -> bool:
        """Return whether another row or file became this memory in this capture."""
        return not {record_id, self._lookup.winner(record_id)}.isdisjoint(self._taken)

    # Rows that went ---------------------------------------------------------------------------------------------

    def lost(self, record_id: str) -> None:
        """Delete the memory of a removed row, unless it was deleted before or belongs to another row now."""
        last = self._lookup.last(record_id)
        if last is None or {record_id, last.id} & self._taken:
            return
        body = memory_records.parse_record(last.line)
        if memory_records.is_deleted(body) or memory_records.is_missing(body):
            return
        self._taken.update((record_id, last.id))
        self.outcome.drop(last.id, str(body.get("content", "")))
        self.outcome.lost[self._source.store.name] += 1
        self._add(record_lifecycle.retire_vanished_record(self._scribe, body, last.partition), "deleted", None)

    def _add(self, step: RecordStep, count: str, content: str | None) -> str:
        self.steps.append(step)
        self._taken.add(step.id)
        self.outcome.counts[count] += 1
        if content is not None:
            self.outcome.write(step.id, content)
        return step.id


def _made_at(fields: JsonObject) -> str | None:
    """Return when a row was made, if it says so."""
    made = fields.get("temporal", {}).get("created_at")
    try:
        return times.to_text(times.parse_time(str(made))) if made else None
    except ValueError:
        return None


def _following(old: JsonObject, before: MemorySection, now: MemorySection) -> JsonObject:
    """Return the fields of a memory that a change of its row changes. What the row does not say came from elsewhere and
    stays."""
    fields: JsonObject = {}
    for name in FOLLOWING:
        was, value = before.fields.get(name), now.fields.get(name)
        if was == value:
            continue
        if name == "tags":
            kept = [tag for tag in old.get(name) or () if tag not in (was or ())]
            value = list(dict.fromkeys([*kept, *(value or ())]))
        fields[name] = value or ("active" if name == "status" else None)
    fields["raw_source_format"] = _joined(old, now)
    return fields


def _same(expected: JsonObject, values: JsonObject) -> bool:
    return all(as_json(value) == as_json(expected[name]) for name, value in values.items())


def _joined(old: JsonObject, now: MemorySection) -> JsonObject | None:
    """Return the rows, by runtime, that a memory has been in."""
    return {**as_object(old.get("raw_source_format")), **now.fields.get("raw_source_format", {})} or None
