"""What a doctor finds: small checks, one module each, every finding with its cause and what helps.

A new check is a new module in a doctor's folder with `TITLE` and `check(...) -> Iterator[Finding]`; it is found by
being there. A check that itself fails becomes a finding: a doctor never dies of the illness.
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
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """`subject` names what was looked at, `result` what was found; `fix` is a command where one helps."""

    level: DoctorLevel
    subject: str
    result: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class DoctorCheckResult:
    """A finding with the check it comes from."""

    check: str
    title: str
    finding: DoctorFinding

    def to_json(self) -> JsonObject:
        return {"check": self.check, "title": self.title, **asdict(self.finding)}


def checks_in(folder: Iterable[str]) -> list[str]:
    """The names of the modules of a package (its `__path__`), sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(folder))


def run_check(
    name: str,
    title: str,
    check: Callable[[], Iterable[DoctorFinding]],
    amended: Callable[[LifeboatError], object] = lambda error: None,
) -> Iterator[DoctorCheckResult]:
    """One check, with what keeps it from being made as a finding of its own, after `amended` had its way with it."""
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
