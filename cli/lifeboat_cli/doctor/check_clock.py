"""Check the clock: thinning and sealing trust it only while it advances normally."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.home.context import Context
from lifeboat_core.machine import clock_trust

TITLE = "The clock"


def check(context: Context) -> Iterator[DoctorFinding]:
    if clock_trust.is_clock_trusted(context):
        yield DoctorFinding(DoctorLevel.OK, "clock", "goes on as expected")
        return
    result = f"it says {context.now()}, which does not follow from before; nothing is thinned or sealed meanwhile"
    yield DoctorFinding(DoctorLevel.WARNING, "clock", result, "set the clock right, or lifeboat doctor --trust-clock")
