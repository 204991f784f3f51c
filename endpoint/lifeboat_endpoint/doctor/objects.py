"""Check whether the object store removes deleted objects for good. Purges and crypto-shredding depend on it."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.common.doctor_checks import DoctorFinding, DoctorLevel
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.engines.engine_choice import as_shared_engine

TITLE = "What the object store deletes"
NEEDS = ("objects",)


def check(endpoint: Endpoint) -> Iterator[DoctorFinding]:
    engine = as_shared_engine(endpoint.engine)
    if engine is None:
        return
    kept = engine.bucket.keeps_versions()
    if kept:
        result = "keeps versions of what is deleted, so what is purged stays there"
        fix = "switch versions of objects off for this bucket, and remove those that there are"
        yield DoctorFinding(DoctorLevel.WARNING, engine.store.objects, result, fix)
    else:
        said = "it does not say whether versions stay" if kept is None else "no version stays"
        yield DoctorFinding(DoctorLevel.OK, engine.store.objects, f"an object was written and deleted: {said}")
