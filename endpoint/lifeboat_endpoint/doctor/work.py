"""Check whether workers run on a shared endpoint, and whether they keep up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import msgspec

from lifeboat_alf.common import times
from lifeboat_alf.common.doctor_checks import DoctorFinding, DoctorLevel
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.work.endpoint_queue import JobCount, LatestRuns
from lifeboat_endpoint.work.shared_queue import open_queue

TITLE = "Workers"
NEEDS = ("database", "schema")
_START = "lifeboat endpoint work --data DIR"
_LONG = timedelta(hours=1)


def check(endpoint: Endpoint) -> Iterator[DoctorFinding]:
    if not endpoint.engine.shared:
        return
    queue = open_queue(endpoint)
    latest, counts = queue.latest(), queue.counts()
    yield _working(endpoint, latest)
    yield _waiting(counts)
    yield _given_up(counts)
    yield _read_back(endpoint, latest)


def _working(endpoint: Endpoint, latest: LatestRuns) -> DoctorFinding:
    """Check that a job ended recently. One is due in each of the shortest periods, even without tenants."""
    period = timedelta(hours=min(filter(None, msgspec.structs.asdict(endpoint.settings.work_hours).values())))
    since = max(latest.ended.values(), default=times.parse_time(endpoint.settings.created_at))
    if latest.now - since < 2 * period:
        return DoctorFinding(
            DoctorLevel.OK, TITLE, "workers finished jobs recently" if latest.ended else "no job was due yet"
        )
    result = f"no worker has finished a job since {times.to_text(since)}, so purges and thinning wait"
    return DoctorFinding(DoctorLevel.ERROR, TITLE, result, _START)


def _waiting(counts: Iterable[JobCount]) -> DoctorFinding:
    late = {count.kind: count.oldest for count in counts if count.state == "waiting"}
    longest = timedelta(seconds=max(late.values(), default=0))
    if longest < _LONG:
        return DoctorFinding(DoctorLevel.OK, TITLE, "no due job has waited for an hour or longer")
    kind = max(late, key=lambda each: late[each])
    result = f"a due job of the kind {kind} has waited for {longest // timedelta(minutes=1)} minutes"
    # The endpoint promised when a purge is applied.
    level = DoctorLevel.ERROR if timedelta(seconds=late.get("apply_purge", 0)) >= _LONG else DoctorLevel.WARNING
    return DoctorFinding(level, TITLE, result, f"start another worker: {_START}")


def _given_up(counts: Iterable[JobCount]) -> DoctorFinding:
    dead = sum(count.jobs for count in counts if count.state == "dead")
    if not dead:
        return DoctorFinding(DoctorLevel.OK, TITLE, "no job has failed")
    return DoctorFinding(
        DoctorLevel.WARNING, TITLE, f"failed jobs: {dead}", "lifeboat endpoint jobs list --dead --data DIR"
    )


def _read_back(endpoint: Endpoint, latest: LatestRuns) -> DoctorFinding:
    """Check that the data of every tenant was verified within twice the configured period."""
    hours = endpoint.settings.work_hours.verify
    if not hours:
        return DoctorFinding(
            DoctorLevel.OK, TITLE, "data is not verified automatically, because `verify` is 0 in `work_hours`"
        )
    before = latest.now - 2 * timedelta(hours=hours)

    def last(tenant_id: str, created_at: str) -> datetime:
        return latest.ended.get(("verify", tenant_id), times.parse_time(created_at))

    tenants = [each for each in endpoint.control.tenants() if each.state == "active"]
    late = sum(last(each.id, each.created_at) < before for each in tenants)
    if not late:
        return DoctorFinding(DoctorLevel.OK, TITLE, "the data of all tenants was verified in time")
    result = f"the data of {late} of {len(tenants)} tenants has not been verified for {2 * hours} hours"
    return DoctorFinding(
        DoctorLevel.WARNING, TITLE, result, "lifeboat endpoint verify --data DIR, and start one more worker"
    )
