"""What every part of a tenant's space needs: who the agents are, and their vaults."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from lifeboat_alf.seams.clock import Clock
from lifeboat_endpoint.service.erasing import Erasing
from lifeboat_endpoint.service.quota import Quota
from lifeboat_endpoint.service.receiving import Receiving
from lifeboat_endpoint.service.redacting import Redacting
from lifeboat_endpoint.service.refusing import as_remote
from lifeboat_endpoint.service.roster import AgentRow, Roster
from lifeboat_endpoint.service.vaults import Vaults
from lifeboat_vault.errors import RemoteRefused
from lifeboat_vault.store.protocols import MetadataStore
from lifeboat_vault.vault import Vault


class SpaceParts:
    """`TenantSpace` puts them together."""

    roster: Roster
    _metadata: MetadataStore
    _clock: Clock
    _vaults: Vaults
    _quota: Quota
    _receiving: Receiving
    _redacting: Redacting
    _erasing: Erasing

    @contextlib.contextmanager
    def _open(self, agent_id: str) -> Iterator[Vault]:
        row = self._receiving.open_row(agent_id)
        with as_remote():
            yield self._vault(row)

    def _vault(self, row: AgentRow) -> Vault:
        if row.vault is None:
            raise RemoteRefused(f"the agent {row.id} is sealed there: only its own machines can read it")
        return self._vaults.get(row.id, row.vault)
