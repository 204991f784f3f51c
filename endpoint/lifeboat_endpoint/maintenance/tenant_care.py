"""What is done for a tenant again and again: old history goes, what ended is swept, keys that count no more are
replaced wherever they were used."""

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
"""Seconds that a command waits for whoever looks after the same thing."""


@dataclass
class TenantCare:
    """What was done for a tenant. `agents` by id; `problems` are sentences: what was wrong there stayed as it was.
    `swept` counts bodies that nothing named; `destroyed` names data keys."""

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
    """What is called between two steps where nobody wants to stop."""


def look_after(
    endpoint: Endpoint,
    tenant: Tenant,
    *,
    patience: float = 0.0,
    agents: Sequence[str] | None = None,
    step: Callable[[], None] = do_nothing,
) -> TenantCare:
    """Sweep, and thin every agent, or these, by the retention and the size caps. What is wrong with one agent keeps
    nothing from being done for the others. `step` is called before each agent; what it raises ends the work."""
    now = trusted_now(endpoint)
    care = TenantCare(tenant, is_clock_trusted=now is not None)
    with _told(care, "the tenant"):
        if now is not None:
            care.swept += endpoint.space(tenant.id).sweep(now)
        for agent_id in kept_in_vaults(endpoint, tenant) if agents is None else agents:
            step()
            _look_after_agent(endpoint, tenant, agent_id, now, care, patience)
        _below_cap_of_tenant(endpoint, tenant, now, care, patience)
    _note(endpoint, care)
    return care


def look_after_agent(endpoint: Endpoint, tenant: Tenant, agent_id: str) -> TenantCare:
    """Thin one agent; nothing where its vault is gone."""
    now = trusted_now(endpoint)
    care = TenantCare(tenant, is_clock_trusted=now is not None)
    with _told(care, "the tenant"):
        if endpoint.space(tenant.id).place.has_vault(agent_id):
            _look_after_agent(endpoint, tenant, agent_id, now, care, 0.0)
    _note(endpoint, care)
    return care


def _look_after_agent(
    endpoint: Endpoint, tenant: Tenant, agent_id: str, now: datetime | None, care: TenantCare, patience: float
) -> None:
    with _told(care, agent_id), _cared_for(endpoint, tenant, agent_id, patience) as vault:
        _thin(vault, endpoint, now, care.agents.setdefault(agent_id, AgentCare()))


def compact_tenant(endpoint: Endpoint, tenant: Tenant, *, step: Callable[[], None] = do_nothing) -> TenantCare:
    """`look_after`, give back the space of what went, and put under the current data keys whatever is not; then the
    older keys are destroyed."""
    care = look_after(endpoint, tenant, patience=PATIENCE, step=step)
    with _told(care, "its keys"):
        keys = endpoint.keys(tenant.id)
        older = keys.older()
        for agent_id in kept_in_vaults(endpoint, tenant):
            step()
            with _told(care, agent_id), _cared_for(endpoint, tenant, agent_id, PATIENCE) as vault:
                _compact(vault, keys.sealer(agent_id), care.agents.setdefault(agent_id, AgentCare()))
        _replace_keys(endpoint, tenant, care, older)
    return care


def _thin(vault: Vault, endpoint: Endpoint, now: datetime | None, care: AgentCare) -> None:
    if endpoint.engine.shared:
        vault.sweep_leftovers()  # files do so whenever they are opened
    history_thinning.thin_history(vault, endpoint.settings, now, care)
    cap = endpoint.settings.size_cap.agent
    if cap is not None and not history_thinning.keep_below(vault, cap, endpoint.settings, now, care):
        care.steps.append("it is above the size cap all the same: what is left may not go")


def _below_cap_of_tenant(
    endpoint: Endpoint, tenant: Tenant, now: datetime | None, care: TenantCare, patience: float
) -> None:
    """The largest agents first, until all of them together are within the cap."""
    cap = endpoint.settings.size_cap.tenant
    if cap is None:
        return
    sizes: dict[str, int] = {}
    for agent_id in kept_in_vaults(endpoint, tenant):
        with _told(care, agent_id), _cared_for(endpoint, tenant, agent_id, patience) as vault:
            sizes[agent_id] = vault.size()
    for agent_id in sorted(sizes, key=lambda each: -sizes[each]):
        above = sum(sizes.values()) - cap
        if above <= 0:
            return
        with _told(care, agent_id), _cared_for(endpoint, tenant, agent_id, patience) as vault:
            wanted = max(0, sizes[agent_id] - above)
            history_thinning.keep_below(
                vault, wanted, endpoint.settings, now, care.agents.setdefault(agent_id, AgentCare())
            )
            sizes[agent_id] = vault.size()
    if sum(sizes.values()) > cap:
        care.problems.append("all of it is above the size cap all the same: what is left may not go")


def _compact(vault: Vault, sealer: Sealer, care: AgentCare) -> None:
    before = vault.size()
    if vault.key_id != sealer.key_id:
        vault.reseal(sealer)
        care.steps.append("encrypted under the current data key")
    else:
        vault.compact()
    care.bytes_freed += max(0, before - vault.size())


def _replace_keys(endpoint: Endpoint, tenant: Tenant, care: TenantCare, older: Sequence[str]) -> None:
    """What is not in vaults, twice: what was on its way during the first pass was sealed under an older key perhaps.
    Nothing is destroyed while anything could not be sealed anew, and no key that was replaced since it began."""
    keys, space = endpoint.keys(tenant.id), endpoint.space(tenant.id)
    if not older:
        return
    space.reseal()
    space.reseal()
    if care.problems:
        care.problems.append("the older data keys stay, because of what went wrong")
        return
    care.destroyed = keys.destroy(keep=(), among=older)
    for key_id in care.destroyed:
        endpoint.control.record(None, "key.destroyed", key_id, {"tenant": tenant.id})


def kept_in_vaults(endpoint: Endpoint, tenant: Tenant) -> list[str]:
    """Ids of the agents that the endpoint can read; of sealed ones there is nothing to thin here."""
    space = endpoint.space(tenant.id)
    return [agent_id for agent_id in space.agent_ids() if space.place.has_vault(agent_id)]


@contextlib.contextmanager
def _cared_for(endpoint: Endpoint, tenant: Tenant, agent_id: str, patience: float) -> Iterator[Vault]:
    """The vault of an agent, which nobody else looks after meanwhile; afterwards its bytes count for the quota."""
    space = endpoint.space(tenant.id)
    with space.place.alone(agent_id, seconds=patience):
        with space.vault(agent_id) as vault:
            before = vault.size()
            yield vault
            is_same = vault.size() == before
        if not is_same:
            space.recount(agent_id)


@contextlib.contextmanager
def _told(care: TenantCare, what: str) -> Iterator[None]:
    """What goes wrong is said, and the next thing is done."""
    try:
        yield
    except LifeboatError as error:
        care.problems.append(f"{what}: {explain_failure(error)}")


def explain_failure(error: LifeboatError) -> str:
    """What whoever runs the endpoint should know: more than its clients are told."""
    cause = error.__cause__
    return cause.message if isinstance(cause, LifeboatError) else error.message


def _note(endpoint: Endpoint, care: TenantCare) -> None:
    """What was let go stands in the audit of the endpoint too, in numbers."""
    for agent_id, done in care.agents.items():
        if done.steps:
            details = {"tenant": care.tenant.id, "sequences": done.sequences, "large_files": done.large_files}
            endpoint.control.record(None, "agent.thinned", agent_id, details)
