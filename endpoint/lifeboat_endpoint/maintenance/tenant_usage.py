"""How much a tenant keeps, measured without its keys."""

from __future__ import annotations

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.engines.contract import TenantUsage
from lifeboat_endpoint.tenancy.tenant_rows import Tenant


def measure_tenant(endpoint: Endpoint, tenant: Tenant) -> TenantUsage:
    """Raises VaultDamaged."""
    return endpoint.engine.figures(tenant.id)
