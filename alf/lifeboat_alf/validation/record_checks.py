"""Check memory records, one by one and together: shape, ids, dates, duplicates, links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lifeboat_alf.archive import document_types
from lifeboat_alf.common import ids
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records, partitions
from lifeboat_alf.redaction.bundle_redactions import BundleRedactions
from lifeboat_alf.states.agent_state import Partition
from lifeboat_alf.validation import shape_checks
from lifeboat_alf.validation.shape_checks import DocumentPlace
from lifeboat_alf.validation.validation_findings import Validation


@dataclass(slots=True)
class RecordChecks:
    """Checks over all records of a file. Memory grows with ids and links, not with content.

    `gone` are ids of records without a line, `purged` those of all purged records; links to them dangle without being a
    finding. `ours` says that the file follows this project's partition rules, so that breaking them is an error.
    """

    found: Validation
    agent_id: str
    ours: bool = True
    has_embeddings: bool = False
    known: set[str] = field(default_factory=set)
    gone: frozenset[str] = frozenset()
    purged: frozenset[str] = frozenset()
    _links: list[tuple[str, str, DocumentPlace]] = field(default_factory=list)

    def add(self, record: JsonObject, place: DocumentPlace, partition: Partition | None = None) -> None:
        """Check one record; `partition` is the one that holds it, None in a delta."""
        if not self.ours:
            record = self._with_confidence(record, place)
        if not shape_checks.check_shape(self.found, record, document_types.MemoryRecord, place):
            self._remember(record.get("id"), place)
            return
        self._remember(record["id"], place)
        if ids.is_uuid(record["id"]) and not ids.is_version_7(record["id"]):
            self.found.warn("id_not_v7", f"the id {record['id']} is not a UUID version 7", *place)
        if record["agent_id"].lower() != self.agent_id.lower():
            self.found.warn("other_agent", f"the record belongs to another agent, {record['agent_id']}", *place)
        self._check_vectors(record, place)
        self._follow(record, place)
        if partition is not None:
            self._check_day(record, partition, place)

    def _with_confidence(self, record: JsonObject, place: DocumentPlace) -> JsonObject:
        """Warn of a confidence outside 0..1. The reference client copies it unchecked from notes."""
        confidence = record.get("confidence")
        if type(confidence) not in (int, float) or 0 <= float(confidence or 0) <= 1:
            return record
        self.found.warn("confidence_range", f"the confidence {confidence} is not between 0 and 1", *place)
        return {name: value for name, value in record.items() if name != "confidence"}

    def take_purged(self, purged: BundleRedactions) -> None:
        """Take the purged records of the file into account."""
        self.gone = frozenset(record.id for record in purged.gone)
        self.purged = self.gone | purged.redactions.record_ids

    def finish(self) -> None:
        """Report links to missing records as warnings (ALF §3.1.12)."""
        for field_name, target, place in self._links:
            if target not in self.known and target not in self.purged:
                self.found.warn(
                    "dangling",
                    f"the field {field_name} refers to the record {target}, which is missing from the archive",
                    *place,
                )

    def _remember(self, record_id: Any, place: DocumentPlace) -> None:
        if not isinstance(record_id, str):
            return
        if record_id in self.known:
            self.found.error("duplicate_id", f"two records have the id {record_id}", *place)
        if record_id in self.gone:
            self.found.error("not_gone", f"the record {record_id} is listed as removed, but is in the archive", *place)
        self.known.add(record_id)

    def _follow(self, record: JsonObject, place: DocumentPlace) -> None:
        if "supersedes" in record:
            self._links.append(("supersedes", record["supersedes"], place))
        self._links += [("related_records", link["id"], place) for link in record.get("related_records", [])]

    def _check_vectors(self, record: JsonObject, place: DocumentPlace) -> None:
        for embedding in record.get("embeddings", []):
            self.has_embeddings = True
            if len(embedding["vector"]) != embedding["dimensions"]:
                message = (
                    f"a vector has {len(embedding['vector'])} numbers, but declares {embedding['dimensions']} "
                    "dimensions"
                )
                self.found.error("dimensions", message, *place)

    def _check_day(self, record: JsonObject, partition: Partition, place: DocumentPlace) -> None:
        day = partitions.day_of(memory_records.created_at(record))
        if not partitions.covers_day(partition, day):
            message = (
                f"the record was created on {day}, outside the period {partition.first} to "
                f"{partitions.end_of(partition)} of its partition"
            )
            self.found.report(self.ours, "outside_partition", message, *place)
