"""The inbox of memory changes since the user last looked, and what the user decides about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import UnknownRecord
from lifeboat_core.home.context import Context
from lifeboat_core.memories import memory_search
from lifeboat_core.memories.memory_undo import MemoryUndoReport, undo_record
from lifeboat_core.restore.plan_opening import find_sequence_at, parse_local_time
from lifeboat_core.review.change_marks import ChangeMark, KnownMemory, mark_changes
from lifeboat_core.review.memory_changes import TextChange, collect_changes
from lifeboat_core.review.reviewed_until import DECISION, ReviewedUntil
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_vault.vault import Vault


@dataclass(frozen=True, slots=True)
class ReviewInbox:
    """The changes of one agent that wait, newest first: `shown`, the first of `total`. `base` is the kept sequence with
    the texts before, `until` the newest one; both None without a capture. `marks` are by memory id."""

    agent: Agent
    since: str | None
    base: int | None
    until: int | None
    shown: tuple[TextChange, ...]
    total: int
    marks: Mapping[str, list[ChangeMark]]

    def agent_json(self) -> JsonObject:
        return {
            "id": self.agent.id,
            "name": self.agent.name,
            "since": self.since,
            "base": self.base,
            "until": self.until,
            "total": self.total,
        }

    def changes_json(self) -> Iterable[JsonObject]:
        return (_change_json(self.agent, change, self.marks.get(change.id, [])) for change in self.shown)


def _change_json(agent: Agent, change: TextChange, marks: Iterable[ChangeMark]) -> JsonObject:
    return {
        "agent": agent.id,
        "name": agent.name,
        "id": change.id,
        "operation": change.operation,
        "before": change.before,
        "after": change.after,
        "sequence": change.sequence,
        "time": change.time,
        "kind": change.kind,
        "writer": change.writer,
        "session": change.session,
        "origin_file": change.origin_file,
        "memory_type": change.memory_type,
        "bytes": change.size,
        "marks": [{"kind": mark.kind, "quote": mark.quote, "other": mark.other} for mark in marks],
    }


def open_inbox(
    context: Context, agent: Agent, since: str | None = None, *, limit: int | None = None, with_marks: bool = True
) -> ReviewInbox:
    """Return the newest changes since the last look, at most `limit`; with `since` those since a sequence or time, also
    approved ones. Takes no lock and writes nothing but the search index. Raises UnknownSequence, NothingToRestore for
    an invalid time."""
    with context.vault(agent.id) as vault:
        head, seen = vault.head(), ReviewedUntil.load(vault)
        if head is None:
            return ReviewInbox(agent, seen.time, None, None, (), 0, {})
        base = _find_base(vault, seen.sequence) if since is None else _find_start(vault, since)
        changes = collect_changes(vault, base, head.number)
        if since is None:
            changes = [change for change in changes if not seen.covers(change)]
        marks = _marks(context, agent, vault, base, changes, limit) if with_marks and changes else {}
        started = seen.time if since is None else vault.sequence(base).recorded_at
        return ReviewInbox(agent, started, base, head.number, tuple(changes[:limit]), len(changes), marks)


def _find_base(vault: Vault, sequence: int | None) -> int:
    """Return the newest kept sequence that is not newer than the last look; the oldest one if there is none."""
    numbers = [row.number for row in vault.sequences()]
    return max((number for number in numbers if sequence is not None and number <= sequence), default=numbers[0])


def _find_start(vault: Vault, since: str) -> int:
    """Return the sequence for a number or a time; the oldest one for a time before it."""
    if since.isdigit():
        return find_sequence_at(vault, since)
    row = vault.at(times.to_text(parse_local_time(since)))
    return _find_base(vault, None) if row is None else row.number


def _marks(
    context: Context, agent: Agent, vault: Vault, base: int, changes: Collection[TextChange], limit: int | None
) -> dict[str, list[ChangeMark]]:
    with StateDb.open(context.home.state_file(agent.id), vault.id) as db:
        memory_search.update_index(db, vault)
        rows = db.connection.execute("select id, content from memory").fetchall()
    sizes = _file_sizes(agent, vault, base, changes)
    return mark_changes(changes, map(KnownMemory._make, rows), sizes, limit)


def _file_sizes(agent: Agent, vault: Vault, base: int, changes: Iterable[TextChange]) -> dict[str, int]:
    state, prefix = vault.state(base), archive_layout.raw_prefix(agent.runtime)
    names = {change.origin_file for change in changes}
    entries = ((name, state.entry(prefix + name)) for name in names)
    return {name: entry.size for name, entry in entries if entry is not None}


# Decisions ----------------------------------------------------------------------------------------------------------


def approve_all(context: Context, agent: Agent, until: str | None = None) -> int | None:
    """Approve every change up to a sequence (default: the newest); return its number, None without a capture. A later
    mark never goes back."""
    with context.vault(agent.id) as vault:
        if vault.head() is None:
            return None
        number = find_sequence_at(vault, until)

        def moved(found: JsonObject | None) -> JsonObject:
            before = found or {}
            if (before.get("sequence") or -1) >= number:
                return before
            left = {one: at for one, at in (before.get("approved") or {}).items() if at > number}
            return {"sequence": number, "time": context.now(), "approved": left}

        vault.change(DECISION, moved, kind=DECISION)
        return number


def approve_changes(context: Context, agent: Agent, ids: Collection[str], until: str | None = None) -> list[TextChange]:
    """Approve the waiting changes of these memories, made up to a sequence (default: the newest); return them. Raises
    UnknownRecord if one does not wait."""
    waiting = _find_waiting(context, agent, ids, until)

    def added(found: JsonObject | None) -> JsonObject:
        before = found or {"sequence": None, "time": None}
        new = {change.id: change.sequence for change in waiting}
        return {**before, "approved": {**(before.get("approved") or {}), **new}}

    with context.vault(agent.id) as vault:
        vault.change(DECISION, added, kind=DECISION)
    return waiting


def undo_change(context: Context, agent: Agent, record_id: str, *, dry_run: bool = False) -> MemoryUndoReport:
    """Give a memory the text that its waiting change shows as the one before. Raises UnknownRecord if it does not wait,
    and what `undo_record` raises."""
    inbox = open_inbox(context, agent, with_marks=False)
    if inbox.base is None or all(change.id != record_id for change in inbox.shown):
        raise _not_waiting(agent, record_id)
    return undo_record(context, agent, record_id, str(inbox.base), dry_run=dry_run)


def _find_waiting(context: Context, agent: Agent, ids: Collection[str], until: str | None) -> list[TextChange]:
    changes = open_inbox(context, agent, with_marks=False).shown
    if until is not None:
        with context.vault(agent.id) as vault:
            last = find_sequence_at(vault, until)
        changes = tuple(change for change in changes if change.sequence <= last)
    waiting = {change.id: change for change in changes}
    for one in ids:
        if one not in waiting:
            raise _not_waiting(agent, one)
    return [waiting[one] for one in dict.fromkeys(ids)]


def _not_waiting(agent: Agent, record_id: str) -> UnknownRecord:
    return UnknownRecord(
        f"no change of the memory {record_id} waits for a review", fix=f"lifeboat review {quote_argument(agent.name)}"
    )
