"""Check whether the object store removes deleted objects for good. Purges and crypto-shredding depend on it."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.common.doctor_checks import DoctorFinding, DoctorLevel
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.engines.engine_choice import as_shared_engine

TITLE = "Deletion in the object store"
NEEDS = ("objects",)


def check(endpoint: Endpoint) -> Iterator[DoctorFinding]:
    engine = as_shared_engine(endpoint.engine)
    if engine is None:
        return
    kept = engine.bucket.keeps_versions()
    if kept:
        result = "the object store keeps versions of deleted objects, so purged data stays there"
        fix = "disable object versions for this bucket, and delete existing versions"
        yield DoctorFinding(DoctorLevel.WARNING, engine.store.objects, result, fix)
    else:
        version_note = (
            "the object store does not report whether it keeps versions of deleted objects"
            if kept is None
            else "the object store keeps no versions of deleted objects"
        )
        yield DoctorFinding(
            DoctorLevel.OK, engine.store.objects, f"a test object was written and deleted; {version_note}"
        )
