"""Purges at an endpoint: waiting ones, due ones, and the decisions of the operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance.tenant_care import record_problem
from lifeboat_endpoint.service.purge.purge_policy import PendingRedaction
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_vault.errors import UnknownAtRemote
from lifeboat_vault.remote.remote_contract import RemoteRedaction


@dataclass(frozen=True, slots=True)
class WaitingPurge:
    """A waiting purge and the tenant of its agent."""

    tenant: Tenant
    purge: PendingRedaction


@dataclass
class TenantPurgeResult:
    """Result for a tenant: how many purges were applied, and sentences about those that failed."""

    tenant: Tenant
    applied: int = 0
    problems: list[str] = field(default_factory=list)


def list_waiting_purges(endpoint: Endpoint, tenants: Sequence[Tenant]) -> list[WaitingPurge]:
    """Return the waiting purges; those of each tenant in the order in which they are applied."""
    active = (tenant for tenant in tenants if tenant.state == "active")
    return [
        WaitingPurge(tenant, purge) for tenant in active for purge in endpoint.space(tenant.id).pending_redactions()
    ]


def confirm_purge(endpoint: Endpoint, tenants: Sequence[Tenant], redaction_id: str) -> RemoteRedaction:
    """Apply a waiting purge now. Raises UnknownAtRemote if it does not wait anywhere."""
    found = _named(endpoint, tenants, redaction_id)
    return endpoint.space(found.tenant.id).confirm_redaction(found.purge.agent_id, redaction_id)


def refuse_purge(endpoint: Endpoint, tenants: Sequence[Tenant], redaction_id: str) -> WaitingPurge:
    """Refuse a waiting purge for good. Raises UnknownAtRemote if it does not wait anywhere."""
    found = _named(endpoint, tenants, redaction_id)
    endpoint.space(found.tenant.id).refuse_redaction(found.purge.agent_id, redaction_id)
    return found


def _named(endpoint: Endpoint, tenants: Sequence[Tenant], redaction_id: str) -> WaitingPurge:
    for found in list_waiting_purges(endpoint, tenants):
        if found.purge.redaction.id == redaction_id:
            return found
    raise UnknownAtRemote(f"no purge {redaction_id} is waiting", fix="lifeboat endpoint purges list --data DIR")


def apply_due_purges(endpoint: Endpoint, tenants: Sequence[Tenant]) -> list[TenantPurgeResult]:
    """Apply all purges that are due, and finish those that a crash interrupted.

    A problem with one agent does not stop the work on the others.
    """
    return [_of_tenant(endpoint, tenant) for tenant in tenants if tenant.state == "active"]


def _of_tenant(endpoint: Endpoint, tenant: Tenant) -> TenantPurgeResult:
    done = TenantPurgeResult(tenant)
    with record_problem(done.problems, "the tenant"):
        space = endpoint.space(tenant.id)
        for agent_id, redaction_id in space.due_redactions():
            with record_problem(done.problems, agent_id):
                space.apply_redaction(agent_id, redaction_id)
                done.applied += 1
        for agent_id in space.unfinished_agent_purges():
            with record_problem(done.problems, agent_id):
                space.finish_agent_purge(agent_id)
                done.applied += 1
    return done
