"""Errors of the formats of other systems.

AdapterError
+-- InterchangeError
    +-- UnknownFormat      no format has this name, or no format can read the source
    +-- SourceRefused      a source is not what its format asks for; `format_code` is the format's own word for it
    +-- NoInstance         the format is one of files, or one of running instances, and the other was asked for
    +-- InstanceFailed     a running instance did not answer, or answered with an error
    +-- SecretsFound       the output would contain text that looks like a secret
    +-- SanitizerFailed    a text could not be scanned, and was not written
    +-- ExtraMissing       a library that the format needs is not installed
"""

from __future__ import annotations

from lifeboat_adapters.errors import AdapterError


class InterchangeError(AdapterError):
    code = "interchange"
    title = "The conversion is not possible"


class UnknownFormat(InterchangeError):
    code = "unknown_format"
    title = "Unknown file format"
    fix = "lifeboat alf convert --help"


class SourceRefused(InterchangeError):
    """The source is damaged or of another format. `format_code` is the format's own code, `where` a line or a name in
    the source, `detail` the message without that place."""

    code = "source_refused"
    title = "The source is damaged or has another format"

    def __init__(self, message: str, *, format_code: str = "", where: str = "", fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.detail = message
        self.format_code = format_code
        self.where = where


class NoInstance(InterchangeError):
    code = "no_instance"
    title = "This format cannot be written to this target"


class InstanceFailed(InterchangeError):
    code = "instance_failed"
    title = "The other memory system did not carry out the request"
    retryable = True


class SecretsFound(InterchangeError):
    code = "secrets_found"
    title = "The export would write secrets in plain text"
    exit_status = 3


class SanitizerFailed(InterchangeError):
    code = "sanitizer_failed"
    title = "The text could not be scanned for secrets, so it was not exported"


class ExtraMissing(InterchangeError):
    code = "extra_missing"
    title = "An optional part of Lifeboat that this command needs is not installed"
