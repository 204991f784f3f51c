"""Check a file against its own format (`lifeboat alf validate`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.delta_reader import DeltaReader
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.validation.validate_file import Validation, ValidationFinding, validate_archive
from lifeboat_core.exchange import encrypted_archives
from lifeboat_core.exchange.conversion_source import ALF, decrypt_archive, is_zip_archive, refuse_irregular_file
from lifeboat_core.exchange.encrypted_archives import Archive
from lifeboat_core.home.context import Context
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_core.state import state_documents
from lifeboat_formats.interchange import format_registry
from lifeboat_formats.interchange.contract import Format
from lifeboat_formats.interchange.errors import InterchangeError, SourceRefused, UnknownFormat
from lifeboat_keys.signed import unopened_credentials


@dataclass(frozen=True, slots=True)
class FileCheck:
    """The result of checking a file."""

    format_name: str
    found: Validation

    @property
    def ok(self) -> bool:
        return self.found.ok

    @property
    def errors(self) -> list[ValidationFinding]:
        return self.found.errors

    @property
    def warnings(self) -> list[ValidationFinding]:
        return self.found.warnings

    def to_json(self) -> JsonObject:
        return {**self.found.to_json(), "format": self.format_name}


def check_file(context: Context, file: Path, passphrase: str | None, *, strict: bool) -> FileCheck:
    """Return everything that is wrong with an archive, a delta, or a file of another memory system, encrypted or not. A
    file of unknown format is checked as an archive. `strict` makes warnings count. Raises what `open_archive` does."""
    refuse_irregular_file(file)
    with (
        encrypted_archives.open_archive(context, file, passphrase) as archive,
        make_scratch_folder(context, "validate") as scratch,
    ):
        if is_zip_archive(archive):
            found = validate_archive(archive.stream, strict=strict)
            if not found.error_count:
                _check_keys(archive, found)
            return FileCheck(ALF, found)
        plain = decrypt_archive(context, archive, scratch) if archive.is_encrypted else file
        try:
            chosen = format_registry.detect_format(str(plain))
        except UnknownFormat:
            return FileCheck(ALF, validate_archive(archive.stream, strict=strict))
        return FileCheck(chosen.name, _foreign(chosen, plain, strict=strict))


def _check_keys(archive: Archive, found: Validation) -> None:
    """Warn of credentials that no key in the file opens; a delta with credentials has to bring the keys too."""
    for label in _unopened_in_delta(archive) if archive.is_delta else _unopened_in_snapshot(archive):
        found.warn("no_key", f"the file contains no key that opens the credential {label}", archive_layout.CREDENTIALS)


def _unopened_in_delta(archive: Archive) -> list[str]:
    with DeltaReader(archive.stream) as delta:
        item = next((each for each in delta.items if each.path == archive_layout.CREDENTIALS), None)
        body = None if item is None or not item.entry else delta.read(item.entry)
        return unopened_credentials.find_unopened(
            state_documents.list_credentials(state_documents.parse_document(body)), delta.keys
        )


def _unopened_in_snapshot(archive: Archive) -> list[str]:
    with SnapshotReader(archive.stream) as snapshot:
        return unopened_credentials.find_unopened(state_documents.load_credentials(snapshot).values(), snapshot.keys)


def _foreign(chosen: Format, plain: Path, *, strict: bool) -> Validation:
    found = Validation(strict)
    try:
        for finding in chosen.check(str(plain), strict=strict):
            report = found.error if finding.is_error else found.warn
            report(finding.code, finding.text, finding.where or plain.name, finding.line)
    except SourceRefused as error:
        found.error(error.format_code or error.code, error.message, error.where or plain.name)
    except InterchangeError as error:
        found.error(error.code, error.message)
    return found
