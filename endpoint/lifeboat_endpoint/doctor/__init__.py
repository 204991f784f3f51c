"""Checks of `lifeboat endpoint doctor`: the parts that an endpoint depends on, and the operator's settings.

Each check is a module of this folder with `TITLE`, `NEEDS` and `check` (see `lifeboat_alf.findings`). `NEEDS` names the
parts of the endpoint (`Engine.checks`) without which the check cannot be made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module

from lifeboat_alf.common.doctor_checks import DoctorCheckResult, DoctorFinding, DoctorLevel, list_check_names, run_check
from lifeboat_alf.errors import LifeboatError
from lifeboat_endpoint.endpoint import Endpoint

_PARTS = {
    "database": "The database",
    "schema": "The tables of the database",
    "objects": "The object store",
    "moved": "Location of the endpoint",
}


def examine_endpoint(endpoint: Endpoint, amended: Callable[[LifeboatError], object]) -> Iterator[DoctorCheckResult]:
    """Check that every part of the endpoint answers, then make every check of this folder, ordered by name.

    `amended` may change the errors that checks raise before they are shown. The checks change nothing, except that they
    write one small object and remove it again.
    """
    missing = set()
    for part, answers in endpoint.engine.checks().items():
        title = _PARTS[part]
        for one in run_check("parts", title, partial(_answers, title, answers), amended):
            if one.finding.level is DoctorLevel.ERROR:
                missing.add(part)
            yield one
    for name in list_check_names(__path__):
        module = import_module(f"{__name__}.{name}")
        if missing.isdisjoint(module.NEEDS):
            yield from run_check(name, module.TITLE, partial(module.check, endpoint), amended)
        else:
            unknown = DoctorFinding(DoctorLevel.WARNING, module.TITLE, "not checked, because an earlier check failed")
            yield DoctorCheckResult(name, module.TITLE, unknown)


def _answers(what: str, check: Callable[[], None]) -> Iterator[DoctorFinding]:
    check()
    yield DoctorFinding(DoctorLevel.OK, what, "correct")
