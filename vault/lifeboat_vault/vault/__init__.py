"""The vault: states, not a chain (see `vault.Vault`)."""

from lifeboat_endpoint.vault.beginning import FIRST_EPOCH
from lifeboat_endpoint.vault.draft import Draft, EntryPut, RecordPut, take_delta, take_over
from lifeboat_endpoint.vault.history import HistoryItem
from lifeboat_endpoint.vault.purging import RedactReport
from lifeboat_endpoint.vault.reading import LAST_VERIFIED
from lifeboat_endpoint.vault.redacted import RedactionRow
from lifeboat_endpoint.vault.retention import Retention
from lifeboat_endpoint.vault.rows import AuditRow, Pin, SequenceRow
from lifeboat_endpoint.vault.state import VaultState
from lifeboat_endpoint.vault.thinning import ThinReport
from lifeboat_endpoint.vault.vault import Vault
from lifeboat_endpoint.vault.verification import Finding, Verification

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
