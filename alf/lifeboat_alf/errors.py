"""Errors of the format, and the root of every error a user may see.

LifeboatError                 code, title, message, fix, retryable, exit_status
+-- AlfError
    +-- ArchiveError          a file that cannot be read; names entry and line
    |   +-- NotAnArchive      not a ZIP, truncated, damaged
    |   +-- UnsafeEntry       absolute, climbing out, duplicate, a link entry
    |   +-- TooLarge          a bomb: too many entries, ratio, size, line over the limit
    |   +-- BadJson           not strict JSON (duplicate keys, NaN, lone surrogates, 1e400)
    |   +-- MissingEntry      an entry that the manifest names is not there
    |   +-- ChecksumMismatch  bytes differ from what the manifest lists
    |   +-- UnsupportedVersion  a newer major version of the format
    |   +-- BadDocument       right JSON, wrong shape
    +-- ApplyError            a delta that does not fit
    |   +-- WrongAgent
    |   +-- BaseMismatch
    |   +-- UnknownOperation
    +-- PurgeError
    |   +-- RedactionInvalid  a redaction that is none, or not of these bytes
    +-- SignatureError        a state whose digest or signature does not hold
"""

from __future__ import annotations


class LifeboatError(Exception):
    """Root of the tree: says what happened (`title`), where and why (`message`), and which command helps (`fix`).

    `code` is stable and used by scripts; `exit_status` is 1 (failed) or 3 (refused by a guard).
    """

    code = "failed"
    title = "That did not work"
    fix: str | None = None
    retryable = False
    exit_status = 1

    def __init__(self, message: str, *, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if fix is not None:
            self.fix = fix


class AlfError(LifeboatError):
    """Anything wrong with ALF data."""

    code = "alf"
    title = "This is not usable Agent Life Format data"


class ArchiveError(AlfError):
    """A file that cannot be read. `entry` is the ZIP entry and `line` the 1-based line in it, where known. `detail` is
    the message without them."""

    code = "archive"
    title = "The archive cannot be read"
    fix = "lifeboat alf validate FILE"

    def __init__(
        self, message: str, *, entry: str | None = None, line: int | None = None, fix: str | None = None
    ) -> None:
        where = entry if line is None else f"{entry}, line {line}"
        super().__init__(message if where is None else f"{where}: {message}", fix=fix)
        self.detail = message
        self.entry = entry
        self.line = line


class NotAnArchive(ArchiveError):
    code = "not_an_archive"
    title = "The file is not a readable archive"


class UnsafeEntry(ArchiveError):
    code = "unsafe_entry"
    title = "The archive holds an entry that is not safe to read"


class TooLarge(ArchiveError):
    code = "too_large"
    title = "The archive is larger than its limits allow"


class BadJson(ArchiveError):
    code = "bad_json"
    title = "The archive holds text that is not strict JSON"


class MissingEntry(ArchiveError):
    code = "missing_entry"
    title = "The archive lacks an entry"


class ChecksumMismatch(ArchiveError):
    code = "checksum"
    title = "The archive is not what its manifest lists"


class UnsupportedVersion(ArchiveError):
    code = "unsupported_version"
    title = "The archive was written for another major version of the format"


class BadDocument(ArchiveError):
    code = "bad_document"
    title = "A document of the archive has the wrong shape"


class ApplyError(AlfError):
    code = "apply"
    title = "The delta does not fit"


class WrongAgent(ApplyError):
    code = "wrong_agent"


class BaseMismatch(ApplyError):
    code = "base_mismatch"


class UnknownOperation(ApplyError):
    code = "unknown_operation"


class PurgeError(AlfError):
    code = "purge"
    title = "The purge cannot be done"


class RedactionInvalid(PurgeError):
    """A redaction that is malformed, belongs to another agent, or does not fit the bytes that it names."""

    code = "redaction_invalid"
    title = "The record of a purge is not what it has to be"
    fix = "lifeboat receipts list"
    exit_status = 3


class SignatureError(AlfError):
    """A state that differs from what its signature covers, or that another key signed."""

    code = "signature"
    title = "This state is not what was signed"
    fix = "lifeboat verify AGENT"
    exit_status = 3
