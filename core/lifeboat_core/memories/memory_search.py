"""The search index over the effective view: updated from the vault, and queried."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import BadDocument, BadJson
from lifeboat_alf.memory import embeddings, memory_records
from lifeboat_alf.memory.effective_view import SuccessorChains, in_append_order
from lifeboat_alf.memory.record_shapes import keep_fitting_fields
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import BodyAbsent, Entry, Record, State, StateChanges
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import RecordError
from lifeboat_core.home.context import Context
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.texts.human_text import join_names
from lifeboat_vault.errors import UnknownSequence
from lifeboat_vault.vault import Vault

INDEXED = "indexed"
_ADD_MEMORY = (
    "insert into memory(id, content, origin, type, namespace, tags, identity_version, created_at, observed_at, pinned)"
    " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_PUT_AWAY = "insert or replace into put_away values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
"""Archived and deleted memories: current in their chains, and not remembered now."""
_TABLES_OF_MEMORIES = ("memory", "put_away")
_MARK = re.compile("[\ue000\ue001]")


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A memory that was found. `snippet` marks the matches with `[` and `]`; `sequence` wrote its current text."""

    id: str
    sequence: int
    snippet: str
    origin_file: str
    memory_type: str
    namespace: str

    def to_json(self) -> JsonObject:
        return {
            "id": self.id,
            "sequence": self.sequence,
            "snippet": self.snippet,
            "origin_file": self.origin_file,
            "memory_type": self.memory_type,
            "namespace": self.namespace,
        }


@dataclass(frozen=True, slots=True)
class MemoryFilters:
    """What hits must have; None: anything."""

    memory_type: str | None = None
    namespace: str | None = None
    tag: str | None = None
    identity_version: int | None = None


NO_FILTERS = MemoryFilters()


def update_index(db: StateDb, vault: Vault) -> None:
    """Bring the index to the vault's head: by the changes, or from nothing if they are not available."""
    head = vault.head()
    indexed = db.get(INDEXED)
    if head is None or indexed == head.number:
        return
    with db.transaction():
        if indexed is not None and _is_kept(vault, indexed):
            _apply(db, vault.changes(indexed, head.number), vault.redactions.record_ids)
        else:
            _rebuild(db, vault.state())
        db.put(INDEXED, head.number)


def erase_index(db: StateDb) -> None:
    """Erase the index before a state in which a secret is cut that stood in plain text until now.

    No word of it stays in the file, nor what was known of rows, nor their free pages. Both are filled again from the
    vault.
    """
    with db.transaction():
        _empty(db)
        db.forget_shadow()
        db.connection.execute("delete from fact where key = ?", (INDEXED,))
    db.give_back()


def _is_kept(vault: Vault, number: int) -> bool:
    try:
        vault.sequence(number)
    except UnknownSequence:
        return False
    return True


def _apply(db: StateDb, changes: StateChanges, purged: Set[str]) -> None:
    _put_records(db, (change.record for change in changes.records))
    for change in changes.entries:
        db.connection.execute("delete from listed where path = ?", (change.path,))
    _put_listed(db, (change.entry for change in changes.entries if change.entry is not None), purged)
    artifacts = [change for change in changes.entries if change.path.startswith(archive_layout.ARTIFACTS)]
    gone = [(change.path,) for change in artifacts if change.entry is None]
    db.connection.executemany("delete from artifact where path = ?", gone)
    _put_artifacts(db, (change.path for change in artifacts if change.entry is not None))
    for change in changes.entries:
        if embeddings.is_index(change.path):
            db.connection.execute("delete from vector where path = ?", (change.path,))
            _put_vectors(db, change.path, change.body)


def _rebuild(db: StateDb, state: State) -> None:
    """Build the index from nothing, in bulk."""
    _empty(db)
    successors: list[JsonObject] = []
    put_away: list[tuple[Any, ...]] = []
    db.connection.executemany(_ADD_MEMORY, _visible_rows(state, successors, put_away))
    db.connection.executemany(_PUT_AWAY, put_away)
    _hide_superseded(db, successors)
    _put_artifacts(db, (entry.path for entry in state.entries(archive_layout.ARTIFACTS)))
    _put_listed(db, state.entries(archive_layout.RAW), state.redactions.record_ids)
    for path in [entry.path for entry in state.entries(archive_layout.EMBEDDINGS) if embeddings.is_index(entry.path)]:
        _put_vectors(db, path, partial(state.body, path))


def _empty(db: StateDb) -> None:
    db.empty_words()
    for table in ("memory", "put_away", "successor", "artifact", "listed", "vector"):
        db.connection.execute(f"delete from {table}")


def _visible_rows(
    state: State, successors: list[JsonObject], put_away: list[tuple[Any, ...]]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of all records that are visible apart from their chains. What concerns chains is added to
    `successors`, the rows of records that are not visible to `put_away`."""
    for item in in_append_order(state):
        record = memory_records.parse_record(item.line)
        if record.get("supersedes"):
            successors.append({name: record[name] for name in ("id", "supersedes", "status") if name in record})
        if memory_records.is_visible(record):
            yield _row(record)
        else:
            put_away.append((*_row(record), memory_records.read_record_status(record)))


def _hide_superseded(db: StateDb, successors: list[JsonObject]) -> None:
    rows = ((one["id"], one["supersedes"], place) for place, one in enumerate(successors, start=1))
    db.connection.executemany("insert or ignore into successor values (?, ?, ?)", rows)
    chains = SuccessorChains.of(successors)
    chained = {record_id for one in successors for record_id in chains.chain_of(one["id"])}
    hidden = [(record_id,) for record_id in chained if not chains.wins(record_id)]
    for table in _TABLES_OF_MEMORIES:
        db.connection.executemany(f"delete from {table} where id = ?", hidden)


def _put_listed(db: StateDb, entries: Iterable[Entry], purged: Set[str]) -> None:
    """Add what files list; purged records stay in their metas and nowhere else."""
    named = ((one, entry.path) for entry in entries for one in entry.meta.get(entry_metas.RECORDS, ()))
    rows = sorted(row for row in named if row[0] not in purged)
    db.connection.executemany("insert or replace into listed values (?, ?)", rows)


def _put_artifacts(db: StateDb, paths: Iterable[str]) -> None:
    rows = ((path, path.rpartition("/")[2].casefold()) for path in paths)
    db.connection.executemany("insert or replace into artifact values (?, ?)", rows)


def _put_vectors(db: StateDb, index: str, body: Callable[[], bytes] | None) -> None:
    """Add the memories whose vectors an index lists. An unreadable index lists none: vectors can be computed again."""
    try:
        groups = [] if body is None else embeddings.read_groups(index, body())
    except (BadDocument, BadJson, BodyAbsent):
        return
    rows = ((record_id, index) for group in groups for record_id in group.records)
    db.connection.executemany("insert or ignore into vector values (?, ?)", rows)


def _put_records(db: StateDb, changed: Iterable[Record]) -> None:
    """Add records in append order. A record that is superseded, also by another one, is no memory any more."""
    place = db.connection.execute("select coalesce(max(place), 0) from successor").fetchone()[0]
    for item in changed:
        record = memory_records.parse_record(item.line)
        supersedes = record.get("supersedes")
        if supersedes:
            place += 1
            _hide(db, str(supersedes))
            db.connection.execute("insert or ignore into successor values (?, ?, ?)", (item.id, supersedes, place))
        _remove(db, item.id)
        if db.winner(item.id) != item.id:
            continue
        if memory_records.is_visible(record):
            db.connection.execute(_ADD_MEMORY, _row(record))
        else:
            db.connection.execute(_PUT_AWAY, (*_row(record), memory_records.read_record_status(record)))


def _hide(db: StateDb, supersedes: str) -> None:
    _remove(db, supersedes)
    for (other,) in db.connection.execute("select id from successor where supersedes = ?", (supersedes,)).fetchall():
        _remove(db, other)


def _remove(db: StateDb, record_id: str) -> None:
    for table in _TABLES_OF_MEMORIES:
        db.connection.execute(f"delete from {table} where id = ?", (record_id,))


def _row(record: JsonObject) -> tuple[Any, ...]:
    record = keep_fitting_fields(record)
    temporal: JsonObject = record.get("temporal", {})
    return (
        record["id"],
        record["content"],
        memory_records.origin_file(record),
        record.get("memory_type", "semantic"),
        record.get("namespace", "default"),
        json_codec.encode_json(record.get("tags") or []).decode(),
        record.get("source", {}).get("identity_version"),
        _moment(temporal.get("created_at")) or "",
        _moment(temporal.get("observed_at")),
        memory_records.is_pinned(record),
    )


def _moment(text: Any) -> str | None:
    """Return a time in sortable form; an invalid one stays the same."""
    if not isinstance(text, str) or text.endswith("Z"):
        return text if isinstance(text, str) else None
    try:
        return times.to_text(times.parse_time(text))
    except ValueError:
        return text


def quote_query(words: str, *, open_ended: bool = False) -> str:
    """Return user input as a query: every word quoted; with `open_ended` the last one may be a prefix."""
    tokens = words.split()
    query = " ".join(f'"{token.replace(chr(34), chr(34) * 2)}"' for token in tokens)
    return f"{query}*" if open_ended and query else query


def check_known(what: str, given: str | None, known: Set[str]) -> None:
    """Raises RecordError.UNKNOWN_KIND, which names the known ones."""
    if given is not None and given not in known:
        raise RecordError.UNKNOWN_KIND(f"unknown {what} {given!r}; use one of: {join_names(sorted(known))}")


def check_type(db: StateDb, memory_type: str | None) -> None:
    """Raises RecordError.UNKNOWN_KIND for a memory type that neither the format knows nor any memory has."""
    if memory_type is None or memory_type in memory_records.ENUMS["memory_type"].values:
        return
    rows = db.connection.execute("select type from memory union select type from put_away")
    check_known("memory type", memory_type, memory_records.ENUMS["memory_type"].values | {row[0] for row in rows})


def search_memories(
    context: Context, agent: Agent, words: str, filters: MemoryFilters | None = None, *, limit: int = 20
) -> list[MemoryHit]:
    """Return the memories that contain all words, best first. Raises RecordError.UNKNOWN_KIND, and what opening the
    vault raises."""
    with context.vault(agent.id) as vault, StateDb.open(context.home.state_file(agent.id), vault.id) as db:
        update_index(db, vault)
        check_type(db, filters.memory_type if filters else None)
        return query_index(db, vault, words, filters or MemoryFilters(), limit)


def query_index(db: StateDb, vault: Vault, words: str, filters: MemoryFilters, limit: int) -> list[MemoryHit]:
    """Query the index, which is up to date with the vault's head."""
    query = quote_query(words)
    if not query:
        return []
    db.fill_words()
    chosen = list(make_conditions(filters))
    rows = db.connection.execute(
        "select m.id, snippet(words, 0, char(57344), char(57345), '...', 24), m.origin, m.type, m.namespace"
        " from words join memory m on m.number = words.rowid"
        f" where words match ?{''.join(f' and {condition}' for condition, _ in chosen)} order by rank limit ?",
        (query, *(value for _, values in chosen for value in values), limit),
    ).fetchall()
    written = vault.written_by([row[0] for row in rows])
    return [MemoryHit(row[0], written[row[0]], _readable(row[1]), row[2], row[3], row[4]) for row in rows]


def make_conditions(filters: MemoryFilters) -> Iterator[tuple[str, list[Any]]]:
    """Yield SQL on a row `m` of a memory, with its values, for each filter that is set."""
    wanted = {
        "m.type = ?": filters.memory_type,
        "m.namespace = ?": filters.namespace,
        "m.identity_version = ?": filters.identity_version,
        "exists (select 1 from json_each(m.tags) where value = ?)": filters.tag,
    }
    return ((condition, [value]) for condition, value in wanted.items() if value is not None)


def _readable(snippet: str) -> str:
    marked = _MARK.sub(lambda mark: "[" if mark[0] == "\ue000" else "]", snippet)
    return " ".join(marked.split())
