"""The vaults of a tenant's agents, opened when they are needed and kept open for a while: opening one costs a sixth of
a push, closing one empties its log onto the disk, and one that stays open knows hashes that it need not read again."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Collection

from lifeboat_endpoint.engines.contract import TenantPlace
from lifeboat_endpoint.service.tenant_tables import TenantKeys
from lifeboat_vault import errors
from lifeboat_vault.vault import Vault

_ENDED = "ended"
"""The decision that whoever destroys a vault writes last."""
_MOST_OPEN = 32


class AgentVaults:
    """Of one thread."""

    def __init__(self, place: TenantPlace, keys: TenantKeys, *, most_open: int = _MOST_OPEN) -> None:
        self._place = place
        self._keys = keys
        self._most_open = most_open
        self._open: OrderedDict[str, Vault] = OrderedDict()

    def get(self, agent_id: str, vault_id: str) -> Vault:
        """The open vault of an agent, which is still the one of this id and key. One that only reads is opened again
        each time: it sees nothing of what others write. Raises VaultError, KeyRevoked."""
        vault = self._open.get(agent_id)
        if vault is not None and (vault.is_read_only or not _still_is(vault, vault_id)):
            self.forget(agent_id)
            vault = None
        if vault is None:
            vault = self._opened(agent_id)
            if vault.id != vault_id:
                vault.close()
                raise errors.VaultDamaged(f"the vault of {agent_id} is another one than is listed")
            self._open[agent_id] = vault
            self._close_oldest()
        self._open.move_to_end(agent_id)
        return vault

    def create(self, agent_id: str) -> tuple[str, int]:
        """Make the vault of a new agent; its id and its bytes. What an earlier agent of that id left behind is
        removed."""
        self.forget(agent_id)
        with self._place.create_vault(agent_id, self._keys.sealer(agent_id)) as made:
            return made.id, made.size()

    def forget(self, agent_id: str) -> None:
        """Close it, if it is open here."""
        vault = self._open.pop(agent_id, None)
        if vault is not None:
            vault.close()

    def end(self, agent_id: str) -> int:
        """Wait until nobody writes the vault of an agent that is listed no more, so that nothing is acknowledged after
        it is gone; how many bodies its history has. Raises VaultBusy."""
        self.forget(agent_id)
        if not self._place.has_vault(agent_id):
            return 0
        unreadable = (errors.VaultMissing, errors.VaultDamaged, errors.KeyRevoked)
        with contextlib.suppress(*unreadable), self._opened(agent_id) as vault:
            vault.set(_ENDED, True)
            return len({item.object for item in vault.history()})
        return 0

    def left_of(self, agent_id: str) -> int:
        """How many files, rows or objects there are of the vault of an agent."""
        return self._place.remains(agent_id)

    def remove(self, agent_id: str, vault_id: str | None = None) -> None:
        """Destroy the vault of an agent, with `vault_id` no other one. What is open elsewhere finds nothing any
        more."""
        self.forget(agent_id)
        self._place.remove_vault(agent_id, vault_id)

    def sweep(self, known: Collection[str]) -> int:
        """Destroy what is left of agents that are not known (any more); how many. Nobody makes one meanwhile."""
        loose = [agent_id for agent_id in self._place.vault_ids() if agent_id not in known]
        for agent_id in loose:
            self.remove(agent_id)
        return len(loose)

    def close(self) -> None:
        for agent_id in list(self._open):
            self.forget(agent_id)

    def _opened(self, agent_id: str) -> Vault:
        """Under whichever of the tenant's data keys sealed it."""
        try:
            return self._place.open_vault(agent_id, self._keys.sealer(agent_id))
        except errors.OtherDataKey as error:
            return self._place.open_vault(agent_id, self._keys.sealer_of(error.key_id, agent_id))

    def _close_oldest(self) -> None:
        while len(self._open) > self._most_open:
            _, vault = self._open.popitem(last=False)
            vault.close()


def _still_is(vault: Vault, vault_id: str) -> bool:
    """False for one that another process has made anew, or put under another key, meanwhile. Raises KeyRevoked."""
    try:
        vault.check_key()
    except errors.OtherDataKey:
        return False
    return vault.id == vault_id
