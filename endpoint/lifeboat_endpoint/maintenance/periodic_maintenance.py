"""Maintenance that a server of an endpoint of files runs periodically."""

from __future__ import annotations

from datetime import datetime, timedelta

from lifeboat_alf.common import times
from lifeboat_alf.errors import LifeboatError
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance import tenant_purges, tenant_removal
from lifeboat_endpoint.maintenance.tenant_care import TenantCare, look_after
from lifeboat_endpoint.maintenance.trusted_time import trusted_now
from lifeboat_vault.errors import EndpointBusy, EndpointMoved, EndpointMoving

EVERY = timedelta(hours=1)
TRIMMED_EVERY = timedelta(days=1)
PURGED_EVERY = timedelta(minutes=5)
NOTE, TRIMMED, PURGED = "looked_after_at", "audit_trimmed_at", "purged_at"


def run_due(endpoint: Endpoint, now: datetime) -> list[TenantCare]:
    """Run the work that is due: flush the audit, apply purges, and once an hour maintain every tenant.

    The hourly work also finishes removals and trims the audit. Return what was done; nothing if nothing was due or
    another process does it. It may take long, so it must not run in a thread that answers requests. Raises VaultError
    for trouble with control.db; problems with a tenant are in its TenantCare.
    """
    endpoint.control.flush()
    try:
        endpoint.engine.check_unmoved(changes=True)
    except (EndpointMoving, EndpointMoved):
        return []
    purged = _purged(endpoint, now)
    if not _is_due(endpoint, NOTE, EVERY, now):
        return purged
    try:
        with endpoint.engine.alone("care", seconds=0):
            return [*purged, *_looked_after(endpoint, now)]
    except EndpointBusy:
        return purged


def _purged(endpoint: Endpoint, now: datetime) -> list[TenantCare]:
    """Apply purges that are due; return the tenants with problems."""
    if not _is_due(endpoint, PURGED, PURGED_EVERY, now):
        return []
    endpoint.control.set(PURGED, times.to_text(now))
    done = tenant_purges.apply_due_purges(endpoint, endpoint.control.tenants())
    return [TenantCare(each.tenant, problems=each.problems) for each in done if each.problems]


def _is_due(endpoint: Endpoint, note: str, every: timedelta, now: datetime) -> bool:
    """Whether a period has passed since the time in a note. A time in the future, from a clock that was set back,
    counts as due."""
    last = endpoint.control.get(note)
    return last is None or not timedelta(0) <= now - times.parse_time(last) < every


def _looked_after(endpoint: Endpoint, now: datetime) -> list[TenantCare]:
    # Note the beginning, so that a failure does not repeat the work every minute.
    endpoint.control.set(NOTE, times.to_text(now))
    tenant_removal.finish_removals(endpoint)
    done = [_of_tenant(endpoint, tenant.id) for tenant in endpoint.control.tenants() if tenant.state == "active"]
    trusted = trusted_now(endpoint)
    if trusted is not None:
        tenant_removal.remove_unknown_tenants(endpoint)
        _trim_audit(endpoint, trusted)
    return done


def _trim_audit(endpoint: Endpoint, now: datetime) -> None:
    """Trim the audit once a day only, because each time adds a row to it."""
    if _is_due(endpoint, TRIMMED, TRIMMED_EVERY, now):
        kept = endpoint.settings.audit
        endpoint.control.trim_audit(now - timedelta(days=kept.days), kept.rows)
        endpoint.control.set(TRIMMED, times.to_text(now))


def _of_tenant(endpoint: Endpoint, tenant_id: str) -> TenantCare:
    tenant = endpoint.control.tenant(tenant_id)
    try:
        return look_after(endpoint, tenant)
    except LifeboatError as error:
        return TenantCare(tenant, problems=[error.message])
