"""How much is kept of a tenant, told without any of its keys."""

from __future__ import annotations

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.engines.contract import Figures
from lifeboat_endpoint.tenancy.rows import Tenant


def figures(endpoint: Endpoint, tenant: Tenant) -> Figures:
    """Raises VaultDamaged."""
    return endpoint.engine.figures(tenant.id)
