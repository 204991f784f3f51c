"""List the parts of an agent that OpenClaw cannot represent."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.item_fates import ItemFate
from lifeboat_adapters.persona import unsupported_fields
from lifeboat_alf.states.agent_state import State

_FIELDS = {
    **unsupported_fields.OF_MEMORIES,
    "confidence": "how sure they are",
}


def list_unsupported_by_openclaw(state: State) -> Iterator[ItemFate]:
    """Implement `Adapter.cannot_hold`."""
    yield from unsupported_fields.unsupported_memory_fields(state, _FIELDS)
    yield from unsupported_fields.unsupported_identity_fields(state, holds_numbers=False)
    yield from unsupported_fields.unsupported_principals(state)
