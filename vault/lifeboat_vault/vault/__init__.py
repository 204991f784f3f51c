"""The vault: states, not a chain (see `vault.Vault`)."""

from lifeboat_vault.vault.beginning import FIRST_EPOCH
from lifeboat_vault.vault.draft import Draft, EntryPut, RecordPut, take_delta, take_over
from lifeboat_vault.vault.history import HistoryItem
from lifeboat_vault.vault.purging import RedactReport
from lifeboat_vault.vault.reading import LAST_VERIFIED
from lifeboat_vault.vault.redacted import RedactionRow
from lifeboat_vault.vault.retention import Retention
from lifeboat_vault.vault.rows import AuditRow, Pin, SequenceRow
from lifeboat_vault.vault.state import VaultState
from lifeboat_vault.vault.thinning import ThinReport
from lifeboat_vault.vault.vault import Vault
from lifeboat_vault.vault.verification import Finding, Verification

__all__ = [
    "FIRST_EPOCH",
    "LAST_VERIFIED",
    "AuditRow",
    "Draft",
    "EntryPut",
    "Finding",
    "HistoryItem",
    "Pin",
    "RecordPut",
    "RedactReport",
    "RedactionRow",
    "Retention",
    "SequenceRow",
    "ThinReport",
    "Vault",
    "VaultState",
    "Verification",
    "take_delta",
    "take_over",
]
