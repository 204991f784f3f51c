"""Who asks an endpoint for something, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass

from lifeboat_vault.errors import RemoteDenied

PUSH, PULL, PURGE, ADMIN = "push", "pull", "purge", "admin"
SCOPES = (PUSH, PULL, PURGE, ADMIN)
"""In the order people read them."""
DEVICE_SCOPES = frozenset({PUSH, PULL})
"""What a machine that keeps its agents needs, and all that should lie on one."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose token it was: it speaks for one tenant and for nobody else."""

    tenant_id: str
    token_id: str
    token_name: str
    scopes: frozenset[str]

    def need(self, *scopes: str) -> None:
        """Raises RemoteDenied where the token has none of these scopes."""
        if not self.scopes.intersection(scopes):
            wanted = " or ".join(scopes)
            raise RemoteDenied(f"the token {self.token_id} has not the scope {wanted}", scope=scopes[0])
