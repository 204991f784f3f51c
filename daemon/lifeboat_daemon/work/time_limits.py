"""How long work may take, and which work is not cancelled."""

from __future__ import annotations

MINUTE = 60.0
SEEN_THROUGH = frozenset({"capture", "recover"})
"""Short, safe operations that are always wanted. They are not cancelled, and finish after the daemon is gone."""
TRANSFERS = frozenset({"push", "verify_remote"})
"""Operations that contact remotes, read the vault and hold no lock of an agent. Captures and other transfers run beside
them."""
SECONDS: dict[str, float | None] = {
    "capture": None,
    "recover": None,
    "verify": 6 * 60 * MINUTE,
    "standing": MINUTE,
    "key": 20.0,
    "discover": 2 * MINUTE,
    "notify": MINUTE,
    "ping": MINUTE,
    "push": None,
    "verify_remote": 60 * MINUTE,
}
"""Time limits in seconds awake, for operations that ask a key store, a server or a desktop, which may never answer.
None: nothing of that kind is asked, or a stalled request ends by itself. There, a long duration only means that
something is slow."""
OTHERWISE = 10 * MINUTE
SLOW = 10 * MINUTE
"""Seconds after which work without a limit is reported once."""


def find_time_limit(operation: str) -> float | None:
    """Return the seconds after which a worker is killed that has not finished, or None for no limit."""
    return SECONDS.get(operation, OTHERWISE)
