"""Periodic maintenance of a tenant: thin history, sweep, and replace old keys."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lifeboat_alf.errors import LifeboatError
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance import history_thinning
from lifeboat_endpoint.maintenance.history_thinning import AgentCare
from lifeboat_endpoint.maintenance.trusted_time import trusted_now
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_vault.at_rest.sealer import Sealer
from lifeboat_vault.vault import Vault

PATIENCE = 30.0
"""Seconds that a command waits for another process that maintains the same tenant."""


@dataclass
class TenantCare:
    """Result of maintaining a tenant. `agents` by id; `problems` are sentences about parts that were left as they were.

    `swept` counts unnamed bodies that were removed; `destroyed` are ids of data keys.
    """

    tenant: Tenant
    agents: dict[str, AgentCare] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    swept: int = 0
    destroyed: list[str] = field(default_factory=list)
    is_clock_trusted: bool = True

    @property
    def bytes_freed(self) -> int:
        return sum(care.bytes_freed for care in self.agents.values())


def do_nothing() -> None:
    """Do nothing between two steps, for callers that never stop the work."""


def look_after(
    endpoint: Endpoint,
    tenant: Tenant,
    *,
    patience: float = 0.0,
    agents: Sequence[str] | None = None,
    step: Callable[[], None] = do_nothing,
) -> TenantCare:
    """Sweep, and thin all agents or the given ones by the retention and the size caps.

    A problem with one agent does not stop the work on the others. `step` is called before each agent; an error that it
    raises ends the work.
    """
    now = trusted_now(endpoint)
    care = TenantCare(tenant, is_clock_trusted=now is not None)
    with record_problem(care.problems, "the tenant"):
        if now is not None:
            care.swept += endpoint.space(tenant.id).sweep(now)
        for agent_id in kept_in_vaults(endpoint, tenant) if agents is None else agents:
            step()
            _look_after_agent(endpoint, tenant, agent_id, now, care, patience)
        _below_cap_of_tenant(endpoint, tenant, now, care, patience)
    _note(endpoint, care)
    return care


def look_after_agent(endpoint: Endpoint, tenant: Tenant, agent_id: str) -> TenantCare:
    """Thin one agent. Does nothing if its vault is gone."""
    now = trusted_now(endpoint)
    care = TenantCare(tenant, is_clock_trusted=now is not None)
    with record_problem(care.problems, "the tenant"):
        if endpoint.space(tenant.id).place.has_vault(agent_id):
            _look_after_agent(endpoint, tenant, agent_id, now, care, 0.0)
    _note(endpoint, care)
    return care


def _look_after_agent(
    endpoint: Endpoint, tenant: Tenant, agent_id: str, now: datetime | None, care: TenantCare, patience: float
) -> None:
    with record_problem(care.problems, agent_id), _cared_for(endpoint, tenant, agent_id, patience) as vault:
        _thin(vault, endpoint, now, care.agents.setdefault(agent_id, AgentCare()))


def compact_tenant(endpoint: Endpoint, tenant: Tenant, *, step: Callable[[], None] = do_nothing) -> TenantCare:
    """Run `look_after`, give back free space, encrypt everything under the current data keys and destroy the older
    keys."""
    care = look_after(endpoint, tenant, patience=PATIENCE, step=step)
    with record_problem(care.problems, "its keys"):
        keys = endpoint.keys(tenant.id)
        older = keys.older()
        for agent_id in kept_in_vaults(endpoint, tenant):
            step()
            with record_problem(care.problems, agent_id), _cared_for(endpoint, tenant, agent_id, PATIENCE) as vault:
                _compact(vault, keys.sealer(agent_id), care.agents.setdefault(agent_id, AgentCare()))
        _replace_keys(endpoint, tenant, care, older)
    return care


def _thin(vault: Vault, endpoint: Endpoint, now: datetime | None, care: AgentCare) -> None:
    if endpoint.engine.shared:
        vault.sweep_leftovers()  # the vaults of an endpoint of files do this when they are opened
    history_thinning.thin_history(vault, endpoint.settings, now, care)
    cap = endpoint.settings.size_cap.agent
    if cap is not None and not history_thinning.keep_below(vault, cap, endpoint.settings, now, care):
        care.steps.append("the agent is still above the size cap, because the remaining sequences must be kept")


def _below_cap_of_tenant(
    endpoint: Endpoint, tenant: Tenant, now: datetime | None, care: TenantCare, patience: float
) -> None:
    """Thin the largest agents first, until all agents together are within the cap of the tenant."""
    cap = endpoint.settings.size_cap.tenant
    if cap is None:
        return
    sizes: dict[str, int] = {}
    for agent_id in kept_in_vaults(endpoint, tenant):
        with record_problem(care.problems, agent_id), _cared_for(endpoint, tenant, agent_id, patience) as vault:
            sizes[agent_id] = vault.size()
    for agent_id in sorted(sizes, key=lambda each: -sizes[each]):
        above = sum(sizes.values()) - cap
        if above <= 0:
            return
        with record_problem(care.problems, agent_id), _cared_for(endpoint, tenant, agent_id, patience) as vault:
            wanted = max(0, sizes[agent_id] - above)
            history_thinning.keep_below(
                vault, wanted, endpoint.settings, now, care.agents.setdefault(agent_id, AgentCare())
            )
            sizes[agent_id] = vault.size()
    if sum(sizes.values()) > cap:
        care.problems.append("the tenant is still above the size cap, because the remaining sequences must be kept")


def _compact(vault: Vault, sealer: Sealer, care: AgentCare) -> None:
    before = vault.size()
    if vault.key_id != sealer.key_id:
        vault.reseal(sealer)
        care.steps.append("the data was encrypted again with the current data key")
    else:
        vault.compact()
    care.bytes_freed += max(0, before - vault.size())


def _replace_keys(endpoint: Endpoint, tenant: Tenant, care: TenantCare, older: Sequence[str]) -> None:
    """Seal everything outside of vaults under the current keys, then destroy the `older` ones.

    It is sealed twice, because data that was in flight during the first pass may still use an older key. No key is
    destroyed if anything could not be sealed again, nor one that was replaced only after the work began.
    """
    keys, space = endpoint.keys(tenant.id), endpoint.space(tenant.id)
    if not older:
        return
    space.reseal()
    space.reseal()
    if care.problems:
        care.problems.append("the older data keys are kept, because some data could not be encrypted again")
        return
    care.destroyed = keys.destroy(keep=(), among=older)
    for key_id in care.destroyed:
        endpoint.control.record(None, "key.destroyed", key_id, {"tenant": tenant.id})


def kept_in_vaults(endpoint: Endpoint, tenant: Tenant) -> list[str]:
    """Return the ids of agents with a vault. Sealed agents have no history that the endpoint could thin."""
    space = endpoint.space(tenant.id)
    return [agent_id for agent_id in space.agent_ids() if space.place.has_vault(agent_id)]


@contextlib.contextmanager
def _cared_for(endpoint: Endpoint, tenant: Tenant, agent_id: str, patience: float) -> Iterator[Vault]:
    """Open the vault of an agent while no other process maintains it, and update its size for the quota afterwards."""
    space = endpoint.space(tenant.id)
    with space.place.alone(agent_id, seconds=patience):
        with space.vault(agent_id) as vault:
            before = vault.size()
            yield vault
            is_same = vault.size() == before
        if not is_same:
            space.recount(agent_id)


@contextlib.contextmanager
def record_problem(problems: list[str], what: str) -> Iterator[None]:
    """Add a sentence about an error to the problems, and go on."""
    try:
        yield
    except LifeboatError as error:
        problems.append(f"{what}: {explain_failure(error)}")


def explain_failure(error: LifeboatError) -> str:
    """Return the message for the operator, who may see more than clients."""
    cause = error.__cause__
    return cause.message if isinstance(cause, LifeboatError) else error.message


def _note(endpoint: Endpoint, care: TenantCare) -> None:
    """Record in the audit how much of each agent was thinned."""
    for agent_id, done in care.agents.items():
        if done.steps:
            details = {"tenant": care.tenant.id, "sequences": done.sequences, "large_files": done.large_files}
            endpoint.control.record(None, "agent.thinned", agent_id, details)
