"""The vault: a store of states, not a chain of deltas (see `open_vault.Vault`)."""

from lifeboat_vault.bodies.vault_redactions import RedactionRow
from lifeboat_vault.retention.retention_policy import Retention
from lifeboat_vault.retention.thin_sequences import ThinReport
from lifeboat_vault.rows.kept_history import HistoryItem
from lifeboat_vault.rows.sequence_rows import AuditRow, Pin, SequenceRow
from lifeboat_vault.vault.draft import Draft, EntryPut, RecordPut, draft_of_delta, draft_of_state
from lifeboat_vault.vault.open_vault import Vault
from lifeboat_vault.vault.vault_creation import FIRST_EPOCH
from lifeboat_vault.vault.vault_purging import RedactReport
from lifeboat_vault.vault.vault_reading import LAST_VERIFIED
from lifeboat_vault.vault.vault_state import VaultState
from lifeboat_vault.vault.vault_verification import VaultFinding, Verification

__all__ = [
    "FIRST_EPOCH",
    "LAST_VERIFIED",
    "AuditRow",
    "Draft",
    "EntryPut",
    "HistoryItem",
    "Pin",
    "RecordPut",
    "RedactReport",
    "RedactionRow",
    "Retention",
    "SequenceRow",
    "ThinReport",
    "Vault",
    "VaultFinding",
    "VaultState",
    "Verification",
    "draft_of_delta",
    "draft_of_state",
]
