"""Run doctor checks and report what they find, with cause and fix. `lifeboat doctor` and `endpoint doctor` share this.

To add a check, add a module with `TITLE` and `check(...) -> Iterator[DoctorFinding]` to a doctor's folder; it is
discovered automatically. A check that fails becomes a finding, so one broken check never stops the doctor.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import describe_refusal
from lifeboat_alf.errors import LifeboatError


class DoctorLevel(StrEnum):
    """Severity of a doctor finding."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """Result of looking at one thing. `subject` names it, `result` says what was found; `fix` is a command where one
    helps."""

    level: DoctorLevel
    subject: str
    result: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class DoctorCheckResult:
    """A finding with the check that made it."""

    check: str
    title: str
    finding: DoctorFinding

    def to_json(self) -> JsonObject:
        return {"check": self.check, "title": self.title, **asdict(self.finding)}


def list_check_names(folder: Iterable[str]) -> list[str]:
    """Return the names of the modules of a package (its `__path__`), sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(folder))


def run_check(
    name: str,
    title: str,
    check: Callable[[], Iterable[DoctorFinding]],
    amended: Callable[[LifeboatError], object] = lambda error: None,
) -> Iterator[DoctorCheckResult]:
    """Run one check. An error that stops it becomes a finding, after `amended` has had the chance to change the
    error."""
    try:
        for finding in check():
            yield DoctorCheckResult(name, title, finding)
    except LifeboatError as error:
        amended(error)
        yield DoctorCheckResult(
            name, title, DoctorFinding(DoctorLevel.ERROR, title, f"{error.title}: {error.message}", error.fix)
        )
    except OSError as error:
        yield DoctorCheckResult(name, title, DoctorFinding(DoctorLevel.ERROR, title, describe_refusal(error)))
