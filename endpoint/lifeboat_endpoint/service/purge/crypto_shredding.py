"""What a database keeps of deleted rows ends with the key that sealed it.

A file can be rid of what was purged. A database that many share cannot: dead rows, its log, its replicas and its
backups keep the sealed bytes for a while. So whatever stays of a purged agent is sealed under a new key, and the older
one is destroyed; what is left of the purge anywhere is ciphertext that nobody can open. Where all agents of a tenant
share one key that would be the work of all of them: it is noted, and a worker does it once for all purges of a day.
"""

from __future__ import annotations

from collections.abc import Callable

from lifeboat_endpoint.service.agent_roster import AgentRow, Roster
from lifeboat_endpoint.service.agent_vaults import AgentVaults
from lifeboat_endpoint.service.tenant_tables import TenantKeys
from lifeboat_vault.errors import OtherDataKey, VaultBusy
from lifeboat_vault.store.store_protocols import MetadataStore


class CryptoShredding:
    """Of one tenant and one thread. `later` notes that the keys of the whole tenant are to be replaced."""

    def __init__(
        self,
        metadata: MetadataStore,
        roster: Roster,
        vaults: AgentVaults,
        keys: TenantKeys,
        *,
        later: Callable[[], None],
    ) -> None:
        self._metadata = metadata
        self._roster = roster
        self._vaults = vaults
        self._keys = keys
        self._later = later

    def shred(self, row: AgentRow) -> None:
        """After a purge was applied to an agent that stays, and its uploads were dropped; again is no error. Raises
        KeyRevoked, KeySourceAway, VaultBusy."""
        if not self._keys.is_own(row.id):
            self._later()
            return
        new = self._keys.renew(row.id)
        if row.vault is not None:
            self._reseal(row.id, row.vault)
        with self._metadata.transaction():
            document = self._roster.keys_of(row.id)
            if document is not None:
                self._roster.set_keys(row.id, document)
        self._keys.destroy_older(row.id, than=new)

    def _reseal(self, agent_id: str, vault_id: str) -> None:
        """The vault before the key: of what another process seals anew meanwhile, the key that is here is not the one
        any more, and nothing happens."""
        vault = self._vaults.get(agent_id, vault_id)
        try:
            vault.reseal(self._keys.sealer(agent_id))
        except OtherDataKey:
            raise VaultBusy("the data keys changed meanwhile") from None
