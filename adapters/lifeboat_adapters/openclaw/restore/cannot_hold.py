"""What of an agent OpenClaw has no place for."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.persona import unheld
from lifeboat_adapters.receipts import Fate
from lifeboat_alf.state import State

_FIELDS = {
    **unheld.OF_MEMORIES,
    "confidence": "how sure they are",
}


def cannot_hold(state: State) -> Iterator[Fate]:
    """See `contract.Adapter.cannot_hold`."""
    yield from unheld.of_memories(state, _FIELDS)
    yield from unheld.of_identity(state, holds_numbers=False)
    yield from unheld.of_principals(state)
