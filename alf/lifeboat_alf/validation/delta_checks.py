"""Check a delta by itself: manifests, documents and record lines (ALF §4.3). `applied_state` checks it against a
base."""

from __future__ import annotations

from typing import BinaryIO

from lifeboat_alf.archive import archive_layout, document_types
from lifeboat_alf.archive.archive_documents import read_object
from lifeboat_alf.archive.zip_container import ArchiveReader, ContainerLimits
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.delta_reader import DeltaReader
from lifeboat_alf.errors import AlfError, ArchiveError
from lifeboat_alf.validation import layer_checks
from lifeboat_alf.validation.record_checks import RecordChecks
from lifeboat_alf.validation.shape_checks import DocumentPlace
from lifeboat_alf.validation.snapshot_checks import check_entry_map, check_head, measure_entries
from lifeboat_alf.validation.validation_findings import Validation


def check_delta(
    archive: ArchiveReader, source: BinaryIO, manifest: JsonObject, found: Validation, limits: ContainerLimits | None
) -> None:
    """Check an open delta. `source` is the same file, for the delta reader."""
    if not check_head(found, manifest, document_types.DeltaManifest):
        return
    digests, _ = measure_entries(archive, found)
    check_entry_map(found, manifest, digests)
    if found.error_count:
        return
    try:
        with DeltaReader(source, limits) as delta:
            _check_content(delta, found)
    except AlfError as error:
        found.failure(error)


def _check_content(delta: DeltaReader, found: Validation) -> None:
    checks = RecordChecks(found, delta.agent_id, ours=not delta.foreign)
    checks.take_purged(delta.purged)
    entry = str(delta.memory.get("file"))
    for line in delta.records(skip_unknown=delta.foreign):
        checks.add(
            json_codec.decode_object(line.line, entry=entry, line=line.number), DocumentPlace(entry, line.number)
        )
    _check_places(delta, found)
    for name, (path, _) in layer_checks.KINDS.items():
        if path in delta.names() and path != archive_layout.ATTACHMENTS:
            _check_layer(delta, found, name, path)


def _check_layer(delta: DeltaReader, found: Validation, name: str, path: str) -> None:
    try:
        document = read_object(delta.read_as_written(path), entry=path)
    except ArchiveError as error:
        found.failure(error)
        return
    document = layer_checks.without_outer_object(found, path, document, path)
    stated = delta.changes.get(name, {}).get("new_version")
    if not layer_checks.check_layer(found, name, document, path):
        return
    layer_checks.check_owners(found, name, document, delta.agent_id, path)
    if stated not in (None, document.get("version")):
        found.error(
            "wrong_fact",
            f"the field `new_version` is {stated}, but the identity has the version {document['version']}",
            archive_layout.MANIFEST,
        )


def _check_places(delta: DeltaReader, found: Validation) -> None:
    """Check that the delta states exactly one place for every line that is not an update."""
    if delta.foreign:
        return
    wanted = sum(line.operation != "update" for line in delta.records())
    stated = sum(1 for _ in delta.places())
    if wanted != stated:
        found.error(
            "wrong_fact", f"the delta states {stated} positions for {wanted} new records", archive_layout.MANIFEST
        )
