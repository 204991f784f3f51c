"""The search index over the effective view: kept up with the vault, and asked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lifeboat_alf import codec, layout, records
from lifeboat_alf.effective import in_append_order
from lifeboat_alf.state import Changes, Record
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.context import Context
from lifeboat_daemon.state_db import StateDb
from lifeboat_endpoint.vault import Vault

JsonObject = dict[str, Any]

INDEXED = "indexed"
_MARK = re.compile("[\ue000\ue001]")


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that was found. `snippet` marks what fitted with `[` and `]`; `sequence` is the one that wrote it."""

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
class Filters:
    """What hits must be; None: anything."""

    memory_type: str | None = None
    namespace: str | None = None
    tag: str | None = None
    identity_version: int | None = None


def catch_up(db: StateDb, vault: Vault) -> None:
    """Bring the index to the vault's head: by what changed, or from nothing when there is no way from where it is."""
    head = vault.head()
    indexed = db.get(INDEXED)
    if head is None or indexed == head.number:
        return
    with db.transaction():
        if indexed is not None and any(row.number == indexed for row in vault.sequences()):
            _apply(db, vault.changes(indexed, head.number), head.number)
        else:
            _rebuild(db, vault, head.number)
        db.put(INDEXED, head.number)


def _apply(db: StateDb, changes: Changes, number: int) -> None:
    _put_records(db, (change.record for change in changes.records), number)
    artifacts = [change for change in changes.entries if change.path.startswith(layout.ARTIFACTS)]
    gone = [(change.path,) for change in artifacts if change.entry is None]
    db.connection.executemany("delete from artifact where path = ?", gone)
    _put_artifacts(db, (change.path for change in artifacts if change.entry is not None))


def _rebuild(db: StateDb, vault: Vault, number: int) -> None:
    for table in ("memory", "successor", "artifact"):
        db.connection.execute(f"delete from {table}")
    db.connection.execute("insert into words(words) values ('rebuild')")
    state = vault.state()
    _put_records(db, in_append_order(state), number)
    _put_artifacts(db, (entry.path for entry in state.entries(layout.ARTIFACTS)))


def _put_artifacts(db: StateDb, paths: Iterable[str]) -> None:
    rows = ((path, path.rpartition("/")[2].casefold()) for path in paths)
    db.connection.executemany("insert or replace into artifact values (?, ?)", rows)


def _put_records(db: StateDb, changed: Iterable[Record], number: int) -> None:
    """Records in append order. What a record supersedes, and what else superseded that, is no memory any more."""
    is_empty = db.connection.execute("select not exists (select 1 from memory)").fetchone()[0]
    place = db.connection.execute("select coalesce(max(place), 0) from successor").fetchone()[0]
    for item in changed:
        record = records.parse(item.line)
        supersedes = record.get("supersedes")
        if supersedes:
            place += 1
            _hide(db, str(supersedes))
            known = db.connection.execute("select 1 from successor where id = ?", (item.id,)).fetchone()
            if known is None:
                db.connection.execute("insert into successor values (?, ?, ?)", (item.id, supersedes, place))
        if not is_empty:
            _remove(db, item.id)
        if records.is_visible(record) and db.winner(item.id) == item.id:
            _insert(db, record, number)


def _hide(db: StateDb, supersedes: str) -> None:
    _remove(db, supersedes)
    for (other,) in db.connection.execute("select id from successor where supersedes = ?", (supersedes,)).fetchall():
        _remove(db, other)


def _remove(db: StateDb, record_id: str) -> None:
    row = db.connection.execute(
        "select number, content, origin, type from memory where id = ?", (record_id,)
    ).fetchone()
    if row is not None:
        db.connection.execute(
            "insert into words(words, rowid, content, origin, type) values ('delete', ?, ?, ?, ?)", row
        )
        db.connection.execute("delete from memory where number = ?", (row[0],))


def _insert(db: StateDb, record: JsonObject, number: int) -> None:
    values = (
        record["id"],
        record["content"],
        records.origin_file(record),
        record.get("memory_type", "semantic"),
        record.get("namespace", "default"),
        codec.encode(record.get("tags") or []).decode(),
        record.get("source", {}).get("identity_version"),
        number,
    )
    row = db.connection.execute(
        "insert into memory(id, content, origin, type, namespace, tags, identity_version, sequence)"
        " values (?, ?, ?, ?, ?, ?, ?, ?)",
        values,
    )
    db.connection.execute(
        "insert into words(rowid, content, origin, type) values (?, ?, ?, ?)", (row.lastrowid, *values[1:4])
    )


def quoted(words: str) -> str:
    """User input as a query: every word a quoted token, the last one as a beginning when it is a plain word."""
    tokens = words.split()
    return " ".join(f'"{token.replace(chr(34), chr(34) * 2)}"' for token in tokens)


def search(context: Context, agent: Agent, words: str, filters: Filters | None = None, *, limit: int = 20) -> list[Hit]:
    """The memories that hold all words, best first. Raises what opening the vault raises."""
    vault = context.vault(agent.id)
    with StateDb.open(context.home.state_file(agent.id), vault.id) as db:
        catch_up(db, vault)
        return find(db, words, filters or Filters(), limit)


def find(db: StateDb, words: str, filters: Filters, limit: int) -> list[Hit]:
    """Ask the index as it stands."""
    query = quoted(words)
    if not query:
        return []
    conditions, values = _conditions(filters)
    rows = db.connection.execute(
        "select m.id, m.sequence, snippet(words, 0, char(57344), char(57345), '...', 24), m.origin, m.type, m.namespace"
        " from words join memory m on m.number = words.rowid"
        f" where words match ?{conditions} order by rank limit ?",
        (query, *values, limit),
    )
    return [Hit(row[0], row[1], _readable(row[2]), row[3], row[4], row[5]) for row in rows]


def _conditions(filters: Filters) -> tuple[str, list[Any]]:
    wanted = {
        "m.type = ?": filters.memory_type,
        "m.namespace = ?": filters.namespace,
        "m.identity_version = ?": filters.identity_version,
        "exists (select 1 from json_each(m.tags) where value = ?)": filters.tag,
    }
    chosen = {condition: value for condition, value in wanted.items() if value is not None}
    return "".join(f" and {condition}" for condition in chosen), list(chosen.values())


def _readable(snippet: str) -> str:
    marked = _MARK.sub(lambda mark: "[" if mark[0] == "\ue000" else "]", snippet)
    return " ".join(marked.split())
