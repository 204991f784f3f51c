"""Determine the rows for the memories of a state, and decide about each one beside the rows that a database has.

Memories are read twice, in the order of the archive: once to decide, once to write. Between the two only ids and
digests are kept in memory, so that the size of an agent does not matter.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import WriteOrder
from lifeboat_adapters.persona import persona_files
from lifeboat_adapters.table_columns import RowDoesNotFit, SqliteColumn, fit_row, row_digest
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_adapters.zeroclaw.memories import brain_records
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import effective_view, memory_records
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import State

MEMORY = "memory"
WAITS = "a credential was removed from this memory; restore with --with-credentials to write the memory"
ARCHIVED = "the memory is archived, and runtimes do not use archived memories"
NEWER = "the memory with the same key in the database is equally new or newer, so it was kept"
RENAMED = "another memory already uses this key or id, so this memory got a new key or id"

_DEFAULTS = {"namespace": brain_records.DEFAULT_NAMESPACE, "importance": brain_records.DEFAULT_IMPORTANCE, "pinned": 0}
COMPARED = (
    *("id", "content", "category", "created_at", "updated_at", "session_id"),
    *("namespace", "importance", "superseded_by", "kind", "pinned", "tenant_id", "principal_id"),
)
"""Columns that decide whether two rows are the same, apart from the key. Columns of later releases are written but not
compared."""


_LONGEST_NAME = 60


class WantedBrainRow(NamedTuple):
    """A memory that becomes a row: the effective record, the ids of its chain, its row, and whether its vector was
    computed from its present text."""

    record: JsonObject
    chain: tuple[str, ...]
    row: JsonObject
    is_original: bool

    @property
    def id(self) -> str:
        return str(self.record["id"])


class ExistingBrainRow(NamedTuple):
    """A row of the agent in the database: its number, its key, digests of the compared columns and of the text, and the
    time of its last change."""

    number: int
    key: Any
    mark: bytes
    text: bytes
    updated_at: Any


class BrainRowWrite(NamedTuple):
    """A row to write: in the place of row `number`, or as a new row when that is None. `keeps_vector` says that its
    text stays the same."""

    number: int | None
    id: str
    key: Any
    keeps_vector: bool


@dataclass(slots=True)
class BrainRowDecisions:
    """The decisions. `puts` are rows to write by the id of the record. `same` are records whose rows are already there.
    `gone` are numbers of rows to remove. `altered` counts rows that would be removed if they had not been changed here.
    """

    puts: dict[str, BrainRowWrite] = field(default_factory=dict)
    same: list[str] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    altered: int = 0
    fates: list[ItemFate] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)

    @property
    def held(self) -> tuple[str, ...]:
        return (*self.puts, *self.same)


# What is wanted -----------------------------------------------------------------------------------------------------


def list_wanted_rows(order: WriteOrder) -> Iterator[WantedBrainRow]:
    """Yield the memories that become rows, in the order of the archive. Memories in a note of ZeroClaw do not."""
    state = order.state
    in_notes = _in_notes(state)
    in_profile = bool(persona_files.find_primary_human(state).get("profile"))
    for item in effective_view.effective_records(state):
        status = memory_records.read_record_status(item.record)
        if status == "deleted" or not in_notes.isdisjoint(item.chain_ids):
            continue
        if status == "superseded" and brain_records.brain_part_of(item.record) is None:
            continue
        if not (in_profile and memory_records.origin_file(item.record) == persona_files.USER):
            yield _wanted(item, order)


def _in_notes(state: State) -> set[str]:
    return {one for entry in state.entries(zeroclaw_paths.RAW) for one in entry.meta.get(entry_metas.RECORDS) or ()}


def _wanted(item: effective_view.EffectiveMemory, order: WriteOrder) -> WantedBrainRow:
    record, part = item.record, brain_records.brain_part_of(item.record)
    row = brain_records.row_of_memory(record, item.chain_ids[0])
    is_original = part is None or part.get(brain_records.TEXT) == brain_records.content_digest(
        str(record.get("content", ""))
    )
    whole = next((order.texts[one] for one in item.chain_ids if one in order.texts), None)
    return WantedBrainRow(record, item.chain_ids, {**row, **(whole or {})}, is_original)


def fill_row_defaults(row: JsonObject, columns: Mapping[str, SqliteColumn]) -> JsonObject:
    """Return a row as the table keeps it, with ZeroClaw's own defaults for columns that an older release lacks. A
    missing timestamp takes the value of the other one. Raises RowDoesNotFit."""
    created, updated = row.get("created_at"), row.get("updated_at")
    return fit_row({**_DEFAULTS, **row, "created_at": created or updated, "updated_at": updated or created}, columns)


# What is decided ----------------------------------------------------------------------------------------------------


def decide_brain_rows(
    order: WriteOrder,
    there: Mapping[str, ExistingBrainRow],
    others: frozenset[str],
    columns: Mapping[str, SqliteColumn],
    owner: str,
) -> BrainRowDecisions:
    """Decide about all memories. `there` are the agent's rows by id, `others` the ids of all other rows. `owner`
    becomes part of the id of a row whose id another agent already uses."""
    deciding = _BrainRowDecider(order, there, others, columns, owner)
    for item in list_wanted_rows(order):
        deciding.take(item)
    deciding.let_go()
    deciding.settle_keys()
    return deciding.made


class _BrainRowDecider:
    """Collects the decisions about the memories of one agent."""

    def __init__(
        self,
        order: WriteOrder,
        there: Mapping[str, ExistingBrainRow],
        others: frozenset[str],
        columns: Mapping[str, SqliteColumn],
        owner: str,
    ) -> None:
        self._order, self._there, self._others = order, there, others
        self._columns, self._owner = columns, owner
        self._by_key = {one.key: id for id, one in there.items()}
        self._claimed: set[str] = set()
        self._told: dict[str, ItemFate] = {}
        self.made = BrainRowDecisions()

    def take(self, item: WantedBrainRow) -> None:
        found = self._found(item)
        if found is not None:
            self._claimed.add(found)
        if memory_records.read_record_status(item.record) == "archived":
            self._tell(item.id, ItemOutcome.OMITTED, ARCHIVED)
        elif not self._order.cut.isdisjoint(item.chain):
            self.made.withheld.append(item.id)
            self._tell(item.id, ItemOutcome.UNRESOLVED, WAITS)
        else:
            try:
                self._merge(item, fill_row_defaults(item.row, self._columns), found)
            except RowDoesNotFit as reason:
                self._tell(item.id, ItemOutcome.REJECTED, str(reason))

    def _found(self, item: WantedBrainRow) -> str | None:
        """Return the row of a memory: by its id, by the id of any record of its chain, or by its key."""
        if not self._there:
            return None
        own = _id_of(item)
        named = (own, self._of_owner(own), *item.chain)
        by_id = next((id for id in named if id in self._there and id not in self._claimed), None)
        by_key = self._by_key.get(item.row.get("key"))
        return by_id or (None if by_key in self._claimed else by_key)

    def _of_owner(self, id: str) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self._owner}/{id}"))

    def _merge(self, item: WantedBrainRow, row: JsonObject, found: str | None) -> None:
        id = _id_of(item)
        if found is None or (self._order.exact and id not in self._there):
            id = self._free_id(id)
        else:
            id = found
        self._claimed.add(id)
        old = None if found is None else self._there[found]
        if old is None:
            self._put(item, row, BrainRowWrite(None, id, row["key"], False))
            return
        text = text_mark(row)
        says_the_same = not self._order.exact and found != row["id"] and old.text == text
        if says_the_same or _is_same(old, {**row, "id": id}):
            self.made.same.append(item.id)
            self._tell(item.id, ItemOutcome.DEDUPLICATED)
        elif not self._order.exact and not _is_later(row["updated_at"], old.updated_at):
            self._tell(item.id, ItemOutcome.REJECTED, NEWER, "newer_here")
        else:
            self._put(item, row, BrainRowWrite(old.number, id, row["key"], old.text == text))

    def _free_id(self, id: str) -> str:
        while id in self._others or id in self._there or id in self._claimed:
            id = self._of_owner(id)
        return id

    def _put(self, item: WantedBrainRow, row: JsonObject, put: BrainRowWrite) -> None:
        self.made.puts[item.id] = put
        lost = sorted(name for name in item.row.keys() - self._columns.keys() if item.row[name] != _DEFAULTS.get(name))
        if lost:
            self._tell(
                item.id,
                ItemOutcome.TRANSFORMED,
                f"the database has no column for these fields of the memory: {', '.join(map(_shown, lost))}",
            )
        elif put.id != row["id"]:
            self._tell(item.id, ItemOutcome.TRANSFORMED, RENAMED)
        elif brain_records.brain_part_of(item.record) is None:
            self._tell(item.id, ItemOutcome.TRANSFORMED, "the memory was written as a database row")

    def let_go(self) -> None:
        """Decide which rows are removed: those whose memories the newest captured state had and the wanted one has not,
        and those that were deleted in the archive and still have their last text here."""
        before = _ids_in(self._order.before) if self._order.exact and self._order.before is not None else set()
        dead = _dead(self._order.state) if self._there.keys() - self._claimed else {}
        for id, row in self._there.items():
            if id in self._claimed:
                continue
            if id in before or row.text in dead.get(id, ()):
                self.made.gone.append(row.number)
            elif id in dead:
                self.made.altered += 1

    def settle_keys(self) -> None:
        """Give another key to rows whose key a remaining row or an earlier memory has."""
        placed = {put.number for put in self.made.puts.values()} | set(self.made.gone)
        taken = {row.key for row in self._there.values() if row.number not in placed}
        for record_id, put in self.made.puts.items():
            key = put.key
            while key in taken:
                key = _key_of(key, put.id)
            if key != put.key:
                self.made.puts[record_id] = put._replace(key=key)
                self._tell(record_id, ItemOutcome.TRANSFORMED, RENAMED)
            taken.add(key)
        self.made.fates.extend(self._told.values())

    def _tell(self, record_id: str, outcome: ItemOutcome, reason: str = "", code: str = "") -> None:
        self._told[record_id] = ItemFate(MEMORY, record_id, outcome, reason, code)


def _id_of(item: WantedBrainRow) -> str:
    id = item.row.get("id")
    return item.chain[0] if id is None else str(id)


def _ids_in(state: State) -> set[str]:
    """Return every id that a row of a state's memories may have."""
    found: set[str] = set()
    for item in effective_view.effective_records(state):
        found.update(item.chain_ids)
        found.add(str(brain_records.row_of_memory(item.record, item.chain_ids[0]).get("id")))
    return found


def _dead(state: State) -> dict[str, set[bytes]]:
    """Return deleted memories by the possible ids of their rows, with digests of all their former texts."""
    chains = effective_view.chains_of(state)
    ends = (item for item in effective_view.effective_records(state, chains) if memory_records.is_deleted(item.record))
    gone = {one: item.chain_ids[0] for item in ends for one in item.chain_ids}
    found: dict[str, set[bytes]] = {}
    said: dict[str, set[bytes]] = {}
    for record in state.records() if gone else ():
        root = gone.get(record.id)
        if root is not None:
            row = brain_records.row_of_memory(memory_records.parse_record(record.line), root)
            texts = said.setdefault(root, set())
            texts.add(text_mark(row))
            found |= dict.fromkeys((record.id, str(row.get("id"))), texts)
    return found


def _shown(name: str) -> str:
    """Return a name from an archive in printable form."""
    return name[:_LONGEST_NAME] if name.isprintable() else ascii(name[:_LONGEST_NAME])


def _is_same(there: ExistingBrainRow, row: JsonObject) -> bool:
    """Return whether a row is already there, possibly under the key that it gets because its own is taken."""
    return there.mark == digest_compared_columns(row) and there.key in (row["key"], _key_of(row["key"], row["id"]))


def _is_later(time: Any, than: Any) -> bool:
    try:
        return times.parse_time(str(time)) > times.parse_time(str(than))
    except (ValueError, OverflowError):
        return False


def _key_of(key: Any, id: str) -> Any:
    """Return the key of a row whose own key is taken: always the same one."""
    return f"{key}_{id[-12:]}"


# Marks --------------------------------------------------------------------------------------------------------------


def digest_compared_columns(row: Mapping[str, Any]) -> bytes:
    """Return a digest that is equal for rows with equal compared columns. A missing column counts as NULL."""
    return row_digest(row.get(name) for name in COMPARED)


def text_mark(row: Mapping[str, Any]) -> bytes:
    return row_digest((row.get("content"),))
