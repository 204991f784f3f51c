"""What the services of one tenant have in common: the rows, keys, vaults and limits that all of them use."""

from __future__ import annotations

from dataclasses import dataclass

from lifeboat_alf.seams.system_clock import Clock
from lifeboat_endpoint.engines.contract import TenantPlace
from lifeboat_endpoint.service.agent_roster import Roster
from lifeboat_endpoint.service.agent_vaults import AgentVaults
from lifeboat_endpoint.service.endpoint_limits import EndpointLimits
from lifeboat_endpoint.service.purge.purge_policy import PurgePolicy
from lifeboat_endpoint.service.tenant_bodies import TenantBodies
from lifeboat_endpoint.service.tenant_quota import TenantQuota
from lifeboat_endpoint.service.tenant_tables import TenantKeys


@dataclass(frozen=True, slots=True)
class TenantResources:
    """What the services of one tenant share. Belongs to one thread."""

    place: TenantPlace
    keys: TenantKeys
    bodies: TenantBodies
    roster: Roster
    vaults: AgentVaults
    quota: TenantQuota
    limits: EndpointLimits
    purging: PurgePolicy
    clock: Clock


class TenantService:
    """Base class of the services of one tenant. Each belongs to one thread."""

    def __init__(self, resources: TenantResources) -> None:
        self._metadata = resources.place.metadata
        self._keys = resources.keys
        self._bodies = resources.bodies
        self._roster = resources.roster
        self._vaults = resources.vaults
        self._quota = resources.quota
        self._limits = resources.limits
        self._purging = resources.purging
        self._clock = resources.clock
