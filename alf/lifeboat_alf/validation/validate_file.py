"""Validation of a file: every finding at once, where reading would stop at the first (ALF §10.1).

    validate(Path("ada.alf")).ok

Unknown fields and entries are fine, unknown enum values, foreign ids and dangling links are warnings, a wrong type,
a wrong figure, a byte that is not what the manifest lists are errors. Secrets in plain text are not looked for here.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_documents import read_object
from lifeboat_alf.archive.zip_container import ArchiveReader, ContainerLimits
from lifeboat_alf.errors import AlfError, MissingEntry
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.validation import delta_checks, snapshot_checks
from lifeboat_alf.validation.validation_findings import CAP, Validation, ValidationFinding

__all__ = ["CAP", "Validation", "ValidationFinding", "validate_archive"]


def validate_archive(path: Path | BinaryIO, strict: bool = False, limits: ContainerLimits | None = None) -> Validation:
    """Validate a snapshot or a delta, whichever it is. `strict` makes warnings count as errors, `limits`
    bound what is unpacked.

    A file that is no archive is a finding too; a path that is not there raises OSError.
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
                raise MissingEntry("the file has no manifest", entry=archive_layout.MANIFEST)
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
    """What the reader itself checks, the state digest among it."""
    with SnapshotReader(source, limits) as reader:
        reader.check()
