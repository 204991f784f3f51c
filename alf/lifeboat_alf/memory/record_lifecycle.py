"""From an intention to record lines (ALF §3.1.8, §4.1.1): create, edit, delete, archive, revive.

In an open partition a record changes in place: it keeps its id, `created_at` and identity version. In a sealed one
nothing ever changes: the change is appended as a successor (`supersedes`) dated with the capture, a deletion as a
tombstone. Every function is pure and returns the one line that says it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from lifeboat_alf.common import times
from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.memory.memory_records import MISSING, TOMBSTONE
from lifeboat_alf.memory.partitions import PartitionLedger
from lifeboat_alf.states.agent_state import Operation

Mint = Callable[..., str]
"""`mint(created_at, *parts)` -> an id that history has never held (see `ids.mint`)."""


class RecordStep(NamedTuple):
    """One line of a delta: the operation, the record it is about, and the partition it stands in."""

    operation: Operation
    id: str
    partition: str
    line: bytes


@dataclass(frozen=True, slots=True)
class RecordContext:
    """What every new line needs to know: whose it is, in which partitions, how ids are made, who the agent is now.

    `identity_version` is None while the agent has no versioned identity. `claim` says whether a record may take an id
    that it had elsewhere: once, and only one that history has never held.
    """

    agent_id: str
    ledger: PartitionLedger
    mint: Mint
    identity_version: int | None = None
    claim: Callable[[str], bool] = lambda _: False

    @property
    def now(self) -> str:
        """The time of the capture."""
        return times.to_text(self.ledger.now)


def create_record(
    scribe: RecordContext, content: str, fields: JsonObject, wanted: str | None = None, record_id: str | None = None
) -> RecordStep:
    """A memory seen for the first time.

    `fields` are the parts that follow from its text and file (memory_type, namespace, category, tags, entities,
    source, temporal ...); `wanted` is its own day or time, see `partitions.plan_partition`; `record_id` the id it had
    elsewhere, which it keeps where it can. Memory type and namespace default to `semantic` and `default`.
    """
    placed = scribe.ledger.place(wanted)
    record: JsonObject = {"memory_type": "semantic", "status": "active", "namespace": "default", **fields}
    record["source"] = _lineage(scribe, fields.get("source", {}))
    record["temporal"] = {"created_at": placed.created_at, **_without_created(fields.get("temporal", {}))}
    record["content"] = content
    record["agent_id"] = scribe.agent_id
    kept = record_id if record_id and scribe.claim(record_id) else None
    record["id"] = kept or scribe.mint(placed.created_at, memory_records.origin_file(record), content)
    return _step("create", record, placed.partition.file)


def edit_record(
    scribe: RecordContext, old: JsonObject, partition: str, content: str, fields: JsonObject | None = None
) -> RecordStep:
    """A memory whose text, or what follows from it, changed.

    `fields` replaces top-level fields and is merged into `source` and `temporal`; None removes one. All other fields,
    known or not, stay. Inline vectors of another text do not. A record that was gone is active again.
    """
    new = _merged(old, fields or {})
    if content != old.get("content"):
        new.pop("embeddings", None)
    new["content"] = content
    return _change(scribe, old, partition, _awake(new))


def delete_record(scribe: RecordContext, old: JsonObject, partition: str) -> RecordStep:
    """A memory that is gone: in place in an open partition (its text stays until a purge), else a tombstone."""
    if not scribe.ledger.is_sealed(partition):
        gone = {name: value for name, value in old.items() if name != MISSING}
        return _step("delete", _touched({**gone, "status": "deleted"}, scribe.now), partition)
    return _tombstone(scribe, old)


def archive_record(scribe: RecordContext, old: JsonObject, partition: str) -> RecordStep:
    """A memory that vanished from its file and may not go without the user's word."""
    return _change(scribe, old, partition, {**old, "status": "archived", MISSING: True})


def retire_vanished_record(scribe: RecordContext, old: JsonObject, partition: str, *, held: bool = False) -> RecordStep:
    """What a capture does with a memory its file no longer holds: `archive_record` for DNA-class, pinned or `held`
    ones, `delete_record` for all others."""
    return (
        archive_record(scribe, old, partition)
        if held or memory_records.is_kept(old)
        else delete_record(scribe, old, partition)
    )


def revive_record(scribe: RecordContext, old: JsonObject, partition: str, dead: JsonObject | None = None) -> RecordStep:
    """A memory that came back.

    `old` is the record that says it is gone (deleted in place, archived, or a tombstone). For a tombstone `dead` is
    the record it ended, whose text and fields return; the tombstone becomes its successor.
    """
    if dead is None:
        return _change(scribe, old, partition, _awake(old))
    own: JsonObject = {name: old[name] for name in ("id", "supersedes") if name in old}
    temporal = {**_observed(dead), "created_at": memory_records.created_at(old)}
    return _change(scribe, old, partition, _awake({**dead, **own, "temporal": temporal}))


def _step(operation: Operation, record: JsonObject, partition: str) -> RecordStep:
    return RecordStep(operation, record["id"], partition, memory_records.line_of(record))


def _change(scribe: RecordContext, old: JsonObject, partition: str, new: JsonObject) -> RecordStep:
    """`new` in place of `old`, or as its successor where `old` is sealed."""
    if not scribe.ledger.is_sealed(partition):
        return _step("update", _touched(new, scribe.now), partition)
    placed = scribe.ledger.place()
    successor = {**new, "supersedes": old["id"]}
    successor["source"] = _lineage(scribe, as_object(new.get("source")))
    successor["temporal"] = {"created_at": placed.created_at, **_observed(new)}
    successor["id"] = scribe.mint(
        placed.created_at, memory_records.origin_file(new), str(new["content"]), str(old["id"])
    )
    return _step("create", successor, placed.partition.file)


def _tombstone(scribe: RecordContext, old: JsonObject) -> RecordStep:
    placed = scribe.ledger.place()
    copied: JsonObject = {name: old[name] for name in ("agent_id", "memory_type", "source", "namespace") if name in old}
    record = {
        **copied,
        "id": scribe.mint(placed.created_at, memory_records.origin_file(old), TOMBSTONE, str(old["id"])),
        "content": TOMBSTONE,
        "temporal": {"created_at": placed.created_at, **_observed({"temporal": old["temporal"]}, only_day=True)},
        "status": "deleted",
        "supersedes": old["id"],
    }
    return _step("delete", record, placed.partition.file)


def _lineage(scribe: RecordContext, source: JsonObject) -> JsonObject:
    """The source with the identity the agent has now (ALF §3.1.10); without one the field is absent, never guessed."""
    lineage = {name: value for name, value in source.items() if name != "identity_version"}
    if scribe.identity_version is not None:
        lineage["identity_version"] = scribe.identity_version
    return lineage


def _merged(old: JsonObject, fields: JsonObject) -> JsonObject:
    """`fields` over `old`. When a record was made, and by which identity, never changes."""
    new = {name: value for name, value in {**old, **fields}.items() if fields.get(name, value) is not None}
    new["source"] = {**as_object(old.get("source")), **fields.get("source", {})}
    new["source"]["identity_version"] = as_object(old.get("source")).get("identity_version")
    new["temporal"] = {**old["temporal"], **fields.get("temporal", {}), "created_at": memory_records.created_at(old)}
    return new


def _awake(record: JsonObject) -> JsonObject:
    """Active again, if it was gone; a status of its own stays."""
    gone = memory_records.is_deleted(record) or memory_records.is_missing(record)
    kept = {name: value for name, value in record.items() if name != MISSING}
    return {**kept, "status": "active"} if gone else kept


def _touched(record: JsonObject, now: str) -> JsonObject:
    return {**record, "temporal": {**record["temporal"], "updated_at": now}}


def _without_created(temporal: JsonObject) -> JsonObject:
    return {name: value for name, value in temporal.items() if name != "created_at"}


def _observed(record: JsonObject, *, only_day: bool = False) -> JsonObject:
    """The times a successor takes over: the old day becomes `observed_at` where none was known."""
    temporal = record["temporal"]
    observed = {"observed_at": temporal.get("observed_at") or temporal["created_at"]}
    if only_day:
        return observed
    kept = {name: value for name, value in temporal.items() if name not in ("created_at", "updated_at")}
    return {**kept, **observed}
