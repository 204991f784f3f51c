"""`lifeboat doctor`: one module `check_NAME` per check, each called with the context (see `doctor_checks`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module

from lifeboat_alf.common.doctor_checks import DoctorCheckResult as DoctorCheckResult
from lifeboat_alf.common.doctor_checks import DoctorFinding as DoctorFinding
from lifeboat_alf.common.doctor_checks import DoctorLevel as DoctorLevel
from lifeboat_alf.common.doctor_checks import list_check_names, run_check
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.home.context import Context


def run_doctor_checks(context: Context) -> Iterator[DoctorCheckResult]:
    """Run every check in the order of their names."""
    for name in list_check_names(__path__):
        module = import_module(f"{__name__}.{name}")
        yield from run_check(name.removeprefix("check_"), module.TITLE, partial(module.check, context), _name_no_agent)


def _name_no_agent(error: LifeboatError) -> None:
    """Replace a fix for an agent that the check does not name: `status` names it, with a fix."""
    if error.fix is not None and "AGENT" in error.fix:
        error.fix = "lifeboat status"
