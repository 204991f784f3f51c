"""Validate a file and report every finding at once, where reading stops at the first error (ALF §10.1).

    validate(Path("ada.alf")).ok

Unknown fields and entries are fine. Unknown enum values, foreign ids and dangling links are warnings. Wrong types,
wrong figures and bytes that differ from the manifest are errors. Secrets in plain text are not searched for.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_documents import read_object
from lifeboat_alf.archive.zip_container import ArchiveReader, ContainerLimits
from lifeboat_alf.errors import AlfError, ArchiveError
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.validation import delta_checks, snapshot_checks
from lifeboat_alf.validation.validation_findings import CAP, Validation, ValidationFinding

__all__ = ["CAP", "Validation", "ValidationFinding", "validate_archive"]


def validate_archive(path: Path | BinaryIO, strict: bool = False, limits: ContainerLimits | None = None) -> Validation:
    """Validate a snapshot or a delta. `strict` counts warnings as errors; `limits` bound what is unpacked.

    A file that is not an archive is a finding too; a missing path raises OSError.
    """
    found = Validation(strict)
    if not isinstance(path, Path):
        _validate(path, found, limits)
        return found
    with path.open("rb") as source:
        _validate(source, found, limits)
    return found


def _validate(source: BinaryIO, found: Validation, limits: ContainerLimits | None) -> None:
    try:
        with ArchiveReader(source, limits) as archive:
            name = archive_layout.MANIFEST if archive_layout.MANIFEST in archive else archive_layout.DELTA_MANIFEST
            if name not in archive:
                raise ArchiveError.MISSING_ENTRY("the archive contains no manifest", entry=archive_layout.MANIFEST)
            manifest = read_object(archive.read(name), entry=name)
            if "changes" in manifest or name == archive_layout.DELTA_MANIFEST:
                delta_checks.check_delta(archive, source, manifest, found, limits)
                return
            snapshot_checks.check_snapshot(archive, manifest, found)
        if not found.error_count:
            _read_whole(source, limits)
    except AlfError as error:
        found.failure(error)


def _read_whole(source: BinaryIO, limits: ContainerLimits | None) -> None:
    """Run the reader's own checks, including the state digest."""
    with SnapshotReader(source, limits) as reader:
        reader.check()
