"""A vault whose data key may have been rotated since it was sealed."""

from __future__ import annotations

from pathlib import Path

from lifeboat_alf.seams.clock import Clock
from lifeboat_alf.seams.files import FileOperations
from lifeboat_endpoint.at_rest.data_keys import DataKeys
from lifeboat_endpoint.errors import OtherDataKey
from lifeboat_endpoint.vault.vault import Vault


def open_vault(folder: Path, keys: DataKeys, agent_id: str, *, files: FileOperations, clock: Clock) -> Vault:
    """The vault of an agent under whichever of the tenant's data keys sealed it; `Vault.key_id` says which.

    Raises what `Vault.open` raises, KeyRevoked when the key was taken away or destroyed, KeySourceRefused.
    """
    try:
        return Vault.open(folder, files=files, clock=clock, sealer=keys.sealer(agent_id))
    except OtherDataKey as error:
        return Vault.open(folder, files=files, clock=clock, sealer=keys.sealer_of(error.key_id, agent_id))
