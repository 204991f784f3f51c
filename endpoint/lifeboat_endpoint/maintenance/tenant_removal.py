"""A tenant goes: its tokens at once, then its keys, then its files, then its rows. Whatever ends half-way is taken up
by the next run: while there is a row, somebody knows what is left to do."""

from __future__ import annotations

import contextlib
from datetime import timedelta

from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance.tenant_care import PATIENCE
from lifeboat_vault.errors import UnknownTenant

REMOVAL = "removal"
_NOBODYS = timedelta(days=1)


def remove_tenant(endpoint: Endpoint, tenant_id: str) -> int:
    """All that is kept of a tenant; the bytes that are free then. Once its keys are gone nothing can be read any more,
    whatever becomes of the files. Raises UnknownTenant."""
    with endpoint.engine.alone(REMOVAL, seconds=PATIENCE):
        return _removed(endpoint, tenant_id)


def _removed(endpoint: Endpoint, tenant_id: str) -> int:
    endpoint.control.begin_removal(tenant_id)
    endpoint.forget(tenant_id)
    reach_crash_point(CrashPoint.TENANT_MARKED)
    endpoint.engine.key_documents(tenant_id).remove()
    reach_crash_point(CrashPoint.TENANT_KEYS_DESTROYED)
    freed = endpoint.engine.remove_tenant(tenant_id)
    reach_crash_point(CrashPoint.TENANT_FILES_REMOVED)
    endpoint.control.remove_tenant(tenant_id)
    reach_crash_point(CrashPoint.TENANT_ROWS_REMOVED)
    endpoint.control.compact()
    return freed


def finish_removals(endpoint: Endpoint) -> list[str]:
    """Go on with removals that were interrupted; the ids of the tenants that are gone now."""
    begun = [tenant.id for tenant in endpoint.control.tenants() if tenant.state == "removing"]
    for tenant_id in begun:
        with contextlib.suppress(UnknownTenant):  # somebody else came to its end
            remove_tenant(endpoint, tenant_id)
    return begun


def remove_unknown_tenants(endpoint: Endpoint) -> int:
    """Remove what is kept for tenants that there are not, a day after it was made: left by a process that ended between
    the keys and the row, or the row and the rest. How many."""
    known = {tenant.id for tenant in endpoint.control.tenants()}
    return endpoint.engine.remove_nobodys(known, endpoint.clock.now() - _NOBODYS)
