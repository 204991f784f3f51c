"""The caller of a request and what it may do."""

from __future__ import annotations

from dataclasses import dataclass

from lifeboat_vault.errors import RemoteDenied

PUSH, PULL, PURGE, ADMIN = "push", "pull", "purge", "admin"
SCOPES = (PUSH, PULL, PURGE, ADMIN)
"""In the order in which they are shown."""
DEVICE_SCOPES = frozenset({PUSH, PULL})
"""What a machine needs that keeps its agents here, and all that a token on its disk should permit."""

RESTORE_SCOPES = frozenset({PULL})
"""What a token of a recovery kit permits: read and restore, never push, purge or change."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner of a token, which permits access to one tenant only."""

    tenant_id: str
    token_id: str
    token_name: str
    scopes: frozenset[str]

    def need(self, *scopes: str) -> None:
        """Raise RemoteDenied if the token has none of these scopes."""
        if not self.scopes.intersection(scopes):
            wanted = " or ".join(scopes)
            raise RemoteDenied(f"the token {self.token_id} lacks the scope {wanted}", scope=scopes[0])
