"""Removal of a tenant: revoke its tokens, then destroy its keys, its files and its rows, in this order.

An interrupted removal is finished by the next run, because the row of the tenant says what is left to do.
"""

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
    """Remove everything of a tenant; return the bytes that were freed. Raises UnknownTenant.

    Once the keys are destroyed nothing can be read any more, even if files survive.
    """
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
    """Finish interrupted removals; return the ids of the removed tenants."""
    begun = [tenant.id for tenant in endpoint.control.tenants() if tenant.state == "removing"]
    for tenant_id in begun:
        with contextlib.suppress(UnknownTenant):  # another process finished it
            remove_tenant(endpoint, tenant_id)
    return begun


def remove_unknown_tenants(endpoint: Endpoint) -> int:
    """Remove data of tenants without a row that is at least a day old; return how many.

    A process that ended between writing the keys and the row, or the row and the rest, leaves such data.
    """
    known = {tenant.id for tenant in endpoint.control.tenants()}
    return endpoint.engine.remove_nobodys(known, endpoint.clock.now() - _NOBODYS)
