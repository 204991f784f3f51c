"""How long work may take, and what is seen through when somebody wants it to end."""

from __future__ import annotations

MINUTE = 60.0
SEEN_THROUGH = frozenset({"capture", "recover"})
"""Short, safe, and wanted whatever happens: not cancelled, and finished when the daemon is gone."""
TRANSFERS = frozenset({"push", "verify_remote"})
"""They speak to second copies, read the vault and hold no agent: captures and other transfers go on beside them."""
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
"""Of being awake. What a store of keys, a server or a desktop that never answers may cost; None where nothing of that
kind is asked, or where a request that does not get on ends by itself: there time only says that something is slow."""
OTHERWISE = 10 * MINUTE
SLOW = 10 * MINUTE
"""Work without a limit that takes longer than this is told of, once."""


def find_time_limit(operation: str) -> float | None:
    """Seconds after which a worker is ended that has not done its work; None for never."""
    return SECONDS.get(operation, OTHERWISE)
