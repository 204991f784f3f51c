"""The kinds of jobs. Each finds its work in the stores, so it can be interrupted at any step and repeated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from lifeboat_alf.common import times
from lifeboat_endpoint.maintenance import (
    data_key_rotation,
    endpoint_verification,
    tenant_care,
    tenant_purges,
    tenant_removal,
)
from lifeboat_endpoint.maintenance.trusted_time import trusted_now
from lifeboat_endpoint.work.endpoint_queue import EndpointJob, EndpointQueue, JobRequest
from lifeboat_vault.errors import UnknownTenant

if TYPE_CHECKING:
    from lifeboat_endpoint.endpoint import Endpoint
    from lifeboat_endpoint.tenancy.tenant_rows import Tenant

_MOST_AGENTS = 50
"""With more agents than this, each agent of a tenant is maintained and verified in a separate job."""
_AT_ONCE = 5_000
"""Jobs in one transaction."""

_NOT_BEFORE = timedelta(minutes=5)
"""Delay before a due purge is tried again that could not be applied, because the clock is not trusted."""


@dataclass(frozen=True, slots=True)
class JobContext:
    """What a job works with. `step` is called between two steps, and raises when the worker has to stop."""

    endpoint: Endpoint
    queue: EndpointQueue
    step: Callable[[], None]


Handler = Callable[[JobContext, EndpointJob], list[str]]
"""Runs a job; returns sentences about what could not be done. Raises LifeboatError."""


def of_tenant(do: Callable[[JobContext, EndpointJob, Tenant], list[str]]) -> Handler:
    """Run a handler with its tenant. Nothing is left to do for one that is gone or being removed. Raises KeyRevoked."""

    def run(work: JobContext, job: EndpointJob) -> list[str]:
        try:
            tenant = work.endpoint.control.tenant(job.tenant)
        except UnknownTenant:
            return []
        if tenant.state != "active":
            return []
        keys = work.endpoint.keys(tenant.id)
        # Unwrap one key, which raises KeyRevoked before any work is done.
        for key_id in keys.ids()[:1]:
            keys.sealer_of(key_id)
        return do(work, job, tenant)

    return run


@of_tenant
def look_after(work: JobContext, job: EndpointJob, tenant: Tenant) -> list[str]:
    """Thin old history, and sweep unnamed bodies."""
    if job.agent:
        return tenant_care.look_after_agent(work.endpoint, tenant, job.agent).problems
    agents = tenant_care.kept_in_vaults(work.endpoint, tenant)
    if len(agents) <= _MOST_AGENTS:
        return tenant_care.look_after(work.endpoint, tenant, step=work.step).problems
    _share_out(work, job, agents)
    return tenant_care.look_after(work.endpoint, tenant, agents=()).problems


def _share_out(work: JobContext, job: EndpointJob, agents: Sequence[str]) -> None:
    """Add a job for each agent, for all workers."""
    for begin in range(0, len(agents), _AT_ONCE):
        work.queue.add_missing([JobRequest(job.kind, job.tenant, each) for each in agents[begin : begin + _AT_ONCE]])


@of_tenant
def verify_tenant_data(work: JobContext, job: EndpointJob, tenant: Tenant) -> list[str]:
    """Verify everything of a tenant. Findings are counted by kind; `lifeboat endpoint verify` shows them."""
    kinds = Counter(found.kind for found in _proved(work, job, tenant).findings)
    return [
        f"{count} {('finding' if count == 1 else 'findings')} of the kind {kind}"
        for kind, count in sorted(kinds.items())
    ]


def _proved(work: JobContext, job: EndpointJob, tenant: Tenant) -> endpoint_verification.EndpointVerification:
    if job.agent:
        return endpoint_verification.verify_agent(work.endpoint, tenant, job.agent)
    agents = work.endpoint.space(tenant.id).agent_ids()
    if len(agents) <= _MOST_AGENTS:
        return endpoint_verification.verify_tenant(work.endpoint, tenant, step=work.step)
    _share_out(work, job, agents)
    return endpoint_verification.verify_tenant(work.endpoint, tenant, agents=())


@of_tenant
def reencrypt_tenant(work: JobContext, job: EndpointJob, tenant: Tenant) -> list[str]:
    """Encrypt everything under the current data key, and destroy the older keys."""
    return tenant_care.compact_tenant(work.endpoint, tenant, step=work.step).problems


@of_tenant
def shred_old_keys(work: JobContext, job: EndpointJob, tenant: Tenant) -> list[str]:
    """Make a new data key after purges. The job `reencrypt`, which this adds, destroys the older one and with it all
    remains."""
    data_key_rotation.rotate_keys(work.endpoint, tenant)
    return []


@of_tenant
def apply_purge(work: JobContext, job: EndpointJob, tenant: Tenant) -> list[str]:
    """Apply the purges that are due, and add a job for the next one."""
    problems = tenant_purges.apply_due_purges(work.endpoint, [tenant])[0].problems
    waiting = [
        times.parse_time(found.purge.applies_at) for found in tenant_purges.list_waiting_purges(work.endpoint, [tenant])
    ]
    if waiting:
        soonest = work.endpoint.clock.now() + _NOT_BEFORE
        work.queue.add(job.kind, tenant=tenant.id, run_at=max(soonest, min(waiting)))
    return problems


def sweep_bodies(work: JobContext, job: EndpointJob) -> list[str]:
    """Remove unnamed bodies of a tenant, or those of no tenant."""
    return _sweep_tenant(work, job) if job.tenant else _sweep_endpoint(work)


@of_tenant
def _sweep_tenant(work: JobContext, job: EndpointJob, tenant: Tenant) -> list[str]:
    now = trusted_now(work.endpoint)
    if now is not None:
        work.endpoint.space(tenant.id).sweep(now)
    return []


def _sweep_endpoint(work: JobContext) -> list[str]:
    now = trusted_now(work.endpoint)
    if now is not None:
        tenant_removal.remove_unknown_tenants(work.endpoint)
        work.endpoint.engine.sweep(now)
    return []


def finish_removals(work: JobContext, job: EndpointJob) -> list[str]:
    """Finish interrupted removals of tenants."""
    tenant_removal.finish_removals(work.endpoint)
    return []


def trim_audit(work: JobContext, job: EndpointJob) -> list[str]:
    """Delete audit rows that are too old, or too many."""
    now = trusted_now(work.endpoint)
    if now is not None:
        kept = work.endpoint.settings.audit
        work.endpoint.control.trim_audit(now - timedelta(days=kept.days), kept.rows)
    return []


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "look_after": look_after,
        "verify": verify_tenant_data,
        "reencrypt": reencrypt_tenant,
        "shred": shred_old_keys,
        "apply_purge": apply_purge,
        "sweep": sweep_bodies,
        "finish_removals": finish_removals,
        "trim_audit": trim_audit,
    }
)
