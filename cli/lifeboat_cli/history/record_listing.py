"""What an agent remembers, page by page, newest first, for browsing.

Everything is read from the search index, which follows the vault; no archive is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.states.agent_state import State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import UnknownRecord
from lifeboat_core.home.context import Context
from lifeboat_core.memories import memory_search
from lifeboat_core.memories.edit_records import find_forgotten_ids
from lifeboat_core.memories.memory_search import NO_FILTERS, MemoryFilters
from lifeboat_core.memories.record_details import find_last_words
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.texts.human_text import snippet_text
from lifeboat_vault.vault import Vault

LARGEST_PAGE = 15 * 1024 * 1024
"""Bytes of a page as JSON: a client accepts 16 MiB."""
_LAID_OUT, _LAID_OUT_TAG = 160, 16
"""Bytes that one record, and each of its tags, takes more in readable JSON, at most."""
_READ = 600
"""Characters of a memory that are used for its snippet."""
DELETED, SUPERSEDED = "deleted", "superseded"
STATUSES = ("active", "archived", DELETED)
_NAMES = "id, type, namespace, created_at, observed_at, origin, identity_version, pinned, tags"
_ALL = (
    f"(select {_NAMES}, 'active' as status, content, number from memory"
    f" union all select {_NAMES}, status, content, 0 as number from put_away) m"
)
_ORDER = "created_at, number, id"
"""Daily notes all begin at once: among them, later ones have the larger number."""
Condition = tuple[str, list[Any]]


@dataclass(frozen=True, slots=True)
class RecordPageRequest:
    """Which memories, and which page of them.

    `status` None: all that are not deleted; `words` have to occur in the text, the last one may be a prefix; `after`:
    the id that ended the previous page.
    """

    filters: MemoryFilters = NO_FILTERS
    status: str | None = None
    words: str = ""
    limit: int | None = None
    after: str | None = None


def list_records_page(context: Context, agent: Agent, wanted: RecordPageRequest) -> JsonObject:
    """Return a page of memories, and how many there are of each kind: what `records list` writes.

    Raises UnknownRecord for an unknown `after`, RecordError.UNKNOWN_KIND for an unknown type or status.
    """
    with context.vault(agent.id) as vault, StateDb.open(context.home.state_file(agent.id), vault.id) as db:
        memory_search.update_index(db, vault)
        memory_search.check_type(db, wanted.filters.memory_type)
        _check_status(db, wanted.status)
        head = vault.head()
        return {"agent": agent.id, "sequence": None if head is None else head.number, **_page(db, vault, wanted)}


def _check_status(db: StateDb, status: str | None) -> None:
    others = {row[0] for row in db.connection.execute("select distinct status from put_away")}
    memory_search.check_known("status", status, {*STATUSES, *others})


def _page(db: StateDb, vault: Vault, wanted: RecordPageRequest) -> JsonObject:
    conditions, values = _joined([*_conditions(db, wanted)])
    total = int(db.connection.execute(f"select count(*) from {_ALL} where {conditions}", values).fetchone()[0])
    conditions, values = _joined([*_conditions(db, wanted), *_beyond(db, wanted.after)])
    rows = db.connection.execute(
        f"select {_NAMES}, status, substr(content, 1, {_READ}) from {_ALL} where {conditions}"
        " order by created_at desc, number desc, id desc limit ?",
        (*values, -1 if wanted.limit is None else wanted.limit + 1),
    )
    shown, is_last = _fitting(_told(db, vault, rows), wanted.limit)
    going_on = None if is_last or not shown else shown[-1]["id"]
    return {"total": total, "shown": len(shown), "next": going_on, **_counts(db), "records": shown}


def _joined(conditions: Iterable[Condition]) -> Condition:
    found = list(conditions)
    return " and ".join(text for text, _ in found), [value for _, values in found for value in values]


def _conditions(db: StateDb, wanted: RecordPageRequest) -> Iterator[Condition]:
    if wanted.status is None:
        yield "status not in (?, ?)", [DELETED, SUPERSEDED]
    else:
        yield "status = ?", [wanted.status]
    yield from memory_search.make_conditions(wanted.filters)
    query = memory_search.quote_query(wanted.words, open_ended=True)
    if query:
        db.fill_words()
        said = wanted.words.split()
        # The full-text index has what is remembered now; there is little else, and that is scanned.
        away = " and ".join("instr(lower(content), lower(?))" for _ in said)
        known = "number in (select rowid from words where words match ?)"
        yield f"case when number = 0 then {away} else {known} end", [*said, query]


def _beyond(db: StateDb, after: str | None) -> Iterator[Condition]:
    """Return the condition for what follows a memory. Raises UnknownRecord."""
    if after is None:
        return
    row = db.connection.execute(f"select {_ORDER} from {_ALL} where id = ?", (after,)).fetchone()
    if row is None:
        raise UnknownRecord(
            f"the memory given with --after, {after}, does not exist any longer; list from the first "
            "page again, without --after"
        )
    yield f"({_ORDER}) < (?, ?, ?)", list(row)


def _told(db: StateDb, vault: Vault, rows: Iterable[Any]) -> Iterator[JsonObject]:
    forgotten = find_forgotten_ids(vault, db)
    state = vault.state() if vault.head() is not None else None
    for one, kind, namespace, created, observed, origin, version, pinned, tags, status, text in rows:
        yield {
            "id": one,
            "memory_type": kind,
            "status": status,
            "namespace": namespace,
            "created_at": created,
            "observed_at": observed,
            "origin_file": origin,
            "snippet": snippet_text(_last_words(state, one) if text == memory_records.TOMBSTONE else text),
            "identity_version": version,
            "pinned": bool(pinned),
            "forgotten": one in forgotten,
            "tags": json_codec.decode_json(tags.encode()),
        }


def _last_words(state: State | None, tombstone: str) -> str:
    found = None if state is None else state.record(tombstone)
    return (
        ""
        if state is None or found is None
        else find_last_words(state, memory_records.parse_record(found.line))[:_READ]
    )


def _fitting(told: Iterable[JsonObject], limit: int | None) -> tuple[list[JsonObject], bool]:
    """Return the items that fit on a page, and whether these are all."""
    shown: list[JsonObject] = []
    left = LARGEST_PAGE
    for record in told:
        left -= len(json_codec.encode_json(record)) + _LAID_OUT + _LAID_OUT_TAG * len(record["tags"])
        if len(shown) == limit or (left < 0 and shown):
            return shown, False
        shown.append(record)
    return shown, True


def _counts(db: StateDb) -> JsonObject:
    """Count the memories of each kind, independently of the page; deleted ones in total only."""
    kept = f"{_ALL} where status not in ('{DELETED}', '{SUPERSEDED}')"
    return {
        "types": _counted(db, "type", kept),
        "statuses": _counted(db, "status", _ALL),
        "identity_versions": _counted(db, "identity_version", f"{kept} and identity_version is not null"),
        "namespaces": _counted(db, "namespace", kept),
    }


def _counted(db: StateDb, column: str, rows: str) -> dict[str, int]:
    found = db.connection.execute(f"select {column}, count(*) from {rows} group by 1 order by 2 desc, 1")
    return {str(name): count for name, count in found}
