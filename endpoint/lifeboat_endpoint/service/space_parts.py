"""What every part of a tenant's space needs: the agents and their vaults."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from lifeboat_endpoint.service.agent_roster import AgentRow, Roster
from lifeboat_endpoint.service.bundle_receiver import BundleReceiver
from lifeboat_endpoint.service.purge.tenant_redactions import TenantRedactions
from lifeboat_endpoint.service.purge.whole_agent_purge import WholeAgentPurge
from lifeboat_endpoint.service.remote_errors import as_remote
from lifeboat_endpoint.service.tenant_service import TenantService
from lifeboat_vault.errors import RemoteRefused
from lifeboat_vault.vault import Vault


class SpaceParts(TenantService):
    """Common base of the parts of `TenantSpace`."""

    roster: Roster
    _receiver: BundleReceiver
    _redactions: TenantRedactions
    _whole_agents: WholeAgentPurge

    @contextlib.contextmanager
    def _open(self, agent_id: str) -> Iterator[Vault]:
        row = self._receiver.open_row(agent_id)
        with as_remote():
            yield self._vault(row)

    def _vault(self, row: AgentRow) -> Vault:
        if row.vault is None:
            raise RemoteRefused(f"the agent {row.id} is sealed, so only the machines of its user can read it")
        return self._vaults.get(row.id, row.vault)
