"""Errors of the format, and the root of every error a user may see.

LifeboatError                 any error
+-- AlfError
    +-- ArchiveError          the archive or one of its entries cannot be read
    |   +-- UnsafeEntry       an entry is a link, occurs twice, or its name leads out of the folder
    |   +-- BadJson           not strict JSON (duplicate keys, NaN, lone surrogates, 1e400)
    |   +-- BadDocument       valid JSON whose fields do not fit the format
    +-- ApplyError            a delta that does not fit
    |   +-- UnknownOperation
    +-- PurgeError
    |   +-- RedactionInvalid  the purge record is malformed, or belongs to other content
    +-- SignatureError        the digest or signature of a state is not valid
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Self


class LifeboatError(Exception):
    """Root of the tree: says what happened (`title`), where and why (`message`), and which command helps (`fix`).

    `code` is stable and used by scripts; `exit_status` is 1 (failed) or 3 (refused by a guard). `again` are options
    with which the failed command works; a command line prints the whole command as the fix.
    """

    code = "failed"
    title = "The command failed"
    fix: str | None = None
    retryable = False
    exit_status = 1
    again: tuple[str, ...] = ()

    def __init__(self, message: str, *, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if fix is not None:
            self.fix = fix

    def with_message(self, message: str, *, fix: str | None = None) -> Self:
        """Return the same error, with its code, title and exit status, that says something else."""
        changed = copy.copy(self)
        changed.message, changed.args = message, (message,)
        changed.fix = fix if fix is not None else self.fix
        return changed

    def with_again(self, *options: str) -> Self:
        """Return the error with a fix that is the failed command with more options."""
        changed = self.with_message(self.message, fix=f"run the same command with {' '.join(options)}")
        changed.again = options
        return changed


class ErrorCode:
    """One code of an error class, for errors that no handler needs to tell apart by class.

    A class attribute. Calling it makes an error of that class. Attributes that are not given are those of the class.
    """

    def __init__(
        self,
        code: str,
        title: str | None = None,
        *,
        meaning: str = "",
        fix: str | None = None,
        retryable: bool | None = None,
        exit_status: int | None = None,
    ) -> None:
        self.code = code
        self.meaning = meaning
        given = {"title": title, "fix": fix, "retryable": retryable, "exit_status": exit_status}
        self._given = {name: value for name, value in given.items() if value is not None}

    def __set_name__(self, owner: type[LifeboatError], name: str) -> None:
        self.owner = owner

    def __getattr__(self, name: str) -> Any:
        """Return title, fix, retryable or exit_status."""
        if name.startswith("_") or name == "owner":
            raise AttributeError(name)
        return self._given[name] if name in self._given else getattr(self.owner, name)

    def __call__(self, message: str, **more: Any) -> LifeboatError:
        error = self.owner(message, **more)
        error.code = self.code
        for name, value in self._given.items():
            if name != "fix" or more.get("fix") is None:
                setattr(error, name, value)
        return error


def list_codes(root: type[LifeboatError] = LifeboatError) -> Iterator[type[LifeboatError] | ErrorCode]:
    """Yield every loaded error class below `root`, a parent before its children, each followed by its codes."""
    yield root
    yield from (value for value in vars(root).values() if isinstance(value, ErrorCode))
    for child in root.__subclasses__():
        yield from list_codes(child)


class AlfError(LifeboatError):
    """A fault of data in the Agent Life Format."""

    code = "alf"
    title = "The data is not in valid Agent Life Format"


class ArchiveError(AlfError):
    """A file that cannot be read. `entry` is the ZIP entry and `line` the 1-based line in it, where known. `detail` is
    the message without them."""

    code = "archive"
    title = "The archive cannot be read"
    fix = "lifeboat alf validate FILE"

    NOT_AN_ARCHIVE = ErrorCode(
        "not_an_archive",
        "The file is not a readable archive",
        meaning="the file is not a ZIP file, or is incomplete or damaged",
    )
    TOO_LARGE = ErrorCode(
        "too_large",
        "The archive is larger than the limits allow",
        meaning="the archive has too many entries, or a size, a line length or a compression ratio exceeds its limit",
    )
    MISSING_ENTRY = ErrorCode(
        "missing_entry", "The archive lacks an entry", meaning="an entry that the manifest lists is missing"
    )
    CHECKSUM = ErrorCode(
        "checksum",
        "The archive differs from its manifest",
        meaning="the content of an entry does not match the digest in the manifest",
    )
    UNSUPPORTED_VERSION = ErrorCode(
        "unsupported_version",
        "The archive was written for another major version of the format",
        meaning="the archive has a newer major version of the format than this program can read",
    )

    def __init__(
        self, message: str, *, entry: str | None = None, line: int | None = None, fix: str | None = None
    ) -> None:
        where = entry if line is None else f"{entry}, line {line}"
        super().__init__(message if where is None else f"{where}: {message}", fix=fix)
        self.detail = message
        self.entry = entry
        self.line = line


class UnsafeEntry(ArchiveError):
    code = "unsafe_entry"
    title = "The archive contains an entry that is not safe to read"


class BadJson(ArchiveError):
    code = "bad_json"
    title = "The archive contains text that is not valid JSON"


class BadDocument(ArchiveError):
    code = "bad_document"
    title = "A document in the archive has invalid content"


class ApplyError(AlfError):
    code = "apply"
    title = "The delta cannot be applied to this archive"

    WRONG_AGENT = ErrorCode("wrong_agent")
    BASE_MISMATCH = ErrorCode("base_mismatch")


class UnknownOperation(ApplyError):
    code = "unknown_operation"


class PurgeError(AlfError):
    code = "purge"
    title = "The purge is not possible"


class RedactionInvalid(PurgeError):
    """A redaction that is malformed, belongs to another agent, or does not fit the bytes that it names."""

    code = "redaction_invalid"
    title = "The record of a purge is not valid"
    fix = "lifeboat receipts list"
    exit_status = 3


class SignatureError(AlfError):
    """A state that differs from what its signature covers, or that another key signed."""

    code = "signature"
    title = "The content differs from the content that was signed"
    fix = "lifeboat verify AGENT"
    exit_status = 3
