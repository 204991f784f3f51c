"""Check whether the clock is trusted. Nothing is thinned, swept or purged while it is not."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.common import times
from lifeboat_alf.common.doctor_checks import DoctorFinding, DoctorLevel
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance.trusted_time import is_trusted

TITLE = "The clock"
NEEDS = ("database", "schema")


def check(endpoint: Endpoint) -> Iterator[DoctorFinding]:
    if is_trusted(endpoint):
        yield DoctorFinding(DoctorLevel.OK, TITLE, "the clock agrees with the times that the endpoint recorded before")
        return
    now, other = endpoint.clock.now(), endpoint.engine.time()
    database_time = "" if other is None else f", the clock of the database shows {times.to_text(other)}"
    result = (
        f"the clock of this machine may be wrong. It shows {times.to_text(now)}{database_time}; until "
        "the clock is correct, the endpoint does not thin, does not purge and does not remove unused "
        "data"
    )
    yield DoctorFinding(
        DoctorLevel.WARNING,
        TITLE,
        result,
        "correct the clock, or: lifeboat endpoint compact --trust-clock --data DIR",
    )
