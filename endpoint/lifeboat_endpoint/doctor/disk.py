"""Check the free space on the disk of an endpoint that is a data folder."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.common.doctor_checks import DoctorFinding, DoctorLevel
from lifeboat_alf.common.size_texts import size_text
from lifeboat_endpoint.endpoint import Endpoint

TITLE = "Space on the disk"
NEEDS = ()
_LITTLE, _NONE = 1 << 30, 100 << 20
"""Free bytes below which the check warns, and below which it fails."""


def check(endpoint: Endpoint) -> Iterator[DoctorFinding]:
    if endpoint.engine.shared:
        return
    free = endpoint.files.free_space(endpoint.folder)
    level = DoctorLevel.ERROR if free < _NONE else DoctorLevel.WARNING if free < _LITTLE else DoctorLevel.OK
    fix = None if level is DoctorLevel.OK else "free some space, or: lifeboat endpoint compact --data DIR"
    yield DoctorFinding(level, str(endpoint.folder), f"{size_text(free)} are free on the disk", fix)
