"""Validation of a file: every finding at once, where reading would stop at the first (ALF §10.1).

    validate(Path("ada.alf")).ok

Unknown fields and entries are fine, unknown enum values, foreign ids and dangling links are warnings, a wrong type,
a wrong figure, a byte that is not what the manifest lists are errors. Secrets in plain text are not looked for here.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from lifeboat_alf import layout
from lifeboat_alf.container import ArchiveReader, Limits
from lifeboat_alf.documents import read_object
from lifeboat_alf.errors import AlfError, MissingEntry
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.validation import deltas, snapshots
from lifeboat_alf.validation.findings import CAP, Finding, Validation

__all__ = ["CAP", "Finding", "Validation", "validate"]


def validate(path: Path | BinaryIO, strict: bool = False, limits: Limits | None = None) -> Validation:
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


def _validate(source: BinaryIO, found: Validation, limits: Limits | None) -> None:
    try:
        with ArchiveReader(source, limits) as archive:
            name = layout.MANIFEST if layout.MANIFEST in archive else layout.DELTA_MANIFEST
            if name not in archive:
                raise MissingEntry("the file has no manifest", entry=layout.MANIFEST)
            manifest = read_object(archive.read(name), entry=name)
            if "changes" in manifest or name == layout.DELTA_MANIFEST:
                deltas.check(archive, source, manifest, found, limits)
                return
            snapshots.check(archive, manifest, found)
        if not found.error_count:
            _read_whole(source, limits)
    except AlfError as error:
        found.failure(error)


def _read_whole(source: BinaryIO, limits: Limits | None) -> None:
    """What the reader itself checks, the state digest among it."""
    with SnapshotReader(source, limits) as reader:
        reader.check()
