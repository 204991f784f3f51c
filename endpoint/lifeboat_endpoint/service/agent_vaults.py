"""Vaults of a tenant's agents, opened on demand and kept open for a while.

Opening one costs a sixth of a push, and closing one flushes its log to the disk. An open vault also remembers hashes
that it need not read again.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Collection

from lifeboat_endpoint.engines.contract import TenantPlace
from lifeboat_endpoint.service.tenant_tables import TenantKeys
from lifeboat_vault import errors
from lifeboat_vault.vault import Vault

_ENDED = "ended"
"""The last decision that is written to a vault before it is destroyed."""
_MOST_OPEN = 32


class AgentVaults:
    """The vaults of one tenant. Belongs to one thread."""

    def __init__(self, place: TenantPlace, keys: TenantKeys, *, most_open: int = _MOST_OPEN) -> None:
        self._place = place
        self._keys = keys
        self._most_open = most_open
        self._open: OrderedDict[str, Vault] = OrderedDict()

    def get(self, agent_id: str, vault_id: str) -> Vault:
        """Return the open vault of an agent, if it still has this id and key. Raises VaultError, KeyRevoked.

        A read-only vault is opened again each time, because it does not see changes of other processes.
        """
        vault = self._open.get(agent_id)
        if vault is not None and (vault.is_read_only or not _still_is(vault, vault_id)):
            self.forget(agent_id)
            vault = None
        if vault is None:
            vault = self._opened(agent_id)
            # The row and the vault do not belong together, for example after a partial restore from a backup.
            if vault.id != vault_id:
                vault.close()
                raise errors.VaultDamaged(
                    f"the endpoint recorded the vault id {vault_id} for the agent {agent_id}, but the vault has "
                    "another id"
                )
            self._open[agent_id] = vault
            self._close_oldest()
        self._open.move_to_end(agent_id)
        return vault

    def create(self, agent_id: str) -> tuple[str, int]:
        """Make the vault of a new agent; return its id and its bytes. Remains of an earlier agent with this id are
        removed."""
        self.forget(agent_id)
        with self._place.create_vault(agent_id, self._keys.sealer(agent_id)) as made:
            return made.id, made.size()

    def forget(self, agent_id: str) -> None:
        """Close the vault, if it is open here."""
        vault = self._open.pop(agent_id, None)
        if vault is not None:
            vault.close()

    def end(self, agent_id: str) -> int:
        """Wait for the last writer of an agent that is no longer listed, so that no later push is acknowledged.

        Return how many bodies its history has. Raises VaultBusy.
        """
        self.forget(agent_id)
        if not self._place.has_vault(agent_id):
            return 0
        unreadable = (errors.VaultMissing, errors.VaultDamaged, errors.KeyRevoked)
        with contextlib.suppress(*unreadable), self._opened(agent_id) as vault:
            vault.set(_ENDED, True)
            return len({item.object for item in vault.history()})
        return 0

    def left_of(self, agent_id: str) -> int:
        """Return how many files, rows or objects there are of an agent's vault."""
        return self._place.remains(agent_id)

    def remove(self, agent_id: str, vault_id: str | None = None) -> None:
        """Destroy the vault of an agent; with `vault_id` only that vault. Handles that are open elsewhere find nothing
        afterwards."""
        self.forget(agent_id)
        self._place.remove_vault(agent_id, vault_id)

    def sweep(self, known: Collection[str]) -> int:
        """Destroy what is left of unknown agents; return how many. The caller makes sure that no agent is registered
        meanwhile."""
        loose = [agent_id for agent_id in self._place.vault_ids() if agent_id not in known]
        for agent_id in loose:
            self.remove(agent_id)
        return len(loose)

    def close(self) -> None:
        for agent_id in list(self._open):
            self.forget(agent_id)

    def _opened(self, agent_id: str) -> Vault:
        """Open a vault under any of the tenant's data keys."""
        try:
            return self._place.open_vault(agent_id, self._keys.sealer(agent_id))
        except errors.OtherDataKey as error:
            return self._place.open_vault(agent_id, self._keys.sealer_of(error.key_id, agent_id))

    def _close_oldest(self) -> None:
        while len(self._open) > self._most_open:
            _, vault = self._open.popitem(last=False)
            vault.close()


def _still_is(vault: Vault, vault_id: str) -> bool:
    """Return False for a vault that another process replaced or sealed under another key meanwhile. Raises
    KeyRevoked."""
    try:
        vault.check_key()
    except errors.OtherDataKey:
        return False
    return vault.id == vault_id
