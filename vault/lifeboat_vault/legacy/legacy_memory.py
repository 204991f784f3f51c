"""Change the memory of an agent for a client that knows only whole records by id.

For that client a record exists or not, and every partition is open. In the vault a record keeps its place and history:
changes happen in place in an open partition, and by a successor or tombstone in a sealed one (ALF §3.1.8, §4.1.1). Any
id of a chain names the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime

from lifeboat_alf.common import ids, json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import BadDocument
from lifeboat_alf.memory import memory_records, partitions, record_lifecycle
from lifeboat_alf.memory.effective_view import SuccessorChains, chains_of, partitions_of
from lifeboat_alf.memory.partitions import PartitionLedger
from lifeboat_alf.memory.record_lifecycle import RecordContext, RecordStep
from lifeboat_alf.states.agent_state import Partition, Record, State
from lifeboat_vault.vault import RecordPut, Vault

FOLDER = "memory/"
"""Folder where that client looks for partitions that no manifest names yet."""

_SUCCESSOR = b'"supersedes"'
_ESCAPES = (b"\\u", b"\\/")
"""Escapes with which a line may spell the name of its file differently."""


class LegacyMemory:
    """Changes on top of `state`, the head of `vault`, at the time `now`."""

    def __init__(self, vault: Vault, state: State, now: datetime) -> None:
        known = partitions_of(state)
        self._state = state
        self._ledger = PartitionLedger(known, now)
        self._scribe = RecordContext(vault.agent_id, self._ledger, _minting(vault))
        self._chains = chains_of(state) if any(partition.sealed for partition in known) else SuccessorChains()
        self._puts: dict[str, RecordPut] = {}
        self._appended: set[str] = set()
        self._purged = purged_ids(vault)
        self._located_in: list[Partition] = []
        self._days: dict[date, Partition | None] = {}

    @property
    def partitions(self) -> list[Partition]:
        """Return all partitions by time, including those opened here."""
        return self._ledger.partitions

    @property
    def chains(self) -> SuccessorChains:
        return self._chains

    @property
    def puts(self) -> list[RecordPut]:
        return list(self._puts.values())

    def files(self) -> set[str]:
        """Return the workspace files to which the changed memories belong or belonged."""
        changed = [memory_records.parse_record(_line(put)) for put in self._puts.values()]
        known = {str(record[name]) for record in changed for name in ("id", "supersedes") if record.get(name)}
        before = (found.line for record_id in known if (found := self._state.record(record_id)) is not None)
        return {memory_records.origin_file(record) for record in (*changed, *map(memory_records.parse_record, before))}

    def after(self, files: set[str]) -> Iterator[JsonObject]:
        """Yield the memories of some files after the changes, without deleted ones."""
        marks = [*map(json_codec.encode_json, files), *_ESCAPES]
        changed = {put.id: _line(put) for put in self._puts.values()}
        ended = {
            str(memory_records.parse_record(line).get("supersedes")) for line in changed.values() if _SUCCESSOR in line
        }
        kept = (record for record in self._state.records() if self._chains.wins(record.id) and record.id not in ended)
        for line in (*(changed.pop(record.id, record.line) for record in kept), *changed.values()):
            if any(mark in line for mark in marks):
                record = memory_records.parse_record(line)
                if not memory_records.is_deleted(record):
                    yield record

    def holds(self, record_id: str) -> bool:
        """Return whether the client has the memory. Records appended here do not count yet."""
        held = self._held(record_id)
        return held is not None and not memory_records.is_deleted(memory_records.parse_record(held.line))

    def put(self, line: bytes) -> None:
        """Set a checked record as the client has it: new, changed, back again, or unchanged.

        Purged records are ignored: the client does not know of purges and sends what it still has.
        """
        record = memory_records.parse_record(line)
        record_id = str(record["id"])
        if record_id in self._appended or record_id in self._purged:
            return
        held = self._held(record_id)
        if held is None:
            self._append(record, line)
        elif self._ledger.is_sealed(held.partition):
            self._succeed(held, record)
        else:
            self._replace(held, record, line)

    def remove(self, record_id: str) -> None:
        """Delete a record that the client no longer has. Unknown ones and those added by this change stay."""
        held = self._held(record_id)
        if record_id in self._appended or held is None or not self.holds(record_id):
            return
        self._take(
            record_id,
            record_lifecycle.delete_record(self._scribe, memory_records.parse_record(held.line), held.partition),
            held,
        )

    # Replacing records --------------------------------------------------------------------------------------------

    def _held(self, record_id: str) -> Record | None:
        """Return the effective record of an id's chain, including changes made here."""
        found = self._state.record(self._chains.winner(record_id))
        changed = None if found is None else self._puts.get(found.id)
        return found if found is None or changed is None else found._replace(line=_line(changed))

    def _replace(self, held: Record, record: JsonObject, line: bytes) -> None:
        old = memory_records.parse_record(held.line)
        if held.id != record["id"] or not self._stays(held, old, record):
            line = memory_records.line_of(_in_place_of(old, record))
        if line != held.line:
            self._puts[held.id] = RecordPut("update", held.id, held.partition, line)

    def _stays(self, held: Record, old: JsonObject, record: JsonObject) -> bool:
        """Return whether a changed record still belongs in its partition. The client dates notes by file time, and a
        partition holds only records of its days."""
        day = _created(record)
        if day == _created(old):
            return True
        found = partitions.locate_partition(day, self._ledger.partitions)
        return found is not None and found.file == held.partition

    def _succeed(self, held: Record, record: JsonObject) -> None:
        old = memory_records.parse_record(held.line)
        if _same(old, record):
            return
        fields: JsonObject = {name: None for name in old if name not in record}
        fields |= {name: value for name, value in record.items() if name not in ("id", "content", "temporal")}
        fields |= {"supersedes": None, "temporal": _without_created(record)}
        step = record_lifecycle.edit_record(self._scribe, old, held.partition, str(record.get("content", "")), fields)
        self._take(str(record["id"]), step, held)

    def _take(self, record_id: str, step: RecordStep, held: Record) -> None:
        if step.id != held.id:
            self._appended.add(record_id)
        self._puts[step.id] = RecordPut(step.operation, step.id, step.partition, step.line)

    def _append(self, record: JsonObject, line: bytes) -> None:
        moment = _moment(record)
        found = self._located(moment) or self._opened(moment)
        if found.sealed:
            placed = self._ledger.place()
            temporal = {**record["temporal"], "created_at": placed.created_at, "observed_at": moment}
            found, line = placed.partition, memory_records.line_of({**record, "temporal": temporal})
        record_id = str(record["id"])
        self._appended.add(record_id)
        self._puts[record_id] = RecordPut("create", record_id, found.file, line)

    def _located(self, moment: str) -> Partition | None:
        """Return the partition of a time; cached, because many memories share a day."""
        known, day = self._ledger.partitions, partitions.day_of(moment)
        if known is not self._located_in:
            self._located_in, self._days = known, {}
        if day not in self._days:
            self._days[day] = partitions.locate_partition(moment, known)
        return self._days[day]

    def _opened(self, moment: str) -> Partition:
        known = self._ledger.partitions
        planned = partitions.plan_partition(moment, times.parse_time(moment), known, first_capture=True).partition
        made = replace(planned, file=FOLDER + planned.file.rsplit("/", 1)[-1])
        self._ledger.partitions = partitions.replace_partitions(known, [made])
        return made


def _line(put: RecordPut) -> bytes:
    assert put.line is not None, "a client without signatures cannot purge"
    return put.line


def _in_place_of(old: JsonObject, record: JsonObject) -> JsonObject:
    """Return a record that replaces another one of its chain, or itself, keeping the creation time."""
    temporal = {**record["temporal"], "created_at": _created(old)}
    return {**record, "id": old["id"], "supersedes": old.get("supersedes"), "temporal": temporal}


def _same(old: JsonObject, record: JsonObject) -> bool:
    """Return whether two records of a chain say the same, apart from a successor's own id and times."""
    return not memory_records.is_deleted(old) and _said(old) == _said(record)


def _said(record: JsonObject) -> JsonObject:
    own = ("id", "supersedes", "temporal", "source")
    said = {name: value for name, value in memory_records.arrange_fields(record).items() if name not in own}
    source = {name: value for name, value in record.get("source", {}).items() if name != "identity_version"}
    return {**said, "source": source}


def _without_created(record: JsonObject) -> JsonObject:
    temporal = {name: value for name, value in record["temporal"].items() if name != "created_at"}
    return {"observed_at": _moment(record), **temporal}


def _created(record: JsonObject) -> str:
    return _text(record, "created_at")


def _moment(record: JsonObject) -> str:
    """Return the day under which the client files a record."""
    return _text(record, "observed_at", "created_at")


def _text(record: JsonObject, *names: str) -> str:
    """Return the first of these times that is stated."""
    return str(next(record["temporal"][name] for name in names if record["temporal"].get(name)))


def purged_ids(vault: Vault) -> frozenset[str]:
    """Return the ids of all records that were purged or are about to be."""
    if not len(vault.redactions):
        return frozenset()
    held = (row.redaction for row in vault.redaction_rows() if not row.refused)
    return frozenset(record_id for redaction in held for record_id in redaction.record_ids)


def check_record(record: JsonObject, *, entry: str, line: int) -> None:
    """Check the types of required fields, and times. Raises BadDocument."""
    memory_records.check_shape(record, entry=entry, line=line)
    temporal = record.get("temporal") or {}
    stated = [temporal.get("created_at"), *filter(None, [temporal.get("observed_at")])]
    try:
        for moment in stated:
            times.parse_time(moment)
    except (TypeError, ValueError):
        raise BadDocument("the record has no valid time", entry=entry, line=line) from None


def _minting(vault: Vault) -> Callable[..., str]:
    """Return a function that makes ids that the history has never held."""
    seed = vault.record_seed

    def mint(created_at: str, *parts: str) -> str:
        ordinal = 0
        while vault.has_record(made := ids.mint_id(seed, created_at, *parts, ordinal=ordinal)):
            ordinal += 1
        return made

    return mint
