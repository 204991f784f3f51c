"""How an endpoint purges, and what it says about it: given to a tenant's space by whoever opens it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_keys.pairs.endpoint_key import EndpointKey

KIND = "endpoint"
"""What its receipts call it."""
PURGED, WAITS, REFUSED = "purge", "purge.waits", "purge.refused"
"""Kinds of rows in the audit."""


def _unnoticed(kind: str, subject: str, details: JsonObject) -> None:
    """Nobody keeps an audit."""


def _nothing() -> None:
    """Nothing is left behind."""


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class PurgePolicy:
    """`vault_id` is the endpoint's id, `key` gives the key that signs its receipts. A purge that nobody confirms waits
    for so long (`wait`). `note` writes a row of the endpoint's audit (kind, subject, details) before it returns.
    `is_clock_trusted`: no waiting time ends by a clock that was set forward. `shred_later` notes that the keys of the
    tenant are to be replaced (see `shredding`)."""

    vault_id: str
    key: Callable[[], EndpointKey]
    wait: timedelta = timedelta(hours=24)
    note: Callable[[str, str, JsonObject], None] = _unnoticed
    is_clock_trusted: Callable[[], bool] = _always
    shred_later: Callable[[], None] = _nothing


@dataclass(frozen=True, slots=True)
class PendingRedaction:
    """A purge that waits at an endpoint, until `applies_at` (timestamp) or the word of whoever owns the endpoint."""

    agent_id: str
    agent_name: str
    redaction: Redaction
    applies_at: str
