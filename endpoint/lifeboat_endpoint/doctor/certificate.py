"""Check when the certificate ends that the endpoint made itself. A running server renews it in time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from lifeboat_alf.common.doctor_checks import DoctorFinding, DoctorLevel
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.server import tls

TITLE = "The certificate of the server"
NEEDS = ()
_SOON = timedelta(days=30)


def check(endpoint: Endpoint) -> Iterator[DoctorFinding]:
    """Yield nothing if the endpoint does not sign its own certificate."""
    ends = tls.find_certificate_end(endpoint.folder / tls.FOLDER)
    if ends is None:
        return
    result = f"the certificate expires on {ends.date()}"
    if ends - endpoint.clock.now() > _SOON:
        yield DoctorFinding(DoctorLevel.OK, TITLE, result)
        return
    fix = f"lifeboat endpoint serve --data DIR; the server must be able to write to {endpoint.folder / tls.FOLDER}"
    yield DoctorFinding(DoctorLevel.ERROR, TITLE, f"{result}, and no server has renewed it", fix)
