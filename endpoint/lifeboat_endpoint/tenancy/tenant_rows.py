"""Rows of tenants and tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TenantState = Literal["active", "removing"]


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant, whose agents an endpoint keeps.

    `key_source` protects its data keys, None for the endpoint's own. `quota` in bytes, None for the endpoint's limit. A
    tenant that is `removing` has no access.
    """

    id: str
    name: str
    key_source: str | None
    quota: int | None
    created_at: str
    state: TenantState = "active"


@dataclass(frozen=True, slots=True)
class TokenRow:
    """Permission to act for a tenant. `id` is the public part of the secret.

    Times are timestamps; `last_used_at` is written in batches and may be a few seconds old.
    """

    id: str
    tenant_id: str
    name: str
    scopes: frozenset[str]
    created_at: str
    expires_at: str | None = None
    revoked_at: str | None = None
    last_used_at: str | None = None

    def counts_at(self, now: str) -> bool:
        """Whether it is neither revoked nor expired (times as the endpoint writes them)."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)
