"""What the user approved of an agent's changes of memories.

The vault's decision `review` is {"sequence", "time", "approved": {memory id: sequence of the approved change}}: changes
up to `sequence` are approved, and later ones one by one. It is neither signed nor sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lifeboat_core.review.memory_changes import TextChange
    from lifeboat_vault.vault import Vault

DECISION = "review"


@dataclass(frozen=True, slots=True)
class ReviewedUntil:
    """What the user approved: every change up to `sequence` (None: the user never looked), and single later ones."""

    sequence: int | None
    time: str | None
    approved: Mapping[str, int]

    @classmethod
    def load(cls, vault: Vault) -> ReviewedUntil:
        found = vault.get(DECISION) or {}
        return cls(found.get("sequence"), found.get("time"), found.get("approved") or {})

    def covers(self, change: TextChange) -> bool:
        is_old = self.sequence is not None and change.sequence <= self.sequence
        return is_old or self.approved.get(change.id, -1) >= change.sequence
