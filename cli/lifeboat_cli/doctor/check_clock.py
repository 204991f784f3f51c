"""Check the clock: thinning and sealing trust it only while it advances normally."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.home.context import Context
from lifeboat_core.machine import clock_trust

TITLE = "Clock"


def check(context: Context) -> Iterator[DoctorFinding]:
    if clock_trust.is_clock_trusted(context):
        yield DoctorFinding(
            DoctorLevel.OK, "clock", "the time of the computer's clock is consistent with the previous check"
        )
        return
    result = (
        f"the clock shows {context.now()}, which is not consistent with the previous check; until this is resolved, "
        "no old sequence is deleted and no sealed remote is changed"
    )
    yield DoctorFinding(
        DoctorLevel.WARNING,
        "clock",
        result,
        "set the clock to the correct time; if the clock is correct already: lifeboat doctor --trust-clock",
    )
