"""`lifeboat endpoint doctor`: what an endpoint stands on, and what whoever runs it has decided (see
`lifeboat_alf.common.doctor_checks`).

Each check says in `NEEDS` without which parts of the endpoint (`Engine.checks`) it cannot be made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module

from lifeboat_alf.common.doctor_checks import DoctorCheckResult, DoctorFinding, DoctorLevel, checks_in, run_check
from lifeboat_alf.errors import LifeboatError
from lifeboat_endpoint.endpoint import Endpoint

_PARTS = {
    "database": "The database",
    "schema": "The tables of the database",
    "objects": "The object store",
    "moved": "Where the endpoint is",
}


def examine_endpoint(endpoint: Endpoint, amended: Callable[[LifeboatError], object]) -> Iterator[DoctorCheckResult]:
    """Whether every part answers, then every check of this folder, by name. `amended` changes what errors say, for
    whoever reads it. Nothing is changed but one small object that is written and removed again."""
    missing = set()
    for part, answers in endpoint.engine.checks().items():
        title = _PARTS[part]
        for one in run_check("parts", title, partial(_answers, title, answers), amended):
            if one.finding.level is DoctorLevel.ERROR:
                missing.add(part)
            yield one
    for name in checks_in(__path__):
        module = import_module(f"{__name__}.{name}")
        if missing.isdisjoint(module.NEEDS):
            yield from run_check(name, module.TITLE, partial(module.check, endpoint), amended)
        else:
            unknown = DoctorFinding(DoctorLevel.WARNING, module.TITLE, "not examined: what it needs is not there")
            yield DoctorCheckResult(name, module.TITLE, unknown)


def _answers(what: str, check: Callable[[], None]) -> Iterator[DoctorFinding]:
    check()
    yield DoctorFinding(DoctorLevel.OK, what, "as it must be")
