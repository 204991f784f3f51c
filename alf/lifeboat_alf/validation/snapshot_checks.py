"""Check a snapshot by itself: every field of its manifest, its documents and its records (ALF §4.2)."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, field

from lifeboat_alf.archive import archive_layout, document_types
from lifeboat_alf.archive.archive_documents import read_object
from lifeboat_alf.archive.snapshot_manifest import check_version, entries_checksum
from lifeboat_alf.archive.zip_container import ArchiveReader
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import AlfError, ArchiveError
from lifeboat_alf.memory import partitions
from lifeboat_alf.redaction import bundle_redactions
from lifeboat_alf.states.agent_state import Partition
from lifeboat_alf.validation import layer_checks, shape_checks, vector_checks
from lifeboat_alf.validation.record_checks import RecordChecks
from lifeboat_alf.validation.shape_checks import DocumentPlace
from lifeboat_alf.validation.validation_findings import Validation

_CHUNK = 1 << 18


@dataclass(slots=True)
class _SnapshotCheck:
    """State of checking one snapshot."""

    archive: ArchiveReader
    manifest: JsonObject
    found: Validation
    records: RecordChecks
    digests: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    documents: dict[str, JsonObject] = field(default_factory=dict)

    @property
    def layers(self) -> JsonObject:
        listed: JsonObject = self.manifest["layers"]
        return listed

    def fact(self, name: str, stated: object, real: object, entry: str = archive_layout.MANIFEST) -> None:
        """Check a figure that the manifest may give."""
        if stated is not None and stated != real:
            self.found.error(
                "wrong_fact", f"the manifest states {name} = {stated!r}, but the content gives {real!r}", entry
            )


def check_snapshot(archive: ArchiveReader, manifest: JsonObject, found: Validation) -> None:
    """Check an open snapshot. Everything readable is checked, regardless of other errors."""
    if not check_head(found, manifest, document_types.Manifest):
        return
    ours = (
        any(name.startswith(archive_layout.PARTITIONS) for name in archive.names()) or archive_layout.FILES in archive
    )
    run = _SnapshotCheck(archive, manifest, found, RecordChecks(found, manifest["agent"]["id"], ours))
    run.digests, run.sizes = measure_entries(archive, found)
    check_entry_map(found, manifest, run.digests)
    _check_redactions(run)
    _check_layers(run)
    _check_memory(run)
    _check_history(run)
    _check_raw(run)
    run.records.finish()


def check_head(
    found: Validation, manifest: JsonObject, kind: type[document_types.Manifest] | type[document_types.DeltaManifest]
) -> bool:
    """Check version and shape of a manifest."""
    try:
        for warning in check_version(manifest.get("alf_version")):
            found.warn("draft_version", warning, archive_layout.MANIFEST)
    except ArchiveError as error:
        found.failure(error)
        return False
    return shape_checks.check_shape(found, manifest, kind, DocumentPlace(archive_layout.MANIFEST))


def measure_entries(archive: ArchiveReader, found: Validation) -> tuple[dict[str, str], dict[str, int]]:
    """Return SHA-256 and size of every readable entry; report the others."""
    digests: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for name in archive.names():
        digest, size = hashlib.sha256(), 0
        try:
            with archive.open(name) as stream:
                while chunk := stream.read(_CHUNK):
                    digest.update(chunk)
                    size += len(chunk)
        except ArchiveError as error:
            found.failure(error)
            continue
        digests[name], sizes[name] = digest.hexdigest(), size
    return digests, sizes


def check_entry_map(found: Validation, manifest: JsonObject, digests: dict[str, str]) -> None:
    """Check `entries` and `checksum` against the content. A foreign archive may lack them."""
    entries = manifest.get("entries")
    if entries is None:
        return
    if manifest.get("checksum") != entries_checksum(entries):
        found.error(
            "checksum", "the checksum does not match the list of entries in the manifest", archive_layout.MANIFEST
        )
    present = digests.keys() - {archive_layout.MANIFEST, archive_layout.DELTA_MANIFEST}
    for name in sorted(entries.keys() - digests.keys()):
        found.error("missing_entry", "the manifest lists this entry, but the archive does not contain it", name)
    for name in sorted(present - entries.keys()):
        found.error("checksum", "the archive contains this entry, but the manifest does not list it", name)
    for name in sorted(present & entries.keys()):
        if entries[name] != digests[name]:
            found.error("checksum", "the content of the entry does not match its digest in the manifest", name)


def _check_redactions(run: _SnapshotCheck) -> None:
    document = _document(run, archive_layout.REDACTIONS)
    try:
        run.records.take_purged(bundle_redactions.decode_bundle_redactions(document, str(run.manifest["agent"]["id"])))
    except AlfError as error:
        run.found.failure(error)


# Layers ---------------------------------------------------------------------------------------------------------


def _check_layers(run: _SnapshotCheck) -> None:
    for name, (path, _) in layer_checks.KINDS.items():
        entry = run.layers.get(name, {}).get("file", path)
        document = _document(run, entry)
        if _is_emptied(run, document, entry):
            continue
        if document is not None:
            document = layer_checks.without_outer_object(run.found, path, document, entry)
        if document is not None and layer_checks.check_layer(run.found, name, document, entry):
            run.documents[name] = document
            layer_checks.check_owners(run.found, name, document, run.records.agent_id, entry)
            _check_layer_facts(run, name, document)
        elif name in run.layers and document is None and run.layers[name].get("count") != 0:
            run.found.error(
                "missing_entry", f"the manifest lists this file as {name}, but the archive does not contain it", entry
            )
    identity, credentials = run.documents.get("identity", {}), run.documents.get("credentials", {})
    layer_checks.check_capabilities(run.found, identity, credentials, archive_layout.IDENTITY)


def _document(run: _SnapshotCheck, entry: str) -> JsonObject | None:
    """Return a JSON document; None for a missing or unreadable one."""
    if entry not in run.digests:
        return None
    try:
        return read_object(run.archive.read(entry), entry=entry)
    except ArchiveError as error:
        run.found.failure(error)
        return {}


def _is_emptied(run: _SnapshotCheck, document: JsonObject | None, entry: str) -> bool:
    """Return whether a purge left an empty document, because it could not be cut and still be read."""
    emptied = document == {} and archive_layout.REDACTIONS in run.digests
    if emptied:
        run.found.warn("purged", "a purge removed the whole content of the document", entry)
    return emptied


def _check_layer_facts(run: _SnapshotCheck, name: str, document: JsonObject) -> None:
    listed = run.layers.get(name)
    if listed is None:
        run.found.warn(
            "not_listed",
            f"the archive contains a document for {name}, but the manifest does not list it",
            archive_layout.MANIFEST,
        )
        return
    if name == "identity":
        run.fact("layers.identity.version", listed["version"], document["version"])
    elif name == "attachments":
        for key, real in layer_checks.count_artifacts(document).items():
            run.fact(f"layers.attachments.{key}", listed.get(key), real)
        for item in document["attachments"]:
            layer_checks.check_attachment(run.found, item, run.digests, run.sizes)
    else:
        run.fact(f"layers.{name}.count", listed["count"], len(document[name]))


def _check_history(run: _SnapshotCheck) -> None:
    for name in run.archive.names():
        if not name.startswith(archive_layout.HISTORY) or not name.endswith(".json"):
            continue
        document = _document(run, name)
        kind = (
            document_types.Identity
            if name.startswith(archive_layout.HISTORY + "identity/")
            else document_types.PrincipalProfile
        )
        if document is not None and not _is_emptied(run, document, name):
            shape_checks.check_shape(run.found, document, kind, DocumentPlace(name))


# Memory ---------------------------------------------------------------------------------------------------------


def _check_memory(run: _SnapshotCheck) -> None:
    memory = run.layers.get("memory", {})
    listed = memory.get("partitions", [])
    ordered = partitions.from_head({"partitions": listed})
    if [item["file"] for item in listed] != [partition.file for partition in ordered]:
        message = "the partitions are not listed in the order of their dates"
        run.found.report(run.records.ours, "order", message, archive_layout.MANIFEST)
    _check_ranges(run, ordered)
    counts = [_check_partition(run, item) for item in listed]
    run.fact("layers.memory.record_count", memory.get("record_count"), sum(counts))
    has_vectors = run.records.has_embeddings or any(name.startswith(archive_layout.EMBEDDINGS) for name in run.digests)
    run.fact("layers.memory.has_embeddings", memory.get("has_embeddings"), has_vectors)
    vector_checks.check_vectors(run.found, run.archive, run.sizes, run.records.known)
    for name in run.archive.names():
        if name.startswith(archive_layout.PARTITIONS) and name not in {item["file"] for item in listed}:
            run.found.error("not_listed", "the manifest does not list this partition", name)
    _check_index(run, memory)
    if "attachments" in run.documents:
        layer_checks.check_references(run.found, run.documents["attachments"], run.records.known)


def _check_ranges(run: _SnapshotCheck, listed: list[Partition]) -> None:
    ours = run.records.ours
    for partition in listed:
        if partition.sealed and partition.last is None:
            run.found.report(
                ours,
                "sealed_without_end",
                f"the partition {partition.file} is marked as complete (sealed), but has no end date",
                archive_layout.MANIFEST,
            )
        if not partition.sealed and partition.last is not None:
            run.found.warn(
                "open_with_end",
                f"the partition {partition.file} has an end date, but is not marked as complete (sealed)",
                archive_layout.MANIFEST,
            )
        if partitions.end_of(partition).isoformat() < partition.first:
            run.found.error("range", f"the partition {partition.file} ends before it begins", archive_layout.MANIFEST)
    for earlier, later in itertools.pairwise(listed):
        if partitions.end_of(earlier).isoformat() >= later.first:
            run.found.report(
                ours,
                "overlap",
                f"the periods of the partitions {later.file} and {earlier.file} overlap",
                archive_layout.MANIFEST,
            )
        if not earlier.sealed:
            run.found.warn(
                "open_behind",
                f"the partition {earlier.file} is not marked as complete (sealed), although the later partition "
                f"{later.file} exists",
                archive_layout.MANIFEST,
            )


def _check_partition(run: _SnapshotCheck, item: JsonObject) -> int:
    """Check every record of a partition and return their number."""
    file, count = item["file"], 0
    if file not in run.digests:
        if item["record_count"]:
            run.found.error(
                "missing_entry",
                "the manifest lists this file as a partition, but the archive does not contain it",
                file,
            )
        return 0
    partition = partitions.from_head({"partitions": [item]})[0]
    for number, line in run.archive.lines(file):
        if line.strip():
            count += 1
            check_line(run.records, line, DocumentPlace(file, number), partition)
    run.fact("record_count", item["record_count"], count, file)
    if item.get("checksum", f"sha256:{run.digests[file]}") != f"sha256:{run.digests[file]}":
        run.found.error("checksum", "the content of the partition does not match its checksum", file)
    return count


def check_line(checks: RecordChecks, line: bytes, place: DocumentPlace, partition: Partition | None = None) -> None:
    """Decode and check one record line strictly."""
    try:
        checks.add(json_codec.decode_object(line, entry=place.entry, line=place.line), place, partition)
    except ArchiveError as error:
        checks.found.failure(error)


def _check_index(run: _SnapshotCheck, memory: JsonObject) -> None:
    entry = memory.get("index_file", archive_layout.MEMORY_INDEX)
    index = _document(run, entry)
    if index is None:
        if memory:
            run.found.warn("no_index", "the index of the memories is missing", entry)
        return
    files = index.get("files", {})
    if not isinstance(files, dict) or not all(isinstance(listed, list) for listed in files.values()):
        run.found.error("shape", "the field `files` must map file names to lists", entry)
        return
    for path, listed in files.items():
        if path not in run.digests:
            run.found.error(
                "missing_entry",
                f"the index lists the memories of the file {path}, which is missing from the archive",
                entry,
            )
        for missing in sorted({str(item) for item in listed} - run.records.known):
            run.found.error(
                "unknown_record",
                f"the index lists the record {missing} for the file {path}, but the record is missing from the archive",
                entry,
            )


def _check_raw(run: _SnapshotCheck) -> None:
    trees = {name.split("/")[1].removesuffix("-home") for name in run.digests if name.startswith(archive_layout.RAW)}
    listed = set(run.manifest.get("raw_sources", []))
    for missing in sorted(trees - listed):
        run.found.warn(
            "not_listed", f"the field `raw_sources` does not list the runtime {missing}", archive_layout.MANIFEST
        )
    run.fact("layers.memory.has_raw_source", run.layers.get("memory", {}).get("has_raw_source"), bool(trees))
