"""Crypto-shredding: remains of deleted rows in a shared database become unreadable when their key is destroyed.

A SQLite file can be cleaned of purged rows. In a shared database, dead rows, logs, replicas and backups keep the sealed
bytes for a while. So what remains of the agent is sealed under a new key, and the old key is destroyed. If all agents
of a tenant share one key, this would affect all of them: then it is requested, and a worker does it once for all purges
of a day.
"""

from __future__ import annotations

from lifeboat_endpoint.service.agent_roster import AgentRow
from lifeboat_endpoint.service.tenant_service import TenantService
from lifeboat_vault.errors import OtherDataKey, VaultBusy


class CryptoShredding(TenantService):
    """Replaces the key of a purged agent. Belongs to one thread."""

    def shred(self, row: AgentRow) -> None:
        """Replace the keys of an agent after a purge that left the agent; call it after its uploads were dropped.

        Repeating it is not an error. Raises KeyRevoked, KeySourceAway, VaultBusy.
        """
        if not self._keys.is_own(row.id):
            self._purging.shred_later()
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
        """Seal the vault again. Raises VaultBusy if another process changed its key meanwhile; nothing happened
        then."""
        vault = self._vaults.get(agent_id, vault_id)
        try:
            vault.reseal(self._keys.sealer(agent_id))
        except OtherDataKey:
            raise VaultBusy("another process changed the data keys") from None
