"""Check the free space on the disk of an endpoint that is a data folder."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.common.doctor_checks import DoctorFinding, DoctorLevel
from lifeboat_endpoint.endpoint import Endpoint

TITLE = "Space on the disk"
NEEDS = ()
_LITTLE, _NONE = 1_000_000_000, 100_000_000
"""Free bytes below which the check warns, and below which it fails."""


def check(endpoint: Endpoint) -> Iterator[DoctorFinding]:
    if endpoint.engine.shared:
        return
    free = endpoint.files.free_space(endpoint.folder)
    level = DoctorLevel.ERROR if free < _NONE else DoctorLevel.WARNING if free < _LITTLE else DoctorLevel.OK
    fix = None if level is DoctorLevel.OK else "free some space, or: lifeboat endpoint compact --data DIR"
    yield DoctorFinding(level, str(endpoint.folder), f"{free // 1_000_000:,} MB are free", fix)
