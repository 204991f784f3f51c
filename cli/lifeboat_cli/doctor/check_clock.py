"""Check the clock: thinning and sealing trust it only while it advances normally."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.home.context import Context
from lifeboat_core.machine import clock_trust

TITLE = "Clock"


def check(context: Context) -> Iterator[DoctorFinding]:
    if clock_trust.is_clock_trusted(context):
        yield DoctorFinding(DoctorLevel.OK, "clock", "the time follows from the last check")
        return
    result = (
        f"the time {context.now()} does not follow from the last check; until this is resolved, "
        "nothing is thinned or sealed"
    )
    yield DoctorFinding(
        DoctorLevel.WARNING, "clock", result, "set the clock right; if it is right: lifeboat doctor --trust-clock"
    )
