"""Schedule of periodic jobs.

Each kind of job has a moment in every period. The moments of tenants differ, so that a thousand tenants are not
maintained at the same time.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from lifeboat_alf.common import times
from lifeboat_endpoint.endpoint_config import WorkHours
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_endpoint.work.endpoint_queue import EndpointQueue, JobRequest
from lifeboat_vault.errors import EndpointBusy

if TYPE_CHECKING:
    from lifeboat_endpoint.endpoint import Endpoint

OF_TENANTS = ("apply_purge", "look_after", "verify")
OF_THE_ENDPOINT = ("finish_removals", "sweep", "trim_audit")
_AT_ONCE = 5_000
"""Jobs in one transaction."""
_EPOCH = times.from_nanoseconds(0)

Ended = Mapping[tuple[str, str], datetime]


def plan_jobs(endpoint: Endpoint, queue: EndpointQueue) -> int:
    """Add the jobs that are due; return how many are new. Does nothing if another worker plans now. Raises
    VaultError."""
    try:
        with endpoint.engine.alone("planning", seconds=0):
            return _planned(endpoint, queue)
    except EndpointBusy:
        return 0


def _planned(endpoint: Endpoint, queue: EndpointQueue) -> int:
    latest = queue.latest()
    tenants = endpoint.control.tenants()
    wanted = find_due_jobs(latest.now, tenants, latest.ended, endpoint.settings.work_hours)
    new = sum(queue.add_missing(wanted[begin : begin + _AT_ONCE]) for begin in range(0, len(wanted), _AT_ONCE))
    gone = find_removed_tenants(tenants, latest.ended)
    if gone:
        queue.forget(gone)
    return new


def find_due_jobs(now: datetime, tenants: Iterable[Tenant], ended: Ended, hours: WorkHours) -> list[JobRequest]:
    """Return the jobs that have not ended since their last moment. `now` and `ended` are by the same clock."""
    every = {kind: timedelta(hours=number) for kind, number in msgspec.structs.asdict(hours).items() if number}
    wanted = [JobRequest(kind) for kind in OF_THE_ENDPOINT if _is_due(now, kind, "", ended, every)]
    for tenant in tenants:
        if tenant.state == "active":
            wanted += [
                JobRequest(kind, tenant.id) for kind in OF_TENANTS if _is_due(now, kind, tenant.id, ended, every)
            ]
    return wanted


def find_removed_tenants(tenants: Iterable[Tenant], ended: Ended) -> list[str]:
    """Return tenants in the notes of ended jobs that no longer exist."""
    return sorted({tenant for _, tenant in ended if tenant} - {tenant.id for tenant in tenants})


def _is_due(now: datetime, kind: str, tenant: str, ended: Ended, every: Mapping[str, timedelta]) -> bool:
    """Return whether a job is due. An end in the future, from a clock that was set back, counts as due."""
    period = every.get(kind)
    if period is None:
        return False
    last = ended.get((kind, tenant))
    return last is None or last > now or last < _moment(now, kind, tenant, period)


def _moment(now: datetime, kind: str, tenant: str, period: timedelta) -> datetime:
    """Return the last moment of this job that has passed."""
    # The hash spreads the moments of tenants and kinds over the period.
    offset = timedelta(seconds=zlib.crc32(f"{kind} {tenant}".encode()) % max(1, int(period.total_seconds())))
    return now - (now - _EPOCH - offset) % period
