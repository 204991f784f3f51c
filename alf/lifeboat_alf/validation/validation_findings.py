"""Collect validation findings, each with its entry and line; beyond a cap they are only counted."""

from __future__ import annotations

from dataclasses import dataclass, field

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import ArchiveError, LifeboatError

CAP = 1000
"""Findings kept of each kind; the rest are only counted."""


class ValidationFinding(str):
    """One finding, as a sentence that names entry and line. `code` is stable, for programs."""

    __slots__ = ("code", "entry", "line", "message")
    code: str
    message: str
    entry: str | None
    line: int | None

    def __new__(cls, code: str, message: str, entry: str | None = None, line: int | None = None) -> ValidationFinding:
        where = entry if line is None else f"{entry}, line {line}"
        made = super().__new__(cls, message if where is None else f"{where}: {message}")
        made.code, made.message, made.entry, made.line = code, message, entry, line
        return made

    def to_json(self) -> JsonObject:
        found = {"code": self.code, "message": self.message, "entry": self.entry, "line": self.line}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(slots=True)
class Validation:
    """Result of a validation. `errors` and `warnings` hold the first findings, the counts include all."""

    strict: bool = False
    errors: list[ValidationFinding] = field(default_factory=list)
    warnings: list[ValidationFinding] = field(default_factory=list)
    error_count: int = 0
    warning_count: int = 0

    @property
    def ok(self) -> bool:
        """Return whether there are no errors, and when strict no warnings either."""
        return not self.error_count and not (self.strict and self.warning_count)

    def error(self, code: str, message: str, entry: str | None = None, line: int | None = None) -> None:
        self.error_count += 1
        if len(self.errors) < CAP:
            self.errors.append(ValidationFinding(code, message, entry, line))

    def warn(self, code: str, message: str, entry: str | None = None, line: int | None = None) -> None:
        self.warning_count += 1
        if len(self.warnings) < CAP:
            self.warnings.append(ValidationFinding(code, message, entry, line))

    def report(self, certain: bool, code: str, message: str, entry: str | None = None, line: int | None = None) -> None:
        """Add an error if the file's writer is `certain` to be bound by the rule, else a warning."""
        (self.error if certain else self.warn)(code, message, entry, line)

    def failure(self, error: LifeboatError) -> None:
        """Add an exception of the readers as a finding."""
        if isinstance(error, ArchiveError):
            self.error(error.code, error.detail, error.entry, error.line)
        else:
            self.error(error.code, error.message)

    def to_json(self) -> JsonObject:
        return {
            "ok": self.ok,
            "errors": [finding.to_json() for finding in self.errors],
            "warnings": [finding.to_json() for finding in self.warnings],
            "error_count": self.error_count,
            "warning_count": self.warning_count,
        }
