"""How an endpoint purges, as it is configured for a tenant's space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_keys.pairs.endpoint_key import EndpointKey

KIND = "endpoint"
"""Kind and name of the endpoint in its receipts."""
PURGED, WAITS, REFUSED = "purge", "purge.waits", "purge.refused"
"""Kinds of rows in the audit."""


def _unnoticed(kind: str, subject: str, details: JsonObject) -> None:
    """Keep no audit."""


def _nothing() -> None:
    """Do nothing, if deleted rows leave no remains."""


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class PurgePolicy:
    """Configuration of purges.

    `vault_id` is the endpoint's id; `key` returns the key that signs receipts. An unconfirmed purge waits for `wait`.
    `note` writes an audit row (kind, subject, details) before it returns. `is_clock_trusted` keeps a clock that was set
    forward from ending a wait. `shred_later` requests a replacement of the tenant's keys (see `crypto_shredding`).
    """

    vault_id: str
    key: Callable[[], EndpointKey]
    wait: timedelta = timedelta(hours=24)
    note: Callable[[str, str, JsonObject], None] = _unnoticed
    is_clock_trusted: Callable[[], bool] = _always
    shred_later: Callable[[], None] = _nothing


@dataclass(frozen=True, slots=True)
class PendingRedaction:
    """A redaction that waits at an endpoint until `applies_at` (timestamp) or a decision of the operator."""

    agent_id: str
    agent_name: str
    redaction: Redaction
    applies_at: str
