"""Turn operations on memories into record lines (ALF §3.1.8, §4.1.1): create, edit, delete, archive, revive.

In an open partition a record changes in place: it keeps its id, `created_at` and identity version. In a sealed one
nothing ever changes: the change is appended as a successor (`supersedes`) dated with the capture, a deletion as a
tombstone. Every function is pure and returns one line.
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
"""`mint(created_at, *parts)` returns an id that the history has never held (see `ids.mint_id`)."""


class RecordStep(NamedTuple):
    """One line of a delta: operation, record, and partition."""

    operation: Operation
    id: str
    partition: str
    line: bytes


@dataclass(frozen=True, slots=True)
class RecordContext:
    """Context of new record lines: the agent, its partitions, how to make ids, and its current identity.

    `identity_version` is None while the agent has no versioned identity. `claim` says whether a record may keep an id
    from elsewhere; each id can be claimed once, and only if the history has never held it.
    """

    agent_id: str
    ledger: PartitionLedger
    mint: Mint
    identity_version: int | None = None
    claim: Callable[[str], bool] = lambda _: False

    @property
    def now(self) -> str:
        """Return the time of the capture."""
        return times.to_text(self.ledger.now)


def create_record(
    scribe: RecordContext, content: str, fields: JsonObject, wanted: str | None = None, record_id: str | None = None
) -> RecordStep:
    """Create the record of a new memory.

    `fields` are derived from its text and file (memory_type, namespace, category, tags, entities, source, temporal
    ...). `wanted` is its own day or time, see `partitions.plan_partition`. `record_id` is an id from elsewhere, kept
    where possible. Memory type and namespace default to `semantic` and `default`.
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
    """Change a memory's text, or what is derived from it.

    `fields` replaces top-level fields and is merged into `source` and `temporal`; None removes a field. All other
    fields stay, known or not, except inline vectors of another text. A deleted or archived record becomes active again.
    """
    new = _merged(old, fields or {})
    if content != old.get("content"):
        new.pop("embeddings", None)
    new["content"] = content
    return _change(scribe, old, partition, _awake(new))


def delete_record(scribe: RecordContext, old: JsonObject, partition: str) -> RecordStep:
    """Delete a memory: in place in an open partition (its text stays until a purge), else by a tombstone."""
    if not scribe.ledger.is_sealed(partition):
        gone = {name: value for name, value in old.items() if name != MISSING}
        return _step("delete", _touched({**gone, "status": "deleted"}, scribe.now), partition)
    return _tombstone(scribe, old)


def archive_record(scribe: RecordContext, old: JsonObject, partition: str) -> RecordStep:
    """Archive a memory that vanished from its file but must not be deleted without the user's consent."""
    return _change(scribe, old, partition, {**old, "status": "archived", MISSING: True})


def retire_vanished_record(scribe: RecordContext, old: JsonObject, partition: str, *, held: bool = False) -> RecordStep:
    """Retire a memory that its file no longer holds: archive DNA-class, pinned and `held` ones, delete all others."""
    return (
        archive_record(scribe, old, partition)
        if held or memory_records.is_kept(old)
        else delete_record(scribe, old, partition)
    )


def revive_record(scribe: RecordContext, old: JsonObject, partition: str, dead: JsonObject | None = None) -> RecordStep:
    """Make a memory active again.

    `old` is the record that marks it as gone (deleted in place, archived, or a tombstone). For a tombstone, `dead` is
    the record it ended; its text and fields return, and the tombstone becomes its successor.
    """
    if dead is None:
        return _change(scribe, old, partition, _awake(old))
    own: JsonObject = {name: old[name] for name in ("id", "supersedes") if name in old}
    temporal = {**_observed(dead), "created_at": memory_records.created_at(old)}
    return _change(scribe, old, partition, _awake({**dead, **own, "temporal": temporal}))


def _step(operation: Operation, record: JsonObject, partition: str) -> RecordStep:
    return RecordStep(operation, record["id"], partition, memory_records.line_of(record))


def _change(scribe: RecordContext, old: JsonObject, partition: str, new: JsonObject) -> RecordStep:
    """Put `new` in place of `old`, or append it as its successor where `old` is sealed."""
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
    """Return the source with the agent's current identity (ALF §3.1.10). Without one the field stays absent."""
    lineage = {name: value for name, value in source.items() if name != "identity_version"}
    if scribe.identity_version is not None:
        lineage["identity_version"] = scribe.identity_version
    return lineage


def _merged(old: JsonObject, fields: JsonObject) -> JsonObject:
    """Merge `fields` over `old`. Creation time and identity of a record never change."""
    new = {name: value for name, value in {**old, **fields}.items() if fields.get(name, value) is not None}
    new["source"] = {**as_object(old.get("source")), **fields.get("source", {})}
    new["source"]["identity_version"] = as_object(old.get("source")).get("identity_version")
    new["temporal"] = {**old["temporal"], **fields.get("temporal", {}), "created_at": memory_records.created_at(old)}
    return new


def _awake(record: JsonObject) -> JsonObject:
    """Mark a deleted or archived record as active. Any other status stays."""
    gone = memory_records.is_deleted(record) or memory_records.is_missing(record)
    kept = {name: value for name, value in record.items() if name != MISSING}
    return {**kept, "status": "active"} if gone else kept


def _touched(record: JsonObject, now: str) -> JsonObject:
    return {**record, "temporal": {**record["temporal"], "updated_at": now}}


def _without_created(temporal: JsonObject) -> JsonObject:
    return {name: value for name, value in temporal.items() if name != "created_at"}


def _observed(record: JsonObject, *, only_day: bool = False) -> JsonObject:
    """Return the times that a successor inherits. The old day becomes `observed_at` unless one is known."""
    temporal = record["temporal"]
    observed = {"observed_at": temporal.get("observed_at") or temporal["created_at"]}
    if only_day:
        return observed
    kept = {name: value for name, value in temporal.items() if name not in ("created_at", "updated_at")}
    return {**kept, **observed}
