"""The vault: states, not a chain (see `vault.Vault`)."""

from lifeboat_endpoint.vault.draft import Draft, EntryPut, RecordPut
from lifeboat_endpoint.vault.retention import Retention
from lifeboat_endpoint.vault.rows import AuditRow, Pin, SequenceRow
from lifeboat_endpoint.vault.state import VaultState
from lifeboat_endpoint.vault.vault import Vault

__all__ = ["AuditRow", "Draft", "EntryPut", "Pin", "RecordPut", "Retention", "SequenceRow", "Vault", "VaultState"]
