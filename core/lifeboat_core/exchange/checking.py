"""`lifeboat alf validate`: a file against its own format, whichever that is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lifeboat_alf import layout
from lifeboat_alf.delta_reader import DeltaReader
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.validate import Finding, Validation, validate
from lifeboat_core.exchange import encrypted
from lifeboat_core.exchange.conversion_source import ALF, decrypted, is_zip, refuse_irregular
from lifeboat_core.exchange.encrypted import Archive
from lifeboat_core.home.context import Context
from lifeboat_core.restore.scratch import scratch_folder
from lifeboat_core.state import state_documents
from lifeboat_formats.interchange import registry
from lifeboat_formats.interchange.contract import Format
from lifeboat_formats.interchange.errors import InterchangeError, SourceRefused, UnknownFormat
from lifeboat_keys import opened_by


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in a file of a format."""

    format_name: str
    found: Validation

    @property
    def ok(self) -> bool:
        return self.found.ok

    @property
    def errors(self) -> list[Finding]:
        return self.found.errors

    @property
    def warnings(self) -> list[Finding]:
        return self.found.warnings

    def to_json(self) -> JsonObject:
        return {**self.found.to_json(), "format": self.format_name}


def check(context: Context, file: Path, passphrase: str | None, *, strict: bool) -> Checked:
    """Everything that is wrong with an archive, a delta, or a file of another memory system, encrypted or not. What is
    of no known format is checked as an archive. `strict` makes warnings count. Raises what `encrypted.opened` does."""
    refuse_irregular(file)
    with encrypted.opened(context, file, passphrase) as archive, scratch_folder(context, "validate") as scratch:
        if is_zip(archive):
            found = validate(archive.stream, strict=strict)
            if not found.error_count:
                _check_keys(archive, found)
            return Checked(ALF, found)
        plain = decrypted(context, archive, scratch) if archive.is_encrypted else file
        try:
            chosen = registry.of_source(str(plain))
        except UnknownFormat:
            return Checked(ALF, validate(archive.stream, strict=strict))
        return Checked(chosen.name, _foreign(chosen, plain, strict=strict))


def _check_keys(archive: Archive, found: Validation) -> None:
    """Warn of credentials that no key in the file opens: a delta that brings credentials brings the keys, too."""
    for label in _unopened_in_delta(archive) if archive.is_delta else _unopened_in_snapshot(archive):
        found.warn("no_key", f"no key in the file opens the credential {label}", layout.CREDENTIALS)


def _unopened_in_delta(archive: Archive) -> list[str]:
    with DeltaReader(archive.stream) as delta:
        item = next((each for each in delta.items if each.path == layout.CREDENTIALS), None)
        body = None if item is None or not item.entry else delta.read(item.entry)
        return opened_by.find_unopened(state_documents.credentials(state_documents.read(body)), delta.keys)


def _unopened_in_snapshot(archive: Archive) -> list[str]:
    with SnapshotReader(archive.stream) as snapshot:
        return opened_by.find_unopened(state_documents.credentials_of(snapshot).values(), snapshot.keys)


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
